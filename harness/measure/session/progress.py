# SPDX-License-Identifier: Apache-2.0
"""How far a session is: one line that moves on a terminal, plain lines elsewhere, a callback for notebooks.

A terminal that is gone must not end a session: whatever cannot be shown is dropped.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from typing import TextIO

from harness.errors import printable
from harness.model import Frozen, TrialRecord
from harness.model.formatting import counted
from harness.model.started import SLOWED_SHARE, slowed_share

#: Goes to the begin of a terminal's line, which is cleared.
_ANEW = "\r\x1b[2K"


class ProgressState(Frozen):
    """Where a session stands. ``left_s`` is an estimate: planned times, corrected by those of finished trials."""

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


class Silent:
    """Told what happens, in order, and shows nothing. What shows it must not raise for want of a terminal."""

    def step(self, state: ProgressState) -> None:
        """Something else is being done."""

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None:
        """A trial has ended."""

    def close(self) -> None:
        """Nothing more will be told."""


Progress = Silent


class PlainProgress(Silent):
    """A line per finished trial and per longer step; at the end, how many trials another guest slowed.

    Args:
        moving: show one line that is written anew, cut to the terminal, and lasting ones for whatever was not ok.
    """

    def __init__(self, stream: TextIO | None = None, *, moving: bool = False) -> None:
        self._stream, self._moving = stream or sys.stderr, moving
        self._n_trials = 0
        self._slowed: list[float] = []

    def step(self, state: ProgressState) -> None:
        if self._moving:
            width = shutil.get_terminal_size().columns
            self._write(f"{_ANEW}{printable(state.line())[: width - 1]}")
        elif not state.doing.startswith("trial "):
            self._say(state.line())

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None:
        self._n_trials += 1
        share = slowed_share(record.cpu_speeds) or 0.0
        self._slowed += [share] if share > SLOWED_SHARE else []
        if not self._moving:
            self._say(f"{state.line()}: {outcome_words(record)}")
        elif record.outcome != "ok":
            self._say(f"{record.planned.trial_id}: {outcome_words(record)}")

    def close(self) -> None:
        if self._moving:
            self._write(_ANEW)
        if self._slowed:
            n = f"{len(self._slowed)} of {counted(self._n_trials, 'trial')}"
            self._say(f"CPUs slower than at their best in {n}, by up to {max(self._slowed):.0%}")

    def _say(self, line: str) -> None:
        """Write a lasting line."""
        self._write(f"{_ANEW if self._moving else ''}{line}\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(text, end="", file=self._stream, flush=True)


def suitable_progress() -> Progress:
    """Return a moving line on a terminal, plain lines elsewhere."""
    return PlainProgress(moving=sys.stderr.isatty() and sys.stdout.isatty())


def outcome_words(record: TrialRecord) -> str:
    """Return ``ok``, or the outcome with its reason, in one line."""
    reason = f" ({record.reason})" if record.reason else ""
    n_earlier = len(record.earlier_loads)
    again = f"; took its load {n_earlier + 1} times" if n_earlier else ""
    return printable(f"{record.outcome.value}{reason}{again}".replace("\n", " "))


def in_words(seconds: float) -> str:
    """Return ``75 s`` as ``1 min 15 s``; hours without seconds."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
