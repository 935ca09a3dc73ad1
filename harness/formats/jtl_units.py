# SPDX-License-Identifier: Apache-2.0
"""How the times and numbers of a file of rows are written: units, dates, decimal signs.

A time stamp between the years 2000 and 2100 has another number of digits in each unit, so its unit
is certain. A response time of 250 may be anything: JMeter writes whole milliseconds, and a file
that passed through a script is in milliseconds until somebody says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

import numpy as np

from harness.errors import InputError
from harness.formats.row_layout import PER_S, parse_start

LatencyUnit = Literal["s", "ms", "us", "ns"]
Decimal = Literal[".", ","]
UNITS_PER_S: dict[LatencyUnit, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: First and last moment that a load test of ours or anybody's can have been at, epoch seconds.
ERA_S = (datetime(2000, 1, 1, tzinfo=UTC).timestamp(), datetime(2100, 1, 1, tzinfo=UTC).timestamp())
#: A time stamp farther than this from those of the first rows is none: a clock or a writer was not set.
FAR_S = 3 * 366 * 86400.0
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d+(?:\.0+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"\d+,\d+", re.ASCII)
_IN_GROUPS = re.compile(r"[1-9]\d{0,2}(?:([,.' \u00a0\u202f])\d{3})(?:\1\d{3})*", re.ASCII)

_DATES = ("%Y/%m/%d", "%Y-%m-%d", "%m/%d/%y", "%m/%d/%Y", "%d.%m.%Y", "%d/%m/%y", "%d/%m/%Y", "%d-%m-%Y")
_ISO = ("%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S")
#: Dates: JMeter's own list for reading, and the forms met most often elsewhere. No zone: read as UTC.
TIME_FORMATS = (
    *(
        f"{date} {time}"
        for date in _DATES
        for time in ("%H:%M:%S.%f", "%H:%M:%S", "%H:%M:%S,%f", "%I:%M:%S %p")
    ),
    *_ISO,
)


class Written(NamedTuple):
    """How response times are written; ``thousands``: between groups of three digits."""

    whole: bool
    units_per_s: float
    decimals: int
    thousands: str


@dataclass(frozen=True, kw_only=True)
class NumberStyle:
    """What the user, or the name of the column, says of how a file's numbers are written; ``None``: nothing."""

    unit: LatencyUnit | None = None
    decimal: Decimal | None = None

    def plain(self, number: str) -> str:
        """Return a number with a point before its fraction."""
        return number.replace(",", ".", 1) if self.decimal == "," else number


NOTHING_SAID = NumberStyle()


def how_named(unit: str | None, decimal: str | None) -> NumberStyle:
    """Return what ``--latency-unit`` and ``--decimal`` say; raises InputError: there is no such unit or sign."""
    if unit not in {None, *UNITS_PER_S}:
        raise InputError("no such unit", place="--latency-unit", found=unit, allowed=", ".join(UNITS_PER_S))
    if decimal not in {None, ".", ","}:
        raise InputError("no such sign before a fraction", place="--decimal", found=decimal, allowed=". or ,")
    return NumberStyle(unit=unit, decimal=decimal)  # type: ignore[arg-type]  # as was looked at


def in_era(seconds: float) -> bool:
    """Tell whether this is a time stamp of the years 2000 to 2099."""
    return ERA_S[0] <= seconds < ERA_S[1]


def era_unit(number: float) -> str | None:
    """Return the one unit in which a number is a time between 2000 and 2100; ``None``: it is in none."""
    return next((unit for unit, per_s in PER_S.items() if in_era(number / per_s)), None)


