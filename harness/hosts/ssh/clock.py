# SPDX-License-Identifier: Apache-2.0
"""How far a far host's clocks are from ours, from questions and answers over the wire.

A question leaves at a and its answer comes at b, on our clock; the far clock said f in between. If both
ways took equally long, the offset is f - (a + b) / 2, and however they differed it is wrong by no
more than (b - a) / 2. Of many questions the quickest says most (Cristian 1989).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.hosts.base import now
from harness.model import ClockReading, Frozen

#: How many times the clocks are asked; the quickest answer counts.
QUESTIONS = 31


class Question(Frozen):
    """One question, on both machines' clocks."""

    sent: ClockReading
    far: ClockReading
    received: ClockReading

    @property
    def round_trip_s(self) -> float:
        return self.received.monotonic_s - self.sent.monotonic_s


class Offset(Frozen):
    """Far minus ours, of both clocks, true to ``uncertainty_s``."""

    wall_s: float
    monotonic_s: float
    uncertainty_s: float
    round_trip_s: float
    n_questions: int

    def ours(self, far: ClockReading) -> ClockReading:
        """Return a far moment on our clocks."""
        return ClockReading(
            wall_epoch_s=far.wall_epoch_s - self.wall_s, monotonic_s=far.monotonic_s - self.monotonic_s
        )


def offset_by_asking(ask: Callable[..., dict[str, Any]]) -> Offset:
    """Return the offset of the clocks of an agent, to which ``ask`` puts questions."""
    questions = []
    for _ in range(QUESTIONS):
        sent = now()
        said = ask("ping")
        questions.append(Question(sent=sent, far=ClockReading.model_validate(said), received=now()))
    return estimate_offset(questions)


def estimate_offset(questions: Sequence[Question]) -> Offset:
    """Return the offset as the quickest question has it.

    Raises:
        ValueError: no question.
    """
    best = min(questions, key=lambda question: question.round_trip_s)
    middle_s = (best.sent.monotonic_s + best.received.monotonic_s) / 2
    wall_middle_s = (best.sent.wall_epoch_s + best.received.wall_epoch_s) / 2
    return Offset(
        wall_s=best.far.wall_epoch_s - wall_middle_s,
        monotonic_s=best.far.monotonic_s - middle_s,
        uncertainty_s=best.round_trip_s / 2,
        round_trip_s=best.round_trip_s,
        n_questions=len(questions),
    )
