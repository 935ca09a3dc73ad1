# SPDX-License-Identifier: Apache-2.0
"""Where commands run. A host runs, spawns, and moves files; everything else is built on that.

A command is plain data (no callables, no shell), so that a host reached over SSH can
carry out the very same one.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from harness.errors import HostError
from harness.model import ClockReading, Frozen
from harness.processes import group_members, kill_group, read_stat, signal_group

#: Taken over from the harness's own environment when they are set there.
BASE_VARIABLES = ("PATH", "HOME", "USER", "TMPDIR")
STUB = Path(__file__).with_name("spawn_stub.py")


class Command(Frozen):
    """One program to be started. Its environment is ``environment`` on top of a small base, nothing else."""

    argv: tuple[str, ...] = Field(min_length=1)
    folder: Path = Field(description="working directory; exists")
    environment: dict[str, str] = Field(default_factory=dict)
    cpus: tuple[int, ...] | None = Field(default=None, description="pinned to these; None: not pinned")
    stdout: Path | None = Field(
        default=None, description="appended to; below folder when relative; None: dropped"
    )
    stderr: Path | None = None
    run_as: tuple[int, int] | None = Field(
        default=None, description="user and group id; only root may start as somebody else. None: as we are"
    )


StopSignal = Literal["SIGTERM", "SIGINT", "SIGQUIT"]


class Completed(Frozen):
    """A command that ended by itself."""

    exit_code: int = Field(description="128 + n when signal n ended it, as a shell has it")
    stdout: str
    stderr: str
    duration_s: float


class Stopped(Frozen):
    """How a spawned process ended."""

    exit_code: int
    signal: Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGKILL", "exited"]
    stop_s: float = Field(description="from the first signal until nothing of its group was left")


class Process(Protocol):
    """A spawned process, leader of a group of its own; it dies with the harness."""

    @property
    def pid(self) -> int: ...

    @property
    def start_ticks(self) -> int:
        """Field 22 of ``/proc/PID/stat``: with the id it names this process and no other."""
        ...

    @property
    def launched(self) -> ClockReading:
        """Right before the program was executed."""
        ...

    @property
    def cpu_at_launch_s(self) -> float:
        """CPU time already on the process's account at ``launched``; not the program's own."""
        ...

    def exited(self) -> int | None:
        """Return the exit code once it has ended, else ``None``. Never blocks."""
        ...

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit code, or ``None`` when it still runs after ``timeout_s``."""
        ...

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Stopped:
        """``first`` to the group, SIGKILL after ``grace_s``; nothing of the group is left. Idempotent."""
        ...


class Host(Protocol):
    """A place where commands run."""

    @property
    def name(self) -> str: ...

    def run(self, command: Command, timeout_s: float) -> Completed:
        """Run to the end and return what it said (``stdout`` and ``stderr`` of the command are not used).

        Raises:
            HostError: it cannot be started, or took longer than ``timeout_s`` (its group is gone then).
        """
        ...

    def spawn(self, command: Command) -> Process:
        """Start and return as soon as the program itself runs.

        Raises:
            HostError: it cannot be started.
        """
        ...

    def put(self, source: Path, target: Path) -> None:
        """Copy a file from here to the host."""
        ...

    def get(self, source: Path, target: Path) -> None:
        """Copy a file from the host to here."""
        ...

    def read(self, path: Path) -> bytes:
        """Return a file's content.

        Raises:
            HostError: it cannot be read.
        """
        ...


class LocalHost:
    """This machine.

    The kernel's parent-death signal follows the *thread* that started the child, so one
    thread, which lives as long as the harness, starts them all.
    """

    name = "local"

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[tuple[Command, Future[LocalProcess]]] = queue.SimpleQueue()
        self._spawner: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(self, command: Command, timeout_s: float) -> Completed:
        with tempfile.TemporaryDirectory(prefix="rematch-run-") as folder:
            stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
            process = self.spawn(command.model_copy(update={"stdout": stdout, "stderr": stderr}))
            try:
                exit_code = process.wait(timeout_s)
            finally:
                process.stop(grace_s=0.0)
            if exit_code is None:
                raise HostError(
                    f"{command.argv[0]} on {self.name}: not done after {timeout_s:g} s; it was ended"
                )
            return Completed(
                exit_code=exit_code,
                stdout=stdout.read_text(errors="replace"),
                stderr=stderr.read_text(errors="replace"),
                duration_s=time.monotonic() - process.launched.monotonic_s,
            )

    def spawn(self, command: Command) -> LocalProcess:
        with self._lock:
            if self._spawner is None:
                self._spawner = threading.Thread(target=self._serve, name="spawner", daemon=True)
                self._spawner.start()
        started: Future[LocalProcess] = Future()
        self._orders.put((command, started))
        try:
            return started.result()
        except (KeyboardInterrupt, SystemExit):
            # the caller will never own it, so whatever comes of this order is ended here
            started.add_done_callback(_end_unowned)
            raise

    def put(self, source: Path, target: Path) -> None:
        self._copy(source, target)

    def get(self, source: Path, target: Path) -> None:
        self._copy(source, target)

    def read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as problem:
            raise HostError(f"{path} on {self.name}: cannot be read: {problem.strerror}") from problem

    def _copy(self, source: Path, target: Path) -> None:
        try:
            shutil.copy2(source, target)
        except OSError as problem:
            raise HostError(f"{source} -> {target} on {self.name}: {problem.strerror}") from problem

    def _serve(self) -> None:
        while True:
            command, started = self._orders.get()
            try:
                started.set_result(_start(command))
            except BaseException as problem:  # handed to the caller, whatever it is
                started.set_exception(problem)


