# SPDX-License-Identifier: Apache-2.0
"""How far a session is: one line that moves on a terminal, plain lines elsewhere, a callback for notebooks.

A terminal that is gone must not end a session: whatever cannot be shown is dropped.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Protocol, TextIO

from harness.errors import printable
from harness.model import Frozen, TrialRecord
from harness.model.readings import SLOWED_SHARE, slowed_share


class ProgressState(Frozen):
    """Where a session stands. ``left_s`` is an estimate: planned times, corrected by those seen so far."""

    session: str
    done: int
    total: int
    left_s: float | None
    doing: str
    not_ok: int = 0

    def line(self) -> str:
        left = "" if self.left_s is None else f", about {in_words(self.left_s)} left"
        bad = f", {self.not_ok} not ok" if self.not_ok else ""
        return f"{self.session}: {self.done}/{self.total} trials{bad}{left}: {self.doing}"


class Progress(Protocol):
    """Told what happens, in order. Must not raise for want of a terminal."""

    def step(self, state: ProgressState) -> None: ...

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Nobody wants to know."""

    def step(self, state: ProgressState) -> None:
        return

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None:
        return

    def close(self) -> None:
        return


class PlainProgress:
    """A line per finished trial and per longer step."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def step(self, state: ProgressState) -> None:
        if not state.doing.startswith("trial "):
            self._say(state.line())

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None:
        self._say(f"{state.line()}: {outcome_words(record)}")

    def close(self) -> None:
        return

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=self._stream, flush=True)


class TerminalProgress:
    """One bar that moves, and a lasting line for whatever was not ok."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("{task.fields[session]}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            transient=False,
            redirect_stdout=False,
        )
        self._task = self._bars.add_task("", total=None, session="")
        self._bars.start()

    def step(self, state: ProgressState) -> None:
        left = "" if state.left_s is None else f"{in_words(state.left_s)} left, "
        with contextlib.suppress(OSError, ValueError):
            self._bars.update(
                self._task,
                total=state.total,
                completed=state.done,
                description=left + state.doing,
                session=state.session,
            )

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None:
        if record.outcome != "ok" or is_slowed(record):
            with contextlib.suppress(OSError, ValueError):
                self._bars.console.print(
                    f"{record.planned.trial_id}: {outcome_words(record)}", markup=False, highlight=False
                )
        self.step(state)

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._bars.stop()


def suitable_progress() -> Progress:
    """Return a moving line on a terminal, plain lines elsewhere."""
    return TerminalProgress() if sys.stderr.isatty() and sys.stdout.isatty() else PlainProgress()


def outcome_words(record: TrialRecord) -> str:
    """``ok``, or the outcome with its reason, in one line; and how slow the CPUs were, where that is worth a word."""
    reason = f" ({record.reason})" if record.reason else ""
    share = slowed_share(record.cpu_speeds) or 0.0
    slowed = f"; its CPUs were {share:.0%} slower than at their best" if share > SLOWED_SHARE else ""
    n_earlier = len(record.earlier_loads)
    again = f"; took its load {n_earlier + 1} times, because the JVM compiled" if n_earlier else ""
    return printable(f"{record.outcome.value}{reason}{again}{slowed}".replace("\n", " "))


def is_slowed(record: TrialRecord) -> bool:
    """Tell whether another guest of the hypervisor slowed a trial's CPUs so much that it is worth a word."""
    return (slowed_share(record.cpu_speeds) or 0) > SLOWED_SHARE


def in_words(seconds: float) -> str:
    """``75 s`` -> ``1 min 15 s``; hours without seconds."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
