# SPDX-License-Identifier: Apache-2.0
"""Processes started, waited for and stopped for certain, on this machine and by the agent on a far host.

The kernel's parent-death signal follows the *thread* that started the child, so one thread of a spawner, which lives as
long as this process, starts them all.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.agent.process_tree import TICKS_PER_S, TreeReader, cpu_clock
from harness.agent.processes import GONE_WITHIN_S, kill_group, read_stat, signal_group
from harness.errors import HostError

#: Variables of the starter that every command gets, beside UTF-8.
BASE_VARIABLES = ("PATH", "HOME", "USER", "TMPDIR")
#: Kept for ever: the thread of a pool that is forgotten ends.
_THREADS: list[ThreadPoolExecutor] = []


@dataclass(frozen=True)
class Exit:
    """End of a spawned process. ``signal``: the first that was sent, SIGKILL, or ``exited``; ``stop_s``: from that
    signal until nothing of its group was left."""

    exit_code: int
    signal: str
    stop_s: float


@dataclass(frozen=True)
class Completed:
    """A command that ended by itself. ``exit_code``: 128 + n when signal n ended it, as a shell has it."""

    exit_code: int
    stdout: str
    stderr: str
    duration_s: float


class Spawned:
    """A started process, leader of a group of its own."""

    def __init__(self, popen: subprocess.Popen[bytes], start_ticks: int, report: Mapping[str, float]) -> None:
        self._popen = popen
        self._stopped: Exit | None = None
        self._tree: TreeReader | None = None
        self._cpu_s: float | None = None
        self.pid = popen.pid
        self.start_ticks = start_ticks
        self.launched_wall_epoch_s = report["wall_epoch_s"]
        self.launched_monotonic_s = report["monotonic_s"]
        self.cpu_at_launch_s = report["cpu_s"]

    def exited(self) -> int | None:
        """Return the exit code (128 + n for signal n) once it has ended, else ``None``. Never blocks."""
        if self._popen.returncode is None:
            self._read_last_account()
        code = self._popen.poll()
        return 128 - code if code is not None and code < 0 else code

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit code, or ``None`` when it still runs after ``timeout_s``."""
        # a descriptor that turns readable at the end, so the end is seen when it happens
        if self.exited() is None:
            try:
                watched = os.pidfd_open(self.pid)
            except (OSError, AttributeError):  # a kernel before 5.3, a Python before 3.9
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._popen.wait(timeout_s)
            else:
                try:
                    poll = select.poll()
                    poll.register(watched, select.POLLIN)
                    poll.poll(max(0.0, timeout_s) * 1000)
                finally:
                    os.close(watched)
        return self.exited()

    def cpu_s(self) -> float | None:
        """Return the CPU time of it and its children, as of its end where it has ended."""
        if self._tree is None:
            try:
                self._tree = TreeReader(self.pid, self.start_ticks, self.cpu_at_launch_s)
            except ProcessLookupError:
                return self._cpu_s
        self._tree.discover()
        reading = self._tree.read()
        if reading is not None:
            self._cpu_s = reading.cpu_s
        return self._cpu_s

    def _read_last_account(self) -> None:
        """Keep the CPU time of a process that has ended: it is gone once the exit code is taken."""
        try:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            own_s = time.clock_gettime(cpu_clock(self.pid))
        except (OSError, AttributeError):  # elsewhere than on Linux there is neither
            return
        stat = read_stat(self.pid)
        reaped_s = stat.reaped_ticks / TICKS_PER_S if stat is not None else 0.0
        # children that were not waited for are in the last reading, not in the account
        self._cpu_s = max(self._cpu_s or 0.0, own_s + reaped_s - self.cpu_at_launch_s)

    def end(self, grace_s: float, first: str = "SIGTERM") -> Exit:
        """``first`` to the group, SIGKILL after ``grace_s``; nothing of the group is left. Idempotent."""
        if self._stopped is not None:
            return self._stopped
        begin = time.monotonic()
        how = "exited"
        if self.exited() is None:
            how = first
            signal_group(self.pid, self.start_ticks, signal.Signals[first])
            try:
                if self.wait(grace_s) is None:
                    how = "SIGKILL"
            except BaseException:  # Ctrl-C leaves nothing behind either
                kill_group(self.pid, self.start_ticks)
                raise
        left = kill_group(self.pid, self.start_ticks)
        exit_code = self.wait(GONE_WITHIN_S)
        if left or exit_code is None:
            raise HostError(f"process group {self.pid} does not end after SIGKILL; left: {left or self.pid}")
        if self._tree is not None:
            self._tree.close()
            self._tree = None
        self._stopped = Exit(exit_code=exit_code, signal=how, stop_s=time.monotonic() - begin)
        return self._stopped


