# SPDX-License-Identifier: Apache-2.0
"""Who runs here on the harness' behalf: a note per started process, and a look before measuring.

A process beside the measured one would be measured with it. Children normally die
with their session; should one live on all the same, the next session names it and stops.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from harness.agent.processes import read_stat
from harness.errors import OrphanError
from harness.model import Frozen

RUNNING = Path(".cache") / "running"


class RunningProcess(Frozen):
    """One started process. Start ticks (of ``ProcessStat``) tell a recycled pid apart."""

    pid: int
    start_ticks: int
    port: int | None
    role: str
    session: str
    owner_pid: int
    owner_start_ticks: int


class RunningProcesses:
    """The notes below ``.cache/running`` of one project folder."""

    def __init__(self, root: Path, session: str) -> None:
        self._folder = root / RUNNING
        self._session = session

    def note(self, *, pid: int, role: str, port: int | None = None) -> None:
        """Remember a process just started. One that is gone already needs no note."""
        ticks, own = start_ticks(pid), start_ticks(os.getpid())
        if ticks is None or own is None:
            return
        process = RunningProcess(
            pid=pid,
            start_ticks=ticks,
            port=port,
            role=role,
            session=self._session,
            owner_pid=os.getpid(),
            owner_start_ticks=own,
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"{pid}.json").write_text(process.model_dump_json(), "utf-8")

    def forget(self, pid: int) -> None:
        """Drop the note of a process that was stopped."""
        (self._folder / f"{pid}.json").unlink(missing_ok=True)

    def refuse_orphans(self) -> None:
        """Drop the notes of processes that are gone.

        Raises:
            OrphanError: one still runs; names it, and how to stop it.
        """
        alive: list[RunningProcess] = []
        for path in sorted(self._folder.glob("*.json")):
            process = _read(path)
            if process is not None and start_ticks(process.pid) == process.start_ticks:
                alive.append(process)
            else:
                path.unlink(missing_ok=True)
        if alive:
            raise OrphanError("; ".join(_words(process) for process in alive))


def start_ticks(pid: int) -> int | None:
    """Return its start time; ``None`` for no such process, or only its remains (a zombie)."""
    stat = read_stat(pid)
    return None if stat is None or stat.ended else stat.start_ticks


def _read(path: Path) -> RunningProcess | None:
    try:
        return RunningProcess.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _words(process: RunningProcess) -> str:
    port = f" on port {process.port}" if process.port is not None else ""
    who = f"a {process.role} of session {process.session} still runs: process {process.pid}{port}"
    if start_ticks(process.owner_pid) == process.owner_start_ticks:
        return (
            f"{who}, and that session (process {process.owner_pid}) is still measuring; "
            "wait for it: two at once would measure each other"
        )
    return f"{who}, left by a session that is gone; stop it with: kill {process.pid}, then try again"