class LocalProcess:
    """A process on this machine; see ``Process``."""

    def __init__(self, popen: subprocess.Popen[bytes], start_ticks: int, report: dict[str, float]) -> None:
        self._popen = popen
        self._stopped: Stopped | None = None
        self.pid = popen.pid
        self.start_ticks = start_ticks
        self.launched = ClockReading(wall_epoch_s=report["wall_epoch_s"], monotonic_s=report["monotonic_s"])
        self.cpu_at_launch_s = report["cpu_s"]

    def exited(self) -> int | None:
        return _as_shell(self._popen.poll())

    def wait(self, timeout_s: float) -> int | None:
        # a descriptor that turns readable at the end: no polling, so the end is seen when it happens
        if self._popen.poll() is None:
            try:
                watched = os.pidfd_open(self.pid)
            except OSError:  # a kernel before 5.3
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

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Stopped:
        if self._stopped is not None:
            return self._stopped
        begin = time.monotonic()
        how: StopSignal | Literal["SIGKILL", "exited"] = "exited"
        if self.exited() is None:
            how = first
            signal_group(self.pid, self.start_ticks, signal.Signals[first])
            try:
                if self.wait(grace_s) is None:
                    how = "SIGKILL"
            except BaseException:  # whoever cannot wait any longer (Ctrl-C) leaves nothing behind either
                kill_group(self.pid, self.start_ticks)
                raise
        left = kill_group(self.pid, self.start_ticks)
        exit_code = self.wait(1.0)
        if left or exit_code is None:
            raise HostError(
                f"process group {self.pid} does not end after SIGKILL; still there: {left or self.pid}"
            )
        self._stopped = Stopped(exit_code=exit_code, signal=how, stop_s=time.monotonic() - begin)
        return self._stopped


def base_environment() -> dict[str, str]:
    """Return what every command gets: where programs, home and temporary files are, and UTF-8."""
    return {name: os.environ[name] for name in BASE_VARIABLES if name in os.environ} | {"LANG": "C.UTF-8"}


def _start(command: Command) -> LocalProcess:
    order = {
        "argv": command.argv,
        "folder": str(command.folder),
        "environment": base_environment() | command.environment,
        "cpus": command.cpus,
        "stdout": str(command.stdout) if command.stdout else None,
        "stderr": str(command.stderr) if command.stderr else None,
        "run_as": command.run_as,
        "parent": os.getpid(),
    }
    # not as an argument: the environment may hold a password, and everybody can read a command line
    order_file = os.memfd_create("order")
    os.write(order_file, json.dumps(order).encode())
    os.lseek(order_file, 0, os.SEEK_SET)
    read_end, write_end = os.pipe()
    try:
        popen = subprocess.Popen(
            [sys.executable, "-I", "-S", str(STUB), str(order_file), str(write_end)],
            pass_fds=(order_file, write_end),
        )
    except OSError as problem:
        os.close(read_end)
        raise HostError(f"{command.argv[0]} on local: cannot start a process: {problem}") from problem
    finally:
        os.close(order_file)
        os.close(write_end)
    with open(read_end, "rb") as pipe:
        lines = [json.loads(line) for line in pipe.read().splitlines()]
    stat = read_stat(popen.pid)  # not reaped yet, so it is there even when it has already ended
    if not lines or "error" in lines[-1] or stat is None:
        popen.wait()
        why = lines[-1]["error"] if lines else "it ended before it was executed"
        raise HostError(f"{command.argv[0]} on local: cannot be started in {command.folder}: {why}")
    return LocalProcess(popen, stat.start_ticks, lines[0])


def _end_unowned(started: Future[LocalProcess]) -> None:
    if started.exception() is None:
        started.result().stop(grace_s=0.0)


def _as_shell(code: int | None) -> int | None:
    return 128 - code if code is not None and code < 0 else code


__all__ = [
    "Command",
    "Completed",
    "Host",
    "LocalHost",
    "LocalProcess",
    "Process",
    "StopSignal",
    "Stopped",
    "group_members",
]
