# SPDX-License-Identifier: Apache-2.0
"""What a benchmark says: rows with value, peer, ratio and target, and whether each target holds."""

from __future__ import annotations

from pydantic import Field, computed_field

from harness.model import Frozen


class BenchRow(Frozen):
    """One number. ``holds``: True, False, or ``None`` for cannot say (with a target) or nothing to keep."""

    name: str
    value: float | None
    unit: str
    low: float | None = Field(default=None, description="the smallest of the repetitions")
    high: float | None = Field(default=None, description="the largest of the repetitions")
    peer: str | None = Field(default=None, description="who did the same work in the same run")
    peer_value: float | None = Field(default=None, description="in the same unit")
    ratio: float | None = Field(
        default=None, description="value over peer's value, unless the name says else"
    )
    ratio_low: float | None = Field(default=None, description="end of the ratio's 95 % interval")
    ratio_high: float | None = None
    target: str | None = None
    holds: bool | None = None
    said: str = Field(default="", description="what a reader must know beside it")

    @property
    def verdict(self) -> str:
        """``holds`` in words; empty without a target."""
        if self.target is None:
            return ""
        return {True: "holds", False: "DOES NOT HOLD", None: "cannot say"}[self.holds]


class BenchResult(Frozen):
    """One benchmark, all of its rows from one run."""

    name: str
    question: str
    rows: tuple[BenchRow, ...]
    notes: tuple[str, ...] = ()
    place: str = Field(description="cores, memory and commit; no date, no name of a machine")

    @computed_field  # type: ignore[prop-decorator]  # pydantic puts it on a property, so that --json has it
    @property
    def holds(self) -> bool | None:
        """False when a target does not hold; else ``None`` when one cannot be told; else True."""
        verdicts = [row.holds for row in self.rows if row.target is not None]
        if False in verdicts:
            return False
        return None if None in verdicts else True


def at_least(limit: float, value: float | None, high: float | None) -> bool | None:
    """Judge an estimate against a lower limit.

    False only when the whole interval lies below; a value that keeps it holds; between the two, or
    below and without an interval, it cannot be told.
    """
    if value is None:
        return None
    if value >= limit:
        return True
    return False if high is not None and high < limit else None


def over(value: float | None, peer: float | None) -> float | None:
    """The ratio, or ``None`` when either is unknown or the peer's is zero."""
    return None if value is None or not peer else value / peer
