# SPDX-License-Identifier: Apache-2.0
"""How a report writes numbers: by the rule of :mod:`harness.model.digits`, and nothing finer than the tool's clock."""

from __future__ import annotations

import math

from harness.model.digits import decimals, fixed, plain, spoken
from harness.model.digits import percent as percent_of

NOT_SAID = "-"


def milliseconds(
    value: float | None, bounds: tuple[float, float] | None = None, *, resolution_ms: float = 0.0
) -> str:
    """Return a latency without its unit; one below the tool's resolution as ``< 1``, ``None`` as a dash.

    Args:
        bounds: its interval. resolution_ms: the tool's smallest step; 0 for a mean, which is finer than that.
    """
    if value is None:
        return NOT_SAID
    if value < resolution_ms:
        return f"< {resolution_ms:g}"
    return fixed(value, _places(value, bounds, resolution_ms))


def interval(value: float | None, bounds: tuple[float, float] | None, *, resolution_ms: float = 0.0) -> str:
    """Return ``low to high`` with the digits of the value; empty without an interval."""
    if value is None or bounds is None:
        return ""
    places = _places(value, bounds, resolution_ms)
    low, high = (f"< {resolution_ms:g}" if end < resolution_ms else fixed(end, places) for end in bounds)
    return f"{low} to {high}"


def rate(per_s: float) -> str:
    """Return a rate, in three digits."""
    return plain(per_s)


def length(milliseconds_: float) -> str:
    """Return a span of time with its unit, in three digits."""
    if milliseconds_ >= 1e3:
        return f"{plain(milliseconds_ / 1e3)} s"
    return f"{plain(milliseconds_)} ms"


def resolution(milliseconds_: float) -> str:
    """Return a tool's smallest step with the unit that needs no zeros."""
    for unit, per_ms in (("s", 1e-3), ("ms", 1.0), ("us", 1e3), ("ns", 1e6)):
        if milliseconds_ * per_ms >= 1 - 1e-9:
            return f"{milliseconds_ * per_ms:.3g} {unit}"
    return f"{milliseconds_ * 1e6:.3g} ns"


def percent(share: float) -> str:
    """Return a share from 0 to 1 in percent: two digits, and never 0 or 100 for what is neither."""
    if 0 < share < 1e-4:
        return "< 0.01 %"
    text = percent_of(share)
    return "> 99.9 %" if share < 1 and text == percent_of(1.0) else text


def percent_between(share: float, low: float | None = None, high: float | None = None) -> str:
    """Return a share, or a reduction, in percent with its interval in brackets; without one as :func:`percent`."""
    if low is None or high is None:
        return percent(share)
    return spoken(100 * share, 100 * low, 100 * high, " %")


def _places(value: float, bounds: tuple[float, float] | None, resolution_ms: float) -> int:
    """Return the decimals of the rule, and no more than the tool's smallest step has."""
    places = decimals(value, *(bounds or (None, None)))
    return places if resolution_ms <= 0 else min(places, max(0, math.ceil(-math.log10(resolution_ms) - 1e-9)))
