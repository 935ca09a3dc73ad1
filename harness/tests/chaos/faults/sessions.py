# SPDX-License-Identifier: Apache-2.0
"""Sessions of the command line, run by ``harness/cli/prefork.py``, and the processes that belong to them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
from harness.agent.processes import alive, read_stat
from harness.errors import RematchError
from harness.tests.support.patience import patient

PREFORK = "harness.tests.chaos.faults.prefork"


@dataclass(frozen=True)
class Process:
    """A process by its id and its start time (clock ticks since boot)."""

    pid: int
    start_ticks: int

    @property
    def runs(self) -> bool:
        return alive(self.pid, self.start_ticks)

    def send(self, number: signal.Signals) -> bool:
        """Send a signal; return whether it still ran."""
        if not self.runs:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
            return True
        return False


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a session said. ``code``: negative for a signal."""

    code: int
    stdout: str
    stderr: str


@dataclass
class Running:
    """A session under way."""

    process: Process
    began_s: float
    _line: CommandLine
    _out: Path
    _err: Path
    _code: int | None = field(default=None)

    def ended(self, within_s: float = 0.0) -> bool:
        """Wait until it has ended, at most so long; return whether it has."""
        if self._code is None:
            self._code = self._line.wait(self.process.pid, within_s)
        return self._code is not None

    def result(self) -> Ended:
        """Return what an ended session said."""
        if self._code is None:
            raise RuntimeError("the session still runs")
        said = [path.read_text("utf-8", errors="replace") for path in (self._out, self._err)]
        return Ended(code=self._code, stdout=said[0], stderr=said[1])

    def words(self) -> str:
        """Return what it has written to stderr so far."""
        return self._err.read_text("utf-8", errors="replace") if self._err.is_file() else ""

    def kill(self) -> None:
        """End it for certain."""
        self.process.send(signal.SIGKILL)
        self.ended(60.0)


class CommandLine:
    """Runs ``rematch`` on one project. A context: at its end nothing of it is left."""

    def __init__(self, root: Path, scratch: Path) -> None:
        """``scratch``: a folder for what it says, which every user may write into."""
        self._root, self._scratch = root, scratch
        self._numbers = itertools.count(1)
        environment = {
            **os.environ,
            "REMATCH_ROOT": str(root),
            "PYTHONPATH": str(Path(harness.__file__).parents[1]),
            "OPENBLAS_NUM_THREADS": "1",  # no threads before a fork
        }
        self._server = subprocess.Popen(
            [sys.executable, "-m", PREFORK],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=root,
            text=True,
            start_new_session=True,
        )
        if "ready" not in self._read():
            raise RematchError(f"{PREFORK} is not ready")

    def __enter__(self) -> CommandLine:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        with contextlib.suppress(OSError):
            self._server.stdin.close()
        try:
            self._server.wait(patient(10))
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait(patient(10))

    def start(self, argv: Sequence[str], more: Mapping[str, Any]) -> Running:
        """Start the command line with these words; ``more``: as the orders of ``prefork`` have it."""
        out, err = self._scratch / "stdout.txt", self._scratch / "stderr.txt"
        for path in (out, err):
            path.unlink(missing_ok=True)
        began_s = time.monotonic()
        order = {
            "op": "start", "argv": list(argv), "folder": str(self._root), "stdout": str(out), "stderr": str(err),
            "environment": {"TMPDIR": str(self._root / "tmp"), "COLUMNS": "80"}, **more,
        }  # fmt: skip
        pid = int(self._ask(order)["pid"])
        stat = read_stat(pid)  # not waited for yet, so it is there
        return Running(Process(pid, stat.start_ticks if stat else 0), began_s, self, out, err)

    def wait(self, pid: int, timeout_s: float) -> int | None:
        code = self._ask({"op": "wait", "pid": pid, "timeout_s": timeout_s})["code"]
        return None if code is None else int(code)

    def _ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None
        number = next(self._numbers)
        self._server.stdin.write(json.dumps({**order, "number": number}) + "\n")
        self._server.stdin.flush()
        while True:
            said = self._read()
            if said["number"] == number:  # else it is of an order whose sender was interrupted
                return said

    def _read(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        if not line:
            raise RematchError(f"{PREFORK} ended with exit code {self._server.wait(patient(10))}")
        said: dict[str, Any] = json.loads(line)
        return said


def of_role(root: Path, role: str) -> Iterator[Process]:
    """Yield the noted processes of a role: ``service``, ``generator``, ``database`` or ``upstream``."""
    for note in sorted((root / ".cache" / "running").glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError):
            said = json.loads(note.read_text("utf-8"))
            if _role(said["role"]) == role:
                yield Process(said["pid"], said["start_ticks"])


def _role(noted: str) -> str:
    if noted in ("database", "upstream"):
        return noted
    return "generator" if noted.startswith("load generator") else "service"


def belonging_to(root: Path, *, but: frozenset[int] = frozenset()) -> tuple[tuple[Process, str], ...]:
    """Return the processes that name a folder on their command line, in their environment, or work in it.

    ``but``: ids that are left out. With each process stands its command line.
    """
    found: list[tuple[Process, str]] = []
    sought = os.fsencode(root)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), *but):
            continue
        stat = read_stat(int(entry.name))
        if stat is None or stat.ended:
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes()
            named = [words]
            with contextlib.suppress(OSError):  # of another user
                named += [(entry / "environ").read_bytes(), os.fsencode(os.readlink(entry / "cwd"))]
            if any(sought in text for text in named):
                said = words.replace(b"\0", b" ").decode(errors="replace").strip()
                found.append((Process(int(entry.name), stat.start_ticks), said))
    return tuple(found)
