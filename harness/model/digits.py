# SPDX-License-Identifier: Apache-2.0
"""How many digits of a measured number are printed, and how an interval is written. The one place that rounds.

The rule: the interval's half-width has two significant digits, and the value and both bounds end at that decimal
place, ``67.188 (67.104 to 67.273)``. Where the half-width is larger than the value, the shorter side of the interval
stands for it, or a skew interval would leave no digit of the value: ``0.87 (0.02 to 36.40)``. A number without an
interval has three significant digits, a count all of them. An interval is written ``low to high``, in a sentence and
in a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import floor, isfinite, log10

#: Nobody reads more than this of a number that came without an interval.
WITHOUT_INTERVAL = 3
_OF_HALF_WIDTH = 2


def spoken(value: float, low: float | None = None, high: float | None = None, unit: str = "") -> str:
    """Return the value with its unit and, in brackets, its interval; a bound that is ``None`` is open.

    Args:
        unit: as it follows the number, with its space where it has one.
    """
    places = decimals(value, low, high)
    text = fixed(value, places) + unit
    inside = interval(low, high, places)
    return f"{text} ({inside})" if inside else text


def interval(low: float | None, high: float | None, places: int) -> str:
    """Return ``low to high`` with so many decimals, ``from low`` or ``up to high`` where one is open; or nothing."""
    if low is None or high is None:
        if high is not None:
            return f"up to {fixed(high, places)}"
        return "" if low is None else f"from {fixed(low, places)}"
    return f"{fixed(low, places)} to {fixed(high, places)}"


def plain(value: float, digits: int = WITHOUT_INTERVAL) -> str:
    """Return a number that has no interval: three significant digits, a whole number below a thousand in full."""
    if isinstance(value, int):
        return fixed(value, 0)
    return fixed(value, _place(value, digits))


def percent(share: float, digits: int = 2) -> str:
    """Return a share that has no interval as a percentage of two significant digits, with a space before the sign."""
    return f"{fixed(100 * share, max(_place(100 * share, digits), 0) if share else 0)} %"


def whole_percent(share: float) -> str:
    """Return a limit that was chosen, such as a margin, in whole percent."""
    return f"{fixed(100 * share, 0)} %"


def decimals(value: float, low: float | None = None, high: float | None = None) -> int:
    """Return how many decimals the rule leaves; negative: tens, hundreds..."""
    if low is None and high is None:
        return _place(value, WITHOUT_INTERVAL)
    sides = [abs(value - bound) for bound in (low, high) if bound is not None]
    half = sides[0]
    if low is not None and high is not None:
        half = abs(high - low) / 2
        if half > abs(value) and low < value < high:
            half = min(sides)
    if not half:
        return _place(value, WITHOUT_INTERVAL)
    return _place(half, _OF_HALF_WIDTH)


def fixed(value: float, places: int) -> str:
    """Return the value with that many decimals (negative: rounded to tens, hundreds...), thousands apart."""
    if not isfinite(value):
        return f"{value}".replace("-", "−")
    rounded = round(value, places) + 0.0
    text = f"{rounded:,.{max(places, 0)}f}"
    return text.replace("-", "−")


def _place(value: float, digits: int) -> int:
    """Return the decimal place of the given significant digit; 0.0996 has its second at 2, as it rounds to 0.10."""
    if not value or not isfinite(value):
        return 0
    place = digits - 1 - floor(log10(abs(value)))
    return digits - 1 - floor(log10(abs(round(value, place))))


def runs_of(numbers: Iterable[int], between: str = ",", to: str = "-") -> str:
    """Return rising whole numbers with runs of neighbours joined: ``0-2,5`` of 0, 1, 2 and 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return between.join(str(run[0]) if len(run) == 1 else f"{run[0]}{to}{run[-1]}" for run in runs)


_LEVEL_TEXTS: Mapping[tuple[str, str], str] = {
    ("logging", "off"): "no log line",
    ("logging", "on"): "a log line",
    ("warm-up", "none"): "no warm-up",
    ("loop", "open"): "open loop",
    ("loop", "closed"): "closed loop",
    ("connections", "per-statement"): "a connection a statement",
    ("connections", "per-statement-md5"): "a connection a statement, MD5",
    ("connections", "pool-20-md5"): "pool of 20, MD5",
}
_COUNTED: Mapping[str, tuple[re.Pattern[str], Callable[[int], str]]] = {
    "warm-up": (re.compile(r"calls-(\d+)"), lambda n: f"{fixed(n, 0)} warm-up calls"),
    "connections": (re.compile(r"pool-(\d+)"), lambda n: f"pool of {n}"),
    "users": (re.compile(r"share-(\d+)"), lambda n: f"{n} % of capacity"),
    "load": (re.compile(r"share-(\d+)"), lambda n: f"{n} % of capacity"),
}


def level_words(factor: str, level: object) -> str:
    """Return a level in words: ``1,000 warm-up calls`` for ``warm_up``, ``calls-1000``; else factor and level."""
    name, text = factor.replace("_", "-"), str(level)
    if (name, text) in _LEVEL_TEXTS:
        return _LEVEL_TEXTS[name, text]
    pattern, words = _COUNTED.get(name, (None, None))
    result = pattern.fullmatch(text) if pattern is not None else None
    return words(int(result[1])) if result is not None and words is not None else f"{name} {text}"


def cell_words(levels: Mapping[str, object]) -> str:
    """Return the levels of a cell in words, with commas; nothing where there is no factor."""
    return ", ".join(level_words(factor, level) for factor, level in levels.items())