class Spawner:
    """Starts processes by orders, which are plain data: ``argv``, ``folder``, ``environment`` (on top of a small base),
    ``cpus``, ``stdout``, ``stderr``, ``run_as`` and, where there are any, ``groups``. ``stub``: the file
    ``spawn_stub.py``; ``make``: the class of a process; ``host`` names the place in messages."""

    def __init__(self, stub: Path, *, host: str, make: type[Spawned] = Spawned) -> None:
        self._stub, self._host, self._make = stub, host, make
        self._thread = ThreadPoolExecutor(1, "spawner")
        _THREADS.append(self._thread)
        # made now: one that is made while a signal interrupts its caller is waited for at the end, for ever
        self._thread.submit(int).result()

    def spawn(self, order: dict[str, Any]) -> Any:
        """Start a process and return it (a ``make``) as soon as the program itself runs; raises HostError."""
        started: Future[Any] = self._thread.submit(self._start, order)
        try:
            return started.result()
        except (KeyboardInterrupt, SystemExit):
            # the caller will never own it, so whatever comes of this order is ended here
            started.add_done_callback(lambda done: done.exception() or done.result().end(0.0))
            raise

    def run(
        self, order: dict[str, Any], timeout_s: float, begun: Callable[[Any], None] = lambda _process: None
    ) -> Completed:
        """Run to the end; ``begun`` is called with the process (a ``make``) as soon as it runs.

        Raises HostError: it cannot be started, or took longer than ``timeout_s`` (its group is gone then).
        """
        with tempfile.TemporaryDirectory(prefix="rematch-run-") as folder:
            stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
            process = self.spawn({**order, "stdout": str(stdout), "stderr": str(stderr)})
            try:
                begun(process)
                exit_code = process.wait(timeout_s)
            finally:
                process.end(0.0)
            if exit_code is None:
                raise HostError(f"{order['argv'][0]} on {self._host}: not done after {timeout_s:g} s; ended")
            return Completed(
                exit_code=exit_code,
                stdout=stdout.read_text(encoding="utf-8", errors="replace"),
                stderr=stderr.read_text(encoding="utf-8", errors="replace"),
                duration_s=time.monotonic() - process.launched_monotonic_s,
            )

    def _start(self, order: dict[str, Any]) -> Spawned:
        program, folder = order["argv"][0], order["folder"]
        base = {name: os.environ[name] for name in BASE_VARIABLES if name in os.environ}
        environment = {**base, "LANG": "C.UTF-8", **order["environment"]}
        whole = {**order, "environment": environment, "parent": os.getpid()}
        read_end, write_end = os.pipe()
        try:
            popen = subprocess.Popen(
                [sys.executable, "-I", "-S", str(self._stub), str(write_end)],
                stdin=subprocess.PIPE,
                pass_fds=(write_end,),
            )
        except OSError as problem:
            os.close(read_end)
            raise HostError(f"{program} on {self._host}: cannot start a process: {problem}") from problem
        finally:
            os.close(write_end)
        assert popen.stdin is not None, "asked for"
        # not as an argument: the environment may hold a password, and a command line is public
        with contextlib.suppress(BrokenPipeError), popen.stdin:
            popen.stdin.write(json.dumps(whole).encode() + b"\n")
        with open(read_end, encoding="utf-8") as pipe:
            reports = [json.loads(line) for line in pipe]
        stat = read_stat(popen.pid)  # not reaped yet, so it is there even when it has already ended
        if not reports or "error" in reports[-1] or stat is None:
            popen.wait()
            why = reports[-1]["error"] if reports else "it ended before it was executed"
            raise HostError(f"{program} on {self._host}: cannot be started in {folder}: {why}")
        return self._make(popen, stat.start_ticks, reports[0])
