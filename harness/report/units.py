# SPDX-License-Identifier: Apache-2.0
"""Are the response times in the unit they are read in? The words for it, and what is merely too rare to be likely.

A response time has no unit of its own. What contradicts one stands in ``report_unit_columns`` (the other
columns of the same rows) and ``report_unit_course`` (when requests begin and end). Where neither can be
checked (open arrivals, no column but the time stamp) milliseconds and microseconds look alike: then
nothing is said, or only what the figures would mean.
"""

from __future__ import annotations

from pydantic import Field

from harness.formats.jtl_units import UNITS_PER_S, LatencyUnit
from harness.model import Frozen

#: What is read as milliseconds may be micro- or nanoseconds; what is read as milliseconds may be seconds.
SMALLER = (1e-3, 1e-6)
LARGER = 1e3
#: Of requests or cases, for anything to be said.
FEWEST = 20
#: No generator keeps more requests open on average than it has ports, and none is answered sooner.
REMARKABLE_OUTSTANDING, SHORTEST_S = 2000.0, 5e-6
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
        self, found: str, factor: float | None, then: str, *, contradicted: bool = True
    ) -> UnitFinding:
        """Return the finding: what was found, and what it would be with latencies ``factor`` times those read."""
        mine, other = self._name(1.0), None if factor is None else self._name(factor)
        text = f"{self.file}: column {self.column}, read as {_NAMES[mine] if mine else 'given'}: {found}"
        if other is not None:
            text += f"; in {_NAMES[other]} {then}"
            how = (
                f"--latency-unit {other}"
                if self._can_be_said
                else f"convert the column to {_NAMES[mine or 'ms']}"
            )
            text += f": if that is so, {how}"
        return UnitFinding(
            column=self.column, read_as=mine or "given", rather=other, contradicted=contradicted, text=text
        )

    def _name(self, factor: float) -> LatencyUnit | None:
        per_s = self.units_per_s / factor
        return next((name for name, known in UNITS_PER_S.items() if abs(known / per_s - 1) < 1e-6), None)


def remarkable(
    *, n: int, span_s: float, sum_s: float, median_s: float, units: Units
) -> tuple[UnitFinding, ...]:
    """Return what is possible, but rarer than a mistake of units; nothing in the file contradicts it.

    Args:
        span_s: from the first start to the last. sum_s, median_s: of latencies.
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
    if 0 < median_s < SHORTEST_S:
        return (
            units.finding(
                f"half of the answers came within {median_s * 1e6:.2g} us, sooner than any way to a service and back",
                LARGER,
                f"it would be {median_s * LARGER * 1e3:.2g} ms",
                contradicted=False,
            ),
        )
    return ()
