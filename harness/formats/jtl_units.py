# SPDX-License-Identifier: Apache-2.0
"""In what unit a JMeter file's times are: time stamps tell it themselves, response times do not.

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
from typing import Literal

from harness.errors import InputError
from harness.formats.row_layout import EPOCH_MS, EPOCH_NS, EPOCH_S, EPOCH_US, PER_S

LatencyUnit = Literal["s", "ms", "us", "ns"]
Decimal = Literal[".", ","]
UNITS_PER_S: dict[LatencyUnit, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
NAMES = {EPOCH_S: "seconds", EPOCH_MS: "milliseconds", EPOCH_US: "microseconds", EPOCH_NS: "nanoseconds"}
#: First and last moment that a load test of ours or anybody's can have been at, epoch seconds.
ERA_S = (datetime(2000, 1, 1, tzinfo=UTC).timestamp(), datetime(2100, 1, 1, tzinfo=UTC).timestamp())
SAY_UNIT = "say the unit of elapsed: --latency-unit s (or ms, us, ns)"
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"\d+,\d+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Written:
    """How response times are written."""

    whole: bool
    units_per_s: float
    decimals: int


@dataclass(frozen=True, kw_only=True)
class How:
    """What somebody said of how a file's numbers are written; ``None``: nothing."""

    unit: LatencyUnit | None = None
    decimal: Decimal | None = None

    def plain(self, number: str) -> str:
        """Return a number with a point before its fraction."""
        return number.replace(",", ".", 1) if self.decimal == "," else number


def decimal_named(text: str | None) -> Decimal | None:
    """Return this sign between whole numbers and fractions.

    Raises:
        InputError: it is no such sign.
    """
    signs: dict[str | None, Decimal | None] = {None: None, ".": ".", ",": ","}
    if text in signs:
        return signs[text]
    raise InputError("no such sign before a fraction", place="--decimal", found=text, allowed=". or ,")


def latency_unit_named(text: str | None) -> LatencyUnit | None:
    """Return the unit of that name.

    Raises:
        InputError: there is none.
    """
    for unit in UNITS_PER_S:
        if unit == text:
            return unit
    if text is not None:
        raise InputError("no such unit", place="--latency-unit", found=text, allowed=", ".join(UNITS_PER_S))
    return None


def in_era(seconds: float) -> bool:
    """Tell whether this is a time stamp of the years 2000 to 2099."""
    return ERA_S[0] <= seconds < ERA_S[1]


def era_unit(number: float) -> str | None:
    """Return the one unit in which a number is a time between 2000 and 2100; ``None``: it is in none."""
    return next((unit for unit, per_s in PER_S.items() if in_era(number / per_s)), None)


def epoch_unit(stamps: Sequence[str], path: Path) -> tuple[str, tuple[str, ...]] | None:
    """Return the unit of numeric time stamps and what is to be said about it; ``None``: they are no numbers.

    Raises:
        InputError: in JMeter's unit they lie after the year 2100, and no other unit mends it.
    """
    numbers = [stamp for stamp in stamps if _NUMBER.fullmatch(stamp)]
    if 2 * len(numbers) <= len(stamps):
        return None
    typical = median(map(float, numbers))
    shown = numbers[0]
    unit = era_unit(typical)
    if unit == EPOCH_MS:
        return unit, ()
    if unit is not None:
        return unit, (
            f"column timeStamp: {shown} was read as {NAMES[unit]} since 1970; in milliseconds, as JMeter writes "
            f"them, it would be {_when(typical / 1e3)}",
        )
    if typical / 1e3 >= ERA_S[1]:
        raise InputError(
            f"not a time between 2000 and 2100 in any unit; in milliseconds it would be {_when(typical / 1e3)}",
            file=path,
            place="column timeStamp",
            found=shown,
            allowed="milliseconds since 1970, such as 1795261972662",
        )
    return EPOCH_MS, (
        f"column timeStamp: {shown} is {_when(typical / 1e3)} in milliseconds, and no time between 2000 and 2100 in "
        "any unit: it counts from another moment, so no runtime's log can be laid beside it",
    )


def latency_columns(texts: Sequence[str], how: How, path: Path) -> Written:
    """Return how response times are written, from the first of them.

    Raises:
        InputError: they have fractions, which JMeter never writes, and nobody said the unit or the decimal comma.
    """
    commas = [text for text in texts if _DECIMAL_COMMA.fullmatch(text)]
    if commas and how.decimal != "," and 2 * len(commas) > len(texts):
        said = "--decimal ," if how.unit is not None else "--decimal , --latency-unit ms (or s, us, ns)"
        raise InputError(
            "has a decimal comma", file=path, place="column elapsed", found=commas[0], allowed=said
        )
    unit = how.unit
    numbers = [text for text in map(how.plain, texts) if _NUMBER.fullmatch(text)]
    broken = [text for text in numbers if "." in text]
    decimals = max((len(text.split(".")[1]) for text in broken), default=0)
    if unit is not None:
        return Written(whole=False, units_per_s=UNITS_PER_S[unit], decimals=decimals)
    if broken and 2 * len(broken) > len(texts):
        raise InputError(
            f"not a whole number, but JMeter writes whole milliseconds; in seconds it would be "
            f"{float(broken[0]) * 1e3:g} ms",
            file=path,
            place="column elapsed",
            found=broken[0],
            allowed=SAY_UNIT,
        )
    return Written(whole=True, units_per_s=UNITS_PER_S["ms"], decimals=0)


def _when(seconds: float) -> str:
    try:
        return f"the year {datetime.fromtimestamp(seconds, UTC).year}"
    except (ValueError, OverflowError, OSError):  # beyond the year 9999
        return "after the year 9999"
