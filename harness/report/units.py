# SPDX-License-Identifier: Apache-2.0
"""Are the response times in the unit they are read in? What contradicts it, and what is merely too rare to be likely.

A response time has no unit of its own. What contradicts one are the other columns of the same rows. Without them
milliseconds and microseconds look alike: then nothing is said, or only what the figures would mean.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from harness.formats.jtl_units import UNITS_PER_S, LatencyUnit
from harness.formats.sides import SideColumns
from harness.model import Frozen

#: What is read as milliseconds may be micro- or nanoseconds; what is read as milliseconds may be seconds.
SMALLER = (1e-3, 1e-6)
LARGER = 1e3
#: Of requests or cases, for anything to be said.
FEWEST = 20
#: No generator keeps more requests open on average than it has ports.
REMARKABLE_OUTSTANDING = 2000.0
_NAMES: dict[LatencyUnit, str] = {
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}


class UnitFinding(Frozen):
    """Something that does not fit the unit in which a column was read."""

    column: str
    read_as: str
    rather: str | None = Field(description="the unit in which it would fit; None: in no other either")
    contradicted: bool = Field(description="False: possible, but rare enough to be asked about")
    text: str


class Units:
    """Says what a factor means for a file whose response times were read in a unit."""

    def __init__(self, units_per_s: float, *, file: str, column: str, can_be_said: bool) -> None:
        self.units_per_s, self.file, self.column = units_per_s, file, column
        self._can_be_said = can_be_said

    def finding(
        self, result: str, factor: float | None, then: str, *, contradicted: bool = True
    ) -> UnitFinding:
        """Return the finding: what was found, and what it would be with latencies ``factor`` times those read."""
        own, second = self._name(1.0), None if factor is None else self._name(factor)
        text = f"{self.file}: column {self.column}, read as {_NAMES[own] if own else 'given'}: {result}"
        if second is not None:
            text += f"; in {_NAMES[second]} {then}"
            how = (
                f"use --latency-unit {second}"
                if self._can_be_said
                else f"convert the column to {_NAMES[own or 'ms']}"
            )
            text += f"; if that is right, {how}"
        return UnitFinding(
            column=self.column, read_as=own or "given", rather=second, contradicted=contradicted, text=text
        )

    def _name(self, factor: float) -> LatencyUnit | None:
        per_s = self.units_per_s / factor
        return next((name for name, known in UNITS_PER_S.items() if abs(known / per_s - 1) < 1e-6), None)


def remarkable(*, n: int, span_s: float, sum_s: float, units: Units) -> tuple[UnitFinding, ...]:
    """Return what is possible, but rarer than a mistake of units; nothing in the file contradicts it.

    Args:
        span_s: from the first start to the last. sum_s: of latencies.
    """
    outstanding = sum_s / span_s if span_s > 0 else 0.0
    if outstanding > REMARKABLE_OUTSTANDING and n >= FEWEST:
        factor = next((f for f in SMALLER if outstanding * f <= REMARKABLE_OUTSTANDING), SMALLER[-1])
        return (
            units.finding(
                f"{outstanding:,.0f} requests were outstanding on average (a service far behind?)",
                factor,
                f"it would be {outstanding * factor:.2g}",
                contradicted=False,
            ),
        )
    return ()


#: Rows that sum up others, and files of several generators under the same names of threads, make a thread several times
#: as busy as one thing at a time can: a few times, not this often. A wrong unit makes it a thousand times.
MOST_BUSY = 50.0
_FEWEST_STEPS = 5.0


def contradictions(sides: SideColumns, units: Units) -> tuple[UnitFinding, ...]:
    """Return what the other columns of the same rows say against the unit of the response times."""
    if _first_byte_agrees(sides):
        return ()  # however often a thread overlaps itself: the file joins several generators
    checks = (_threads_too_busy, _first_byte_after_the_last, _first_byte_is_the_same_number)
    return tuple(result for check in checks if (result := check(sides, units)) is not None)


def _first_byte_agrees(sides: SideColumns) -> bool:
    """Whether JMeter's own milliseconds to the first byte are most of the time, and never more, in most rows."""
    if sides.first_byte_ms is None:
        return False
    some = np.isfinite(sides.first_byte_ms) & (sides.first_byte_ms >= _FEWEST_STEPS)
    part, whole = sides.first_byte_ms[some], sides.latency_s[some] * 1e3
    if len(part) < FEWEST:
        return False
    return float(((part <= whole + 1) & (part >= whole / 2)).mean()) >= 0.9


def _threads_too_busy(sides: SideColumns, units: Units) -> UnitFinding | None:
    """A thread does one thing at a time: from start to start it cannot have been busy for longer than that."""
    share = sides.joined_engines
    if len(sides.pairs[0]) < FEWEST or share <= MOST_BUSY:
        return None
    factor = next((f for f in SMALLER if share * f <= 2.0), None)
    return units.finding(
        f"threads would have been busy for {share:,.0f} times the time that passed between their requests",
        factor,
        f"it would be {share * (factor or 1):.2g} times",
    )


def _first_byte_after_the_last(sides: SideColumns, units: Units) -> UnitFinding | None:
    """JMeter's Latency and Connect, in whole milliseconds, are parts of elapsed."""
    for name, part_ms in (("Latency", sides.first_byte_ms), ("Connect", sides.connect_ms)):
        if part_ms is None:
            continue
        some = np.isfinite(part_ms) & (part_ms > 0)
        part, whole = part_ms[some], sides.latency_s[some] * 1e3
        # Rounding takes up to one step from the whole, and adds up to one to the part.
        beyond = part > whole + 1.0 + 1e3 / units.units_per_s
        if len(part) < FEWEST or beyond.mean() < 0.5:
            continue
        fits = whole * LARGER + 1e6 / units.units_per_s + 1.0 >= part
        return units.finding(
            f"it is shorter than {name}, a part of it, in {beyond.mean():.0%} of {len(part):,} rows "
            f"(median {np.median(whole):,.3g} ms against {np.median(part):,.3g} ms)",
            LARGER if fits.mean() > 0.95 else None,
            "it would be longer",
        )
    return None


def _first_byte_is_the_same_number(sides: SideColumns, units: Units) -> UnitFinding | None:
    """A first byte that comes after a thousandth of the time, to the millisecond, is the same time in another unit."""
    if sides.first_byte_ms is None:
        return None
    # Of a few milliseconds rounding leaves too little to compare.
    some = np.isfinite(sides.first_byte_ms) & (sides.first_byte_ms >= _FEWEST_STEPS)
    part, whole = sides.first_byte_ms[some], sides.latency_s[some] * 1e3
    if len(part) < FEWEST or len(np.unique(part)) < 3 or np.ptp(whole) <= 0:
        return None
    for factor in SMALLER:
        ratio = whole * factor / part
        near = (ratio >= 0.8) & (ratio <= 1.4)
        # They must rise and fall together, too.
        if near.mean() >= 0.95 and float(np.corrcoef(part, whole)[0, 1]) > 0.9:
            return units.finding(
                f"it is {1 / factor:,.0f} times Latency in {near.mean():.0%} of {len(part):,} rows",
                factor,
                "it would be the same",
            )
    return None
