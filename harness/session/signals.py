# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and a lost terminal end the trial under way in good order; the rest is kept.

``RunningProcesses`` notes each process that is started: one beside the measured one would be measured with it.
Children normally die with their session; should one live on all the same, the next session names it and stops.
"""

from __future__ import annotations

import os
import signal
import sys
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

AGAIN_AFTER_S = 0.01
"""How long after a loss was reported the signal is sent again, and how often until it is raised where it is heard."""


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

    An exception from a signal's handler is lost where Python cannot raise: in a destructor, a weak reference's
    callback, or a lookup in C. It is raised again a moment later where Python reports the loss, and by the function
    that is yielded, which a caller calls between two steps of its work, in any case. Code in other languages makes an
    exception of its own of it (pydantic, when a serializer is interrupted): once a signal has come, what ends the work
    is that signal, unless it is an error of ours.

    A signal that was ignored before (nohup) stays ignored. Outside the main thread nothing changes:
    there the caller owns the signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield _nothing_asked
        return
    hears = _Listener(sys.unraisablehook)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    sys.unraisablehook = hears.lost
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, hears.stop)
    try:
        yield hears.check
    except Exception as problem:
        ended = ended_by(problem, hears.check)
        if ended is problem:
            raise
        raise ended from problem
    finally:
        hears.end()
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hears.hook_before


class _Listener:
    """What handlers, hook and caller of one ``interruptible`` share."""

    def __init__(self, hook_before: Callable[[sys.UnraisableHookArgs], object]) -> None:
        self.hook_before = hook_before
        self._asked: Interrupted | None = None
        self._owed: int | None = None
        self._reporting = False
        self._over = threading.Event()
        self._sender: threading.Thread | None = None

    def stop(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        if (
            self._asked is None and not self._reporting
        ):  # in the report of a loss it would be lost: it stays owed
            self._asked, self._owed = Interrupted(number), None
            raise self._asked

    def check(self) -> None:
        """Raise the signal that has come."""
        if self._owed is not None:
            self.stop(self._owed, None)
        if self._asked is not None:
            raise self._asked

    def lost(self, what: sys.UnraisableHookArgs) -> None:
        """Take the report of an exception that nobody can catch."""
        if not isinstance(what.exc_value, Interrupted):
            self.hook_before(what)
            return
        self._reporting = True
        self._asked, self._owed = None, what.exc_value.number
        if self._sender is None:
            self._sender = threading.Thread(target=self._send_again, name="signal sender", daemon=True)
            self._sender.start()
        self._reporting = False

    def end(self) -> None:
        """Send nothing more: the work is done, and a signal would meet the handlers of before."""
        if self._sender is not None:
            self._reporting = True
            self._over.set()
            self._sender.join()

    def _send_again(self) -> None:
        while not self._over.wait(AGAIN_AFTER_S):
            if self._owed is not None:
                signal.pthread_kill(threading.main_thread().ident or 0, self._owed)


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


def _nothing_asked() -> None:
    """What a thread that owns no signals is asked: nothing."""


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
