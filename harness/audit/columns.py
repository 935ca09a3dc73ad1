# SPDX-License-Identifier: Apache-2.0
"""Which quantity a column of a published table holds, from its name: ``latency_mean_ms``, ``go_errors_percent``.

A name is made of words with ``_`` between them: the quantity, at the end its unit, and what is left over names the
series that the column belongs to (``go``, ``java``, ``warm``), so that one row may hold several loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: Unit -> how many of the SI unit it is.
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
BYTES = {"b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9}
#: Words of a quantity -> its name in ``Figures``; the first that fits wins. Each kind of unit has its own.
_OF_TIMES = (
    (("latency", "mean"), "mean_s"),
    (("latency", "min"), "min_s"),
    (("latency", "max"), "max_s"),
    (("ramp", "up"), "ramp_up_s"),
    (("duration",), "duration_s"),
    (("ramp",), "ramp_up_s"),
    (("mean",), "mean_s"),
    (("min",), "min_s"),
    (("max",), "max_s"),
)
_OF_COUNTS = (
    (("most", "active"), "most_active"),
    (("users",), "users"),
    (("threads",), "users"),
    (("loops",), "loops"),
    (("requests",), "requests"),
    (("samples",), "requests"),
    (("recorded",), "recorded"),
    (("errors",), "errors"),
)
_OF_RATES = (
    (("throughput",), "rate_per_s"),
    (("answered",), "rate_per_s"),
    (("requests",), "rate_per_s"),
    (("offered",), "offered_per_s"),
)
_OF_SHARES = ((("errors",), "error_share"), (("error",), "error_share"))
_OF_BYTES = ((("rss", "start"), "rss_start"), (("rss", "end"), "rss_end"))
FORM = (
    "columns such as users, loops, ramp_up_s, throughput_per_s, latency_mean_ms, p99_ms, requests, errors, "
    "errors_percent, duration_s"
)


class Column(NamedTuple):
    """One column. ``quantity``: a field of ``Figures`` or ``Plan``, or ``p`` and ``share`` says which percentile."""

    series: str
    quantity: str
    factor: float
    share: float | None = None


def column_named(name: str) -> Column | None:
    """Return what a column holds; ``None``: a label, or a number that no law speaks of."""
    words = name.strip().lower().split("_")
    if words[-2:] == ["per", "s"]:
        return _found(words[:-2], _OF_RATES, 1.0)
    *rest, unit = words
    if unit == "percent":
        return _found(rest, _OF_SHARES, 0.01)
    if unit in TIMES and rest:
        return _percentile(rest, TIMES[unit]) or _found(rest, _OF_TIMES, TIMES[unit])
    if unit in BYTES and rest:
        return _found(rest, _OF_BYTES, BYTES[unit])
    return _found(words, _OF_COUNTS, 1.0)


def is_published(names: Sequence[str]) -> bool:
    """Tell whether a header is that of a table of loads: it has a rate or a latency with its unit."""
    found = [column for column in map(column_named, names) if column is not None]
    return any(column.quantity in {"rate_per_s", "mean_s", "p"} for column in found)


def _percentile(words: Sequence[str], factor: float) -> Column | None:
    """``p50``, ``p999`` (99.9 %) or ``p99.9``."""
    for at, word in enumerate(words):
        digits = word[1:].replace(".", "")
        if word[:1] == "p" and digits.isascii() and digits.isdigit():
            rest = [*words[:at], *words[at + 1 :]]
            series = "_".join(one for one in rest if one != "latency")
            return Column(series, "p", factor, float(f"0.{digits}"))
    return None


def _found(
    words: Sequence[str], known: Sequence[tuple[tuple[str, ...], str]], factor: float
) -> Column | None:
    for wanted, quantity in known:
        if all(word in words for word in wanted):
            series = "_".join(word for word in words if word not in wanted)
            return Column(series, quantity, factor)
    return None
