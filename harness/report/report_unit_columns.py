# SPDX-License-Identifier: Apache-2.0
"""What the other columns of the same rows say against the unit in which their response times are read.

A thread cannot be busy for longer than the time that passed, a first byte comes no later than the last,
and a user that waits sends when its answer has come.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from harness.formats.jtl_other_columns import JtlSides
from harness.report.units import FEWEST, LARGER, SMALLER, UnitFinding, Units

FloatArray = npt.NDArray[np.float64]

#: Rows that sum up others, and files joined under the same names, make a thread several times as busy as one
#: thing at a time can: a few times, not this often. A wrong unit makes it a thousand times.
MOST_BUSY = 10.0
_FEWEST_STEPS = 5.0


def contradictions(sides: JtlSides, units: Units) -> tuple[UnitFinding, ...]:
    """Return what the other columns of the same rows say against the unit of the response times."""
    checks: tuple[Callable[[JtlSides, Units], UnitFinding | None], ...] = (
        _threads_too_busy,
        _more_outstanding_than_threads,
        _first_byte_after_the_last,
        _first_byte_is_the_same_number,
        _intervals_follow_in_seconds,
    )
    return tuple(found for check in checks if (found := check(sides, units)) is not None)


def _threads_too_busy(sides: JtlSides, units: Units) -> UnitFinding | None:
    """A thread does one thing at a time: from start to start it cannot have been busy for longer than that."""
    if sides.thread is None:
        return None
    busy, gap = _pairs(sides)
    n = len(busy)
    if n < FEWEST:
        return None
    share = float(busy.sum()) / (float(gap.sum()) + n * 0.001)
    if share <= MOST_BUSY:
        return None
    factor = next((f for f in SMALLER if share * f <= MOST_BUSY / 5), None)
    return units.finding(
        f"threads would have been busy for {share:,.0f} times the time that passed between their requests",
        factor,
        f"it would be {share * (factor or 1):.2g} times",
    )


def _more_outstanding_than_threads(sides: JtlSides, units: Units) -> UnitFinding | None:
    """Little's law: no more requests are outstanding than there are threads to wait for them."""
    if sides.all_threads is None or sides.n_requests < FEWEST:
        return None
    known = sides.all_threads[np.isfinite(sides.all_threads)]
    if not len(known) or known.max() < 1:
        return None
    if sides.thread is not None and len(_pairs(sides)[0]) >= FEWEST:
        return None  # the threads themselves were asked
    lasted = float((sides.start_s + sides.latency_s).max() - sides.start_s.min())
    outstanding = float(sides.latency_s.sum()) / max(lasted, 1e-3)
    most = float(known.max())
    if outstanding <= MOST_BUSY * most:
        return None
    factor = next((f for f in SMALLER if outstanding * f <= most), None)
    return units.finding(
        f"{outstanding:,.0f} requests would have been outstanding on average, of {most:,.0f} threads (allThreads)",
        factor,
        f"about {outstanding * (factor or 1):.2g}",
    )


def _first_byte_after_the_last(sides: JtlSides, units: Units) -> UnitFinding | None:
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


def _first_byte_is_the_same_number(sides: JtlSides, units: Units) -> UnitFinding | None:
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


def _intervals_follow_in_seconds(sides: JtlSides, units: Units) -> UnitFinding | None:
    """A thread that waits begins its next request when the answer has come: a thousand times later than read."""
    if sides.thread is None:
        return None
    busy, gap = _pairs(sides)
    if len(busy) < 30 or len(np.unique(busy)) < 3 or np.ptp(gap) <= 0:
        return None
    step = LARGER / units.units_per_s
    late, slack = gap - busy * LARGER, 0.02 + 0.05 * busy * LARGER
    # Whole seconds may have been rounded or cut.
    follows = (late >= -0.6 * step - slack) & (late <= 1.05 * step + slack)
    tells = float(gap.std()) > step + float(np.median(slack))
    if follows.mean() < 0.9 or not tells or float(np.corrcoef(busy, gap)[0, 1]) < 0.9:
        return None
    return units.finding(
        f"each thread's next request begins {LARGER:,.0f} times as much later, in {follows.mean():.0%} of "
        f"{len(busy):,} cases",
        LARGER,
        "it begins when the answer has come",
    )


def _pairs(sides: JtlSides) -> tuple[FloatArray, FloatArray]:
    """Of requests that another one of the same thread follows: latency, and time from start to start."""
    assert sides.thread is not None  # asked by the callers
    order = np.lexsort((sides.start_s, sides.thread))
    same = np.diff(sides.thread[order]) == 0
    return sides.latency_s[order][:-1][same], np.diff(sides.start_s[order])[same]
