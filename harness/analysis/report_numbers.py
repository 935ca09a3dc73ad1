# SPDX-License-Identifier: Apache-2.0
"""How a report writes numbers: two digits of an interval's half-width, and nothing finer than the tool's clock."""

from __future__ import annotations

import math

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
    decimals = min(_decimals(value, bounds), _decimals_of_step(resolution_ms))
    return f"{value:,.{decimals}f}"


def interval(value: float | None, bounds: tuple[float, float] | None, *, resolution_ms: float = 0.0) -> str:
    """Return ``low to high`` with the digits of the value; empty without an interval."""
    if value is None or bounds is None:
        return ""
    decimals = min(_decimals(value, bounds), _decimals_of_step(resolution_ms))
    low, high = (f"< {resolution_ms:g}" if end < resolution_ms else f"{end:,.{decimals}f}" for end in bounds)
    return f"{low} to {high}"


def length(milliseconds_: float) -> str:
    """Return a span of time with its unit, in three digits."""
    if milliseconds_ >= 1e3:
        return f"{significant(milliseconds_ / 1e3)} s"
    return f"{significant(milliseconds_)} ms"


def resolution(milliseconds_: float) -> str:
    """Return a tool's smallest step with the unit that needs no zeros."""
    for unit, per_ms in (("s", 1e-3), ("ms", 1.0), ("us", 1e3), ("ns", 1e6)):
        if milliseconds_ * per_ms >= 1 - 1e-9:
            return f"{milliseconds_ * per_ms:.3g} {unit}"
    return f"{milliseconds_ * 1e6:.3g} ns"


def significant(value: float, digits: int = 3) -> str:
    """Return a number in so many digits, and all of those before its point."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{digits}g}")  # 99.96 has as many places before its point as 100
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"


def percent(share: float) -> str:
    """Return a share from 0 to 1 in percent: two digits, and never 0 or 100 for what is neither."""
    if 0 < share < 1e-4:
        return "< 0.01 %"
    text = significant(share * 100, 2)
    return f"{text} %" if share in {0, 1} or float(text) < 100 else "> 99.9 %"


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """Return ``1 stall`` or ``2 stalls``."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def _decimals(value: float, bounds: tuple[float, float] | None) -> int:
    half = (bounds[1] - bounds[0]) / 2 if bounds is not None else 0.0
    if half > 0:
        return min(6, max(0, 1 - math.floor(math.log10(half))))
    return min(6, max(0, 2 - math.floor(math.log10(abs(value))))) if value else 0


def _decimals_of_step(resolution_ms: float) -> int:
    return 6 if resolution_ms <= 0 else max(0, math.ceil(-math.log10(resolution_ms) - 1e-9))
