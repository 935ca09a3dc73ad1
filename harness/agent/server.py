# SPDX-License-Identifier: Apache-2.0
"""The agent as it is started: one JSON object a line, asked on its stdin, answered on its stdout in any order by its
number.

Moments are on this machine's clocks. When its stdin ends, or no controller was heard for the time of grace, everything
that was started is ended and its folder is removed.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import errno
import json
import os
import pkgutil
import platform
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from harness.agent.cpu_speed import CpuSpeedMeter
from harness.agent.files import SCRATCH, file_sha256, files_below, folder_bytes, remove_scratch
from harness.agent.http_exchange import gone_check, poll_first_answer
from harness.agent.machine_counters import read_machine
from harness.agent.machine_info import machine_facts, physical_cores
from harness.agent.platforms import return_large_blocks, usable_cpus
from harness.agent.ports import free_port
from harness.agent.process_tree import read_tree
from harness.agent.processes import alive, kill_group, this_process
from harness.agent.sampler import Sampler, Subject
from harness.agent.spawn import Spawned, Spawner
from harness.errors import HostError

#: These may take their time, so each gets a thread; the others are answered in the order they come.
SLOW = frozenset(
    ("spawn", "run", "wait", "stop", "resources", "sampler_stop", "speed_stop", "first_answer", "inventory",
     "folder_bytes", "remove", "bye")
)  # fmt: skip
ENDING = "the agent is ending; nothing is started any more"
GAUGE_GONE = "the agent is ending, and has ended its samplers and meters"
#: Questions about the machine, which change nothing.
QUESTIONS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "ping": lambda: {"wall_epoch_s": time.time(), "monotonic_s": time.monotonic()},
    "which": lambda names: {name: shutil.which(name) for name in names},
    "folder_bytes": lambda folder: {"bytes": folder_bytes(Path(folder))},
    "free_port": lambda address: {"port": free_port(address)},
    "resources": lambda watched, pss: asdict(read_tree(pss=pss, **watched)),
    "machine": lambda: asdict(read_machine()),
}


class _Endpoint(NamedTuple):
    host: str
    port: int


class Handlers:
    """Everything that was started for one controller: its orders, each a method ``do_...``; ``folder``: the agent's."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._running = folder, folder / "running"
        for made in (self._running, folder / SCRATCH, folder / "work"):
            made.mkdir()
        self._ended = threading.Event()
        self._spawner = Spawner(folder / "spawn_stub.py", host=socket.gethostname())
        self._lock = threading.Lock()
        self._processes: dict[int, Spawned] = {}
        self._gauges: dict[int, Any] = {}  # samplers, and meters of CPU speed

    def carry_out(self, what: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do one thing. Raises HostError, OSError: it cannot be done."""
        order: Callable[..., dict[str, Any] | None] = QUESTIONS.get(what) or getattr(self, f"do_{what}")
        return order(**arguments) or {}

    def do_bye(self) -> None:
        self.end_all()

    def end_all(self) -> None:
        """End every process group and sampler that was started. Nothing is started after this."""
        with self._lock:
            self._ended.set()
            processes, gauges = list(self._processes.values()), list(self._gauges.values())
            self._processes.clear()
            self._gauges.clear()
        for process in processes:
            self._end(process, 0.0, "SIGKILL")
        remove_scratch(self._folder / SCRATCH)
        for gauge in gauges:
            with contextlib.suppress(OSError):  # its files go with the folder
                gauge.stop()

    def do_spawn(self, order: dict[str, Any]) -> dict[str, Any]:
        process: Spawned = self._spawner.spawn(order)
        with self._lock:
            late = self._ended.is_set()
            if not late:
                self._processes[process.pid] = process
        if late:
            process.end(0.0)
            raise HostError(ENDING)
        # a later agent looks here if this one is killed
        (self._running / f"{process.pid}-{process.start_ticks}").touch()
        return {
            "pid": process.pid,
            "start_ticks": process.start_ticks,
            "wall_epoch_s": process.launched_wall_epoch_s,
            "monotonic_s": process.launched_monotonic_s,
            "cpu_at_launch_s": process.cpu_at_launch_s,
        }

    def do_run(self, order: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        return asdict(self._spawner.run(order, timeout_s))

    def do_exited(self, pid: int) -> dict[str, Any]:
        return {"exit_code": self._process(pid).exited()}

    def do_wait(self, pid: int, timeout_s: float) -> dict[str, Any]:
        process = self._process(pid)
        return {"exit_code": process.wait(timeout_s), "cpu_s": process.cpu_s()}

    def do_stop(self, pid: int, grace_s: float, first: str) -> dict[str, Any]:
        process = self._process(pid)
        cpu_s = process.cpu_s()
        report = self._end(process, grace_s, first)
        with self._lock:
            self._processes.pop(pid, None)
        return {**report, "cpu_s": cpu_s}

    def do_sampler_start(self, samples: str, machine: str, hz: float) -> dict[str, Any]:
        return {"sampler": self._started(Sampler(Path(samples), Path(machine), hz))}

    def do_sampler_add(self, sampler: int, role: str, watched: dict[str, Any]) -> None:
        self._gauge(sampler).add(role, Subject(**watched))

    def do_sampler_pace(self, sampler: int, hz: float) -> None:
        self._gauge(sampler).pace(hz)

    def do_sampler_stop(self, sampler: int) -> dict[str, Any]:
        return asdict(self._gauge(sampler, over=True).stop())

    def do_speed_start(self, cpus: list[int], per_s: float) -> dict[str, Any]:
        return {"meter": self._started(CpuSpeedMeter(cpus, per_s))}

    def do_speed_stop(self, meter: int) -> dict[str, Any]:
        return {"read": self._gauge(meter, over=True).stop()}

    def _started(self, gauge: Any) -> int:
        with self._lock:
            if self._ended.is_set():
                raise HostError(ENDING)
            gauge.start()
            self._gauges[id(gauge)] = gauge
        return id(gauge)

    def _gauge(self, number: int, *, over: bool = False) -> Any:
        with self._lock:
            gauge = self._gauges.pop(number, None) if over else self._gauges.get(number)
        if gauge is None:
            raise HostError(GAUGE_GONE)
        return gauge

    def do_first_answer(
        self, address: list[Any], request: str, watched: dict[str, Any], launched_s: float, deadline_s: float
    ) -> dict[str, Any]:
        pid, start_ticks = watched["pid"], watched["start_ticks"]
        if (spawned := self._processes.get(pid)) is not None:  # closer than by the controller's clock
            launched_s = spawned.launched_monotonic_s
        first = poll_first_answer(
            _Endpoint(*address),
            base64.b64decode(request),
            launched_monotonic_s=launched_s,
            deadline_s=deadline_s,
            gone=gone_check(pid, start_ticks),
        )
        resources = asdict(read_tree(pss=False, **watched))
        result = asdict(first)
        if first.answer is not None:
            result["answer"]["body"] = base64.b64encode(first.answer.body).decode()
        return {**result, "resources": resources}

    def do_read(self, path: str, last_bytes: int | None) -> dict[str, Any]:
        with open(path, "rb") as stream:
            if last_bytes is not None:
                stream.seek(max(0, stream.seek(0, 2) - last_bytes))
            return {"content": base64.b64encode(stream.read()).decode()}

    def do_make_folder(self, name: str, wanted_bytes: int) -> dict[str, Any]:
        folder = self._folder / "work" / name
        free = shutil.disk_usage(str(self._folder)).free
        if free < wanted_bytes:
            raise HostError(
                f"{free / 2**20:.0f} MiB are left in {self._folder}, and a trial may need "
                f"{wanted_bytes / 2**20:.0f} MiB; make room, or set another folder in hosts.toml"
            )
        folder.mkdir(parents=True)
        return {"folder": str(folder)}

    def do_free_bytes(self) -> dict[str, Any]:
        """Return the bytes that may still be written where trials have their folders."""
        return {"bytes": shutil.disk_usage(str(self._folder)).free}

    def do_scratch(self, parent: str, owner: list[int] | None) -> dict[str, Any]:
        """Make a folder that another user may work in; it goes with this agent."""
        made = tempfile.mkdtemp(prefix="rematch-", dir=parent)
        (self._folder / SCRATCH / os.path.basename(made)).write_text(made)
        if owner is not None:
            os.chown(made, owner[0], owner[1])
        return {"folder": made}

    def do_inventory(self, folder: str) -> dict[str, Any]:
        """Return the hash of every file below, and whether it may be executed."""
        return {
            str(path.relative_to(folder)): [file_sha256(path), path.stat().st_mode & 0o111]
            for path in files_below(Path(folder))
        }

    def do_adopt(self, part: str, folder: str) -> None:
        """Give a finished folder its name, unless another session was quicker."""
        try:
            os.rename(part, folder)
        except OSError:
            if not os.path.isdir(folder):
                raise
            shutil.rmtree(part, ignore_errors=True)

    def do_remove(self, folder: str) -> None:
        below = os.path.realpath(folder)
        base = os.path.realpath(str(self._folder.parent.parent))
        if not below.startswith(base + os.sep):
            raise HostError(f"{folder} is none of the agent's folders; it is left alone")
        shutil.rmtree(folder, ignore_errors=True)

    def _process(self, pid: int) -> Spawned:
        with self._lock:
            process = self._processes.get(pid)
        if process is None:
            raise HostError(f"process {pid} is none of those that were started here")
        return process

    def _end(self, process: Spawned, grace_s: float, first: str) -> dict[str, Any]:
        report = process.end(grace_s, first)
        with contextlib.suppress(OSError):
            (self._running / f"{process.pid}-{process.start_ticks}").unlink()
        return asdict(report)


#: In the folder of an agent: its process and that one's start.
ABOUT = "agent.json"
_LOOK_EVERY_S = 0.1


class Server:
    """Has a folder of its own below ``base``, which nobody else may look into; ``serve`` returns when it was told to
    end or nobody is there any more. Its first line has ids of other agents that live here, and facts of the machine."""

    def __init__(self, base: Path, grace_s: float) -> None:
        sessions = base / "sessions"
        sessions.mkdir(parents=True, exist_ok=True)
        agents = sweep(sessions)
        self._folder, self._grace_s = Path(tempfile.mkdtemp(prefix="agent-", dir=str(sessions))), grace_s
        pid, start_ticks = this_process()
        (self._folder / ABOUT).write_text(json.dumps({"pid": pid, "start_ticks": start_ticks}))
        stub = pkgutil.get_data("harness.agent", "spawn_stub.py")
        (self._folder / "spawn_stub.py").write_bytes(stub or b"")
        self._orders = Handlers(self._folder)
        self._sending = threading.Lock()
        self._heard = time.monotonic()
        self._ending = threading.Event()
        self._answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # nothing else is written among the answers
        facts = {
            "others": agents,
            "python": sys.version.split()[0],
            "machine": machine_facts(),
            "cpus": list(usable_cpus()),
            "cores": physical_cores(usable_cpus()),
            "free_bytes": shutil.disk_usage(str(self._folder)).free,
            "environment": {name: os.environ.get(name, "") for name in ("HOME", "PATH", "JAVA_HOME")},
            "user": f"{os.getuid()}:{os.getgid()}",
            "architecture": platform.machine(),
        }
        self._send(facts)

    def serve(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._ending.set())
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while not self._ending.is_set() and time.monotonic() - self._heard < self._grace_s:
                time.sleep(_LOOK_EVERY_S)
        finally:
            self._orders.end_all()
            shutil.rmtree(str(self._folder), ignore_errors=True)

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in sys.stdin.buffer:
                self._heard = time.monotonic()
                question = json.loads(line)
                if question["do"] in SLOW:
                    threading.Thread(target=self._answer, args=(question,), daemon=True).start()
                else:
                    self._answer(question)
        self._ending.set()

    def _answer(self, question: dict[str, Any]) -> None:
        what = question["do"]
        answer: dict[str, Any] = {"id": question["id"]}
        try:
            answer["said"] = self._orders.carry_out(what, question.get("with", {}))
        except HostError as problem:
            answer["error"] = str(problem)
        except OSError as problem:
            place = f" ({problem.filename})" if problem.filename else ""
            full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
            advice = f"; make room for {self._folder}, or set another folder in hosts.toml" if full else ""
            answer["error"] = f"{problem.strerror or problem}{place}{advice}"
        except Exception as problem:  # whoever asked is told, whatever it is
            answer["error"] = f"{what}: {type(problem).__name__}: {problem}"
        self._send(answer)
        if what == "bye":
            self._ending.set()

    def _send(self, line: dict[str, Any]) -> None:
        with self._sending, contextlib.suppress(OSError):  # the controller is gone
            self._answers.write(json.dumps(line).encode() + b"\n")
            self._answers.flush()


def sweep(sessions: Path) -> list[int]:
    """Return the ids of the agents that live; end what a killed one left behind, and remove its folder."""
    living: list[int] = []
    for folder in sorted(sessions.glob("agent-*")):
        with contextlib.suppress(OSError, ValueError):
            about = json.loads((folder / ABOUT).read_text())
            if alive(about["pid"], about["start_ticks"]):
                living.append(about["pid"])
                continue
        for note in folder.glob("running/*"):
            group, _, ticks = note.name.partition("-")
            kill_group(int(group), int(ticks))
        remove_scratch(folder / SCRATCH)
        shutil.rmtree(str(folder), ignore_errors=True)
    return living


def main() -> None:
    parser = argparse.ArgumentParser(prog="agent")
    parser.add_argument("base", type=Path, help="the folder of all agents of this user")
    parser.add_argument("--grace-s", type=float, default=30.0, help="time without a message")
    options = parser.parse_args()
    os.umask(0o077)
    return_large_blocks()
    Server(options.base, options.grace_s).serve()
    os._exit(0)