def time_format(stamps: Sequence[str], path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the form of the time stamps of the first rows, and notes on it; raises InputError: no form is known that
    reads them."""
    given = [stamp for stamp in stamps if stamp]
    if not given:
        return "ms", ()
    unit = _epoch_unit(given, path)
    if unit is not None and n_read(given, unit[0]):
        return unit
    scores = {time: n_read(given, time) for time in ("ms", *TIME_FORMATS)}
    most = max(scores.values())
    if most == 0:
        raise InputError(
            "time stamps in a form not known here",
            file=path,
            place="column timeStamp",
            found=given[0],
            allowed="milliseconds since 1970, or dates like 2026/11/21 10:33:00.123; "
            "run JMeter with -Jjmeter.save.saveservice.timestamp_format=ms",
        )
    alike = [time for time, score in scores.items() if score == most]
    if alike[0] == "ms" or alike[0].endswith("%z"):
        return alike[0], ()
    spans = {time: float(np.ptp(_times_s(given, time))) for time in alike}
    best = min(alike, key=lambda time: spans[time])
    notes = ["the time stamps are dates without a time zone: read as UTC"]
    if len(alike) > 1:
        order = "day" if best.startswith("%d") else "month"
        why = "for that makes the file shorter"
        why = why if len(set(spans.values())) > 1 else "which is a guess: its dates do not tell"
        notes.append(f"dates such as {given[0]} were read {order} first, {why}")
    return best, tuple(notes)


def n_read(stamps: Sequence[str], time: str) -> int:
    """Return how many of these texts are time stamps of that form."""
    return len(_times_s(stamps, time))


def _times_s(stamps: Sequence[str], time: str) -> list[float]:
    return [at for at in (parse_start(stamp, time) for stamp in stamps) if at is not None]


def era_around(stamps: Sequence[str], time: str) -> tuple[float, float] | None:
    """Return the first and last moment that is near these stamps, epoch seconds; ``None``: they are no real times."""
    middle = median(_times_s(stamps, time) or [0.0])
    return (middle - FAR_S, middle + FAR_S) if in_era(middle) else None


def _epoch_unit(stamps: Sequence[str], path: Path) -> tuple[str, tuple[str, ...]] | None:
    """Return the unit of numeric time stamps and what is to be said about it; ``None``: they are no numbers; raises
    InputError: in JMeter's unit they lie after the year 2100, and no other unit mends it."""
    numbers = [stamp for stamp in stamps if _NUMBER.fullmatch(stamp)]
    if 2 * len(numbers) <= len(stamps):
        return None
    typical, shown, place = median(map(float, numbers)), numbers[0], "column timeStamp"
    unit, in_ms = era_unit(typical), _when(typical / 1e3)
    if unit == "ms":
        return unit, ()
    if unit is not None:
        return unit, (
            f"{place}: {shown} was read as {NAMES[unit]} since 1970; in milliseconds, as JMeter writes them, it would "
            f"be {in_ms}",
        )
    if typical / 1e3 >= ERA_S[1]:
        raise InputError(
            f"not a time between 2000 and 2100 in any unit; in milliseconds it would be {in_ms}",
            file=path,
            place=place,
            found=shown,
            allowed="milliseconds since 1970, such as 1795261972662",
        )
    return "ms", (
        f"{place}: {shown} is {in_ms} in milliseconds, and no time between 2000 and 2100 in any unit: it counts from "
        "another moment, so no runtime's log can be laid beside it",
    )


def latency_columns(texts: Sequence[str], how: NumberStyle, path: Path, column: str = "elapsed") -> Written:
    """Return how response times are written, from the first of them; raises InputError: they have fractions, which
    JMeter never writes, and nobody said the unit or the decimal comma."""

    def refused(problem: str, text: str, allowed: str) -> InputError:
        return InputError(problem, file=path, place=f"column {column}", found=text, allowed=allowed)

    thousands = _thousands(texts) if how.decimal is None else ""
    if thousands:
        texts = [text.replace(thousands, "") for text in texts]
    commas = [text for text in texts if _DECIMAL_COMMA.fullmatch(text)]
    if commas and how.decimal != "," and 2 * len(commas) > len(texts):
        option = "--decimal ," if how.unit is not None else "--decimal , --latency-unit ms (or s, us, ns)"
        if not all(_IN_GROUPS.fullmatch(text) for text in commas):
            raise refused("has a decimal comma", commas[0], option)
        problem = "has commas before three digits: a fraction, or thousands?"
        raise refused(problem, commas[0], f"numbers without a sign between thousands; of fractions {option}")
    numbers = [text for text in map(how.plain, texts) if _NUMBER.fullmatch(text)]
    broken = [text for text in numbers if not _WHOLE.fullmatch(text)]
    if how.unit is not None:
        decimals = max((len(text.split(".")[1]) for text in broken), default=0)
        return Written(whole=False, units_per_s=UNITS_PER_S[how.unit], decimals=decimals, thousands=thousands)
    if broken and 2 * len(broken) > len(texts):
        in_s = f"in seconds it would be {float(broken[0]) * 1e3:g} ms"
        problem = f"not a whole number, but JMeter writes whole milliseconds; {in_s}"
        raise refused(problem, broken[0], "say the unit of elapsed: --latency-unit s (or ms, us, ns)")
    return Written(whole=True, units_per_s=UNITS_PER_S["ms"], decimals=0, thousands=thousands)


def _thousands(texts: Sequence[str]) -> str:
    """The sign between groups of three digits; empty: there is none for sure.

    For sure: every number with the sign has whole groups behind it, and every number without one is below 1,000.
    A fraction would have other lengths, or a zero before it.
    """
    matches = [_IN_GROUPS.fullmatch(text) for text in texts]
    signs = {match[1] for match in matches if match is not None}
    plain = [text for text, match in zip(texts, matches, strict=True) if match is None and text]
    sure = len(signs) == 1 and plain and all(text.isdigit() and len(text) <= 3 for text in plain)
    return signs.pop() if sure else ""


def _when(seconds: float) -> str:
    try:
        return f"the year {datetime.fromtimestamp(seconds, UTC).year}"
    except (ValueError, OverflowError, OSError):  # beyond the year 9999
        return "after the year 9999"
