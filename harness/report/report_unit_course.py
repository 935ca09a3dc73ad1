# SPDX-License-Identifier: Apache-2.0
"""What the course of a file says against the unit of its response times: its rhythm, and pauses that do not show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.analysis.attribution.clock_offset import MIN_PAUSES, estimate_clock_offset
from harness.analysis.attribution.spans import Span
from harness.report.units import FEWEST, LARGER, SMALLER, UnitFinding, Units

FloatArray = npt.NDArray[np.float64]

_FOLLOW_ROWS, _SHUFFLES, _NEIGHBOURS = 5000, 19, 50
_EARLY_S, _LATE_S = 0.0015, 0.0025


def rhythm_contradicts(start: FloatArray, latency: FloatArray, units: Units) -> UnitFinding | None:
    """Where nobody says who sent what: do requests begin when others end, if only latencies were smaller?

    The share of starts that an answer precedes by a moment is held against the same with latencies dealt
    anew among neighbours: arrivals that keep a beat of their own coincide as often then, and prove nothing.

    Args:
        start, latency: of the first requests, by start, shapes (n,), seconds.
    """
    start, latency = start[:_FOLLOW_ROWS], latency[:_FOLLOW_ROWS]
    if len(start) < 5 * FEWEST or _follows(start, latency)[1]:
        return None
    for factor in SMALLER:
        share, plainly = _follows(start, latency * factor)
        if plainly:
            return units.finding(
                "requests do not begin when others end",
                factor,
                f"{share:.0%} of them begin within {_LATE_S * 1e3:.0f} ms of another's end, as users do who wait",
            )
    return None


def _follows(start: FloatArray, latency: FloatArray) -> tuple[float, bool]:
    long = latency >= 2 * _LATE_S  # a shorter one would coincide with whatever begins beside it
    if np.count_nonzero(long) < 5 * FEWEST:
        return 0.0, False
    begins, lasts = start[long], latency[long]
    seen = _share(start, begins + lasts)
    rng = np.random.default_rng(0)
    blocks = np.arange(len(lasts)) // _NEIGHBOURS
    by_chance = np.array([
        _share(start, begins + lasts[np.lexsort((rng.random(len(lasts)), blocks))]) for _ in range(_SHUFFLES)
    ])  # fmt: skip
    spread = float(np.sqrt(by_chance.var(ddof=1) + 0.25 / len(start)))
    gain = seen - float(by_chance.mean())
    return seen, bool(seen >= 0.5 and gain >= 0.2 and gain >= 8 * spread)


def _share(start: FloatArray, end: FloatArray) -> float:
    """Share of starts with an end close before (or, clocks being rounded, just after) them."""
    ends = np.sort(end)
    return float(np.mean(
        np.searchsorted(ends, start + _EARLY_S, side="right") > np.searchsorted(ends, start - _LATE_S)
    ))  # fmt: skip


def pauses_contradict(
    start: FloatArray, latency: FloatArray, pauses: Sequence[Span], units: Units
) -> UnitFinding | None:
    """Pauses of the runtime's log that show in the answers only if latencies are in another unit.

    Args:
        start, latency: of requests, by start, shapes (n,), seconds. pauses: on the same clock.
    """
    if len(start) < 5 * FEWEST or _shows(start, latency, pauses):
        return None
    if _shows(start, np.zeros_like(latency), pauses):
        return (
            None  # users who wait send nothing through a pause: their requests show it whatever they lasted
        )
    for factor in (*SMALLER, LARGER):
        if _shows(start, latency * factor, pauses):
            return units.finding(
                "the pauses of the runtime's log do not show in the answers", factor, "they do"
            )
    return None


def _shows(start: FloatArray, latency: FloatArray, pauses: Sequence[Span]) -> bool:
    ordinary = float(np.median(latency))
    visible = [span for span in pauses if span[1] - span[0] >= 2 * ordinary]
    if len(visible) < MIN_PAUSES:
        return False
    found = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    return found.supports_attribution
