# SPDX-License-Identifier: Apache-2.0
"""The numbers of one load, as printed, each with what its rounding leaves open; and what an audit says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from harness.model import Frozen


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A number in SI units. ``half``: half a step of its last digit, so it stood for value - half to value + half."""

    value: float
    half: float = 0.0

    @property
    def low(self) -> float:
        """The least that prints like this; not below zero."""
        return max(self.value - self.half, 0.0)

    @property
    def high(self) -> float:
        """The most that prints like this."""
        return self.value + self.half


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The load that was to be offered. ``None``: not known.

    ``users``, ``loops``, ``ramp_up_s``: of a closed loop, where each user sends ``loops`` requests one after another.
    ``rate_per_s``: of an open loop.
    """

    users: int | None = None
    loops: int | None = None
    ramp_up_s: float | None = None
    rate_per_s: float | None = None

    def over(self, plan: Plan) -> Plan:
        """Return this plan, with what it does not say from another one."""
        return replace(plan, **{name: value for name, value in vars(self).items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is said of one load, or of the requests of one name in it. ``None``, or left out: not said.

    ``quantiles_s``: share from 0 to 1 -> seconds. ``most_active``: the most users that were under way at once.
    ``recorded``: of how many requests the latencies are. ``unanswered``: requests that had no answer; rates are of
    answers.
    """

    rate_per_s: Printed | None = None
    mean_s: Printed | None = None
    min_s: Printed | None = None
    max_s: Printed | None = None
    quantiles_s: Mapping[float, Printed] = field(default_factory=dict)
    requests: Printed | None = None
    recorded: Printed | None = None
    errors: Printed | None = None
    unanswered: float = 0.0
    error_share: Printed | None = None
    duration_s: Printed | None = None
    most_active: Printed | None = None
    rss_start: Printed | None = None
    rss_end: Printed | None = None

    @property
    def says_nothing_of_load(self) -> bool:
        """There is neither a rate nor a latency nor a count."""
        known = (self.rate_per_s, self.mean_s, self.min_s, self.max_s, self.requests)
        return all(item is None for item in known) and not self.quantiles_s


#: ``remarkable``: possible, but something that is not printed has to explain it.
Outcome = Literal["holds", "contradiction", "remarkable", "not checked"]


class Check(Frozen):
    """One law held against one row, or against a whole file."""

    law: str
    outcome: Outcome
    text: str
    row: str | None = None
    line: int | None = None

    def at(self, row: str | None, line: int | None) -> Check:
        """Return the same check with the row that it speaks of."""
        return self.model_copy(update={"row": row, "line": line})


class Audited(Frozen):
    """One file. ``kind``: what was found in it, in words."""

    path: Path
    kind: str
    rows: int
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    def of(self, outcome: Outcome) -> tuple[Check, ...]:
        """Return the checks with one outcome, in the order of the file."""
        return tuple(check for check in self.checks if check.outcome == outcome)

    def as_json(self) -> dict[str, Any]:
        """The file as a program reads it."""
        plain = self.model_dump(mode="json", exclude={"path"})
        return {"path": str(self.path), **plain}


def n_contradictions(files: Sequence[Audited]) -> int:
    """Return how many checks of all files found a contradiction."""
    return sum(len(file.of("contradiction")) for file in files)
