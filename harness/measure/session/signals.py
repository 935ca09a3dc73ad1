# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and a lost terminal end the trial under way in good order; the rest is kept.

``RunningProcesses`` notes each process that is started: one beside the measured one would be measured with it.
Children normally die with their session; should one live on all the same, the next session names it and stops.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from pydantic import ValidationError

from harness.agent.processes import read_stat
from harness.errors import OrphanError, RematchError
from harness.model import Frozen

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked us to stop. A ``KeyboardInterrupt``, so that nobody takes it for a failed trial."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)

    @property
    def exit_code(self) -> int:
        """As a shell has it: 130, 143, 129."""
        return 128 + self.number


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Raise ``Interrupted`` at the first of the signals; later ones do not disturb the tidying up.

    An exception from a signal's handler is lost where Python cannot raise: in a destructor, or a lookup in C. It is
    raised again by the function that is yielded, which a caller calls between two steps of its work. Code in other
    languages makes an exception of its own of it (pydantic, when a serializer is interrupted): once a signal has come,
    what ends the work is that signal, unless it is an error of ours.

    A signal that was ignored before (nohup) stays ignored. Outside the main thread nothing changes:
    there the caller owns the signals.
    """
    asked: list[Interrupted] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if not asked:
            asked.append(Interrupted(number))
            raise asked[0]

    def check() -> None:
        if asked:
            raise asked[0]

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield check
    except Exception as problem:
        ended = ended_by(problem, check)
        if ended is problem:
            raise
        raise ended from problem
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ended_by(problem: BaseException, check: Callable[[], None]) -> BaseException:
    """Return the signal that ended the work where one had come, else the exception itself.

    ``check``: what ``interruptible`` yields. An error of ours stands before a signal.
    """
    if not isinstance(problem, RematchError):
        try:
            check()
        except Interrupted as asked:
            return asked
    return problem


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
        alive: list[str] = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                process = RunningProcess.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                process = None
            if process is not None and start_ticks(process.pid) == process.start_ticks:
                alive.append(_words(process))
            else:
                path.unlink(missing_ok=True)
        if alive:
            raise OrphanError("; ".join(alive))


def start_ticks(pid: int) -> int | None:
    """Return its start time; ``None`` for no such process, or only its remains (a zombie)."""
    stat = read_stat(pid)
    return None if stat is None or stat.ended else stat.start_ticks


def _words(process: RunningProcess) -> str:
    port = f" on port {process.port}" if process.port is not None else ""
    who = f"a {process.role} of session {process.session} still runs: process {process.pid}{port}"
    if start_ticks(process.owner_pid) == process.owner_start_ticks:
        return (
            f"{who}, and that session (process {process.owner_pid}) is still measuring; "
            "wait for it: two at once would measure each other"
        )
    return f"{who}, left by a session that is gone; stop it with: kill {process.pid}, then try again"
