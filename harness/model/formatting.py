# SPDX-License-Identifier: Apache-2.0
"""How a number is printed: as many digits as its interval carries, in a unit a reader can picture; a verdict; and
parts of sentences.

Values stay unrounded; the digits are those of :mod:`harness.model.digits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from harness.model import Estimate, Verdict
from harness.model.age import YOUNG
from harness.model.base import Frozen
from harness.model.digits import decimals, fixed, interval, whole_percent

DASH = "–"
#: Why there is no number, and the words of a verdict that was not reached: the paper leaves out what speaks of them.
NOT_MEASURED, NOT_COMPARED = "not measured in this profile", "not compared with"
#: Of a ratio that something else than the services bounded.
NOT_ABOUT = Verdict.NOT_ABOUT_SERVICES.words
#: unit -> steps of (smallest magnitude, factor, name); the last one that fits is taken
_SCALES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "s": ((0.0, 1e6, "µs"), (1e-3, 1e3, "ms"), (1.0, 1.0, "s"), (600.0, 1 / 60, "min")),
    "s/request": ((0.0, 1e6, "µs"), (1e-3, 1e3, "ms"), (1.0, 1.0, "s")),
    "B": (
        (0.0, 1.0, "B"),
        (2.0**10, 2.0**-10, "KiB"),
        (2.0**20, 2.0**-20, "MiB"),
        (2.0**30, 2.0**-30, "GiB"),
    ),
    "1/s": ((0.0, 1.0, "/s"),),
    "ratio": ((0.0, 1.0, ""),),
    "1": ((0.0, 1.0, ""),),
    "": ((0.0, 1.0, ""),),
    "share": ((0.0, 100.0, "%"),),
    "relative": ((0.0, 100.0, "%"),),  # of something else, so it may be above 100 %: a spread, a half-width
}


class FormattedNumber(Frozen):
    """A number in words fit for print; plain Unicode, to be escaped for LaTeX."""

    text: str  # 12.3 ms; a dash when absent
    interval: str  # 12.3 ms (11.9 to 12.7); the same dash when absent
    bare: str  # 12.3 (11.9 to 12.7) without unit: a table's column heads carry it
    bounds: str = ""  # 11.9 to 12.7; empty when there is no interval
    unit: str
    reason: str | None = None  # why there is nothing to show


def scale_of(unit: str, magnitude: float) -> tuple[float, str]:
    """Return the factor and the name of the unit in which a value of this magnitude reads best; 0 has its own unit."""
    steps = _SCALES.get(unit, ((0.0, 1.0, unit),))
    if magnitude == 0 and (itself := [step for step in steps if step[1] == 1.0]):
        return itself[0][1], itself[0][2]
    fitting = [step for step in steps if abs(magnitude) >= step[0]]
    return fitting[-1][1], fitting[-1][2]


def show(estimate: Estimate, *, like: float | None = None) -> FormattedNumber:
    """Return the estimate as text.

    Args:
        like: magnitude that chooses the unit (in the estimate's own unit), so that a column is in one unit.
    """
    if estimate.value is None or not isfinite(estimate.value):
        reason = "; ".join(estimate.warnings) or "not measured"
        return FormattedNumber(text=DASH, interval=DASH, bare=DASH, unit=estimate.unit, reason=reason)
    factor, name = scale_of(estimate.unit, estimate.value if like is None else like)
    value = float(estimate.value * factor)
    low, high = (None if bound is None else bound * factor for bound in (estimate.low, estimate.high))
    is_count = low is None and high is None and estimate.unit in ("1", "") and value.is_integer()
    places = 0 if is_count else decimals(value, low, high)
    text = fixed(value, places)
    unit = joined(name)
    inside = interval(low, high, places)
    if not inside:
        return FormattedNumber(text=text + unit, interval=text + unit, bare=text, unit=name)
    open_end = ", open below" if low is None else ", open above" if high is None else ""
    return FormattedNumber(
        text=text + unit,
        interval=f"{text}{unit} ({inside}{open_end})",
        bare=f"{text} ({inside})",
        bounds=inside,
        unit=name,
    )


def joined(unit: str) -> str:
    """Return the unit as it follows a number: a narrow space before words, none before a slash."""
    if not unit:
        return ""
    return unit if unit.startswith("/") else f"\N{NARROW NO-BREAK SPACE}{unit}"


def verdict_words(
    ratio: Estimate, verdict: Verdict, *, margin: float | None, not_about: str | None, young: bool
) -> str:
    """Return words that fit in "X's throughput is ... Y's"; no margin: nothing is said to be equivalent.

    Of young processes they say so: ``in young processes higher than``.
    """
    side = "higher than" if ratio.value is not None and ratio.value > 1 else "lower than"
    why = f": {not_about}" if not_about else ""
    # the interval leaves out 1, and is of too few blocks among so many comparisons
    few = ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high
    words = {
        Verdict.DIFFERENT: side,
        Verdict.DIFFERENT_BUT_NEGLIGIBLE: f"negligibly {side}",
        Verdict.EQUIVALENT: f"equivalent (within {whole_percent(margin or 0)}) to",
        Verdict.INCONCLUSIVE: f"{'by so few blocks ' if few else ''}not shown to differ from",
        Verdict.NOT_ABOUT_SERVICES: f"without a verdict{why}, and not compared with",
    }[verdict]
    return f"in {YOUNG} processes {words}" if young else words


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """Return ``1 stall`` or ``2 stalls``."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def capital(text: str) -> str:
    """Return a text as it begins a sentence."""
    return text[:1].upper() + text[1:]
