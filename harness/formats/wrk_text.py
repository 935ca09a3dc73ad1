# SPDX-License-Identifier: Apache-2.0
"""Read the text summary that wrk prints, with or without ``--latency``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.formats.source import SourceNotes, read_text_pieces
from harness.formats.table import AggregateRow, AggregateTable

#: wrk keeps microseconds and prints two decimals of a unit it chooses: 196.00us, 2.58ms, 1.20s.
RESOLUTION_S = 1e-6

_TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_SHOWN, _LARGEST = 40, 2.0**64
#: Blanks are not line ends here: a file of nothing but those would be looked through once from each of them.
_START = re.compile(r"^Running (\S+) test @ (\S+)$", re.MULTILINE)
_THREADS = re.compile(r"^[ \t]+Latency[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)%$", re.MULTILINE)
_QUANTILE = re.compile(r"^[ \t]+(\d+(?:\.\d+)?)%[ \t]+(\S+)$", re.MULTILINE)
_REQUESTS = re.compile(r"^[ \t]+(\d+) requests in (\S+), (\S+) read$", re.MULTILINE)
_SOCKET = re.compile(
    r"^[ \t]+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$", re.MULTILINE
)
_STATUS = re.compile(r"^[ \t]+Non-2xx or 3xx responses: (\d+)$", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec:[ \t]+(\S+)$", re.MULTILINE)


def looks_like_wrk(head: str) -> bool:
    """wrk's first line."""
    return _START.match(head) is not None


def parse_time_s(text: str) -> float:
    """``196.00us``, ``2.58ms``, ``1.20s``, ``1.50m`` in seconds.

    Raises:
        ValueError: not a time as wrk prints it.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)", text)
    if match is None:
        raise ValueError(f"not a time as wrk prints it: {text[:_SHOWN]!r}")
    return _finite(match.group(1), "a time") * _TIME_UNITS[match.group(2)]


def parse_count(text: str) -> float:
    """``28.98k``, ``1.20M`` or a plain number.

    Raises:
        ValueError: not a count as wrk prints it.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text)
    if match is None:
        raise ValueError(f"not a count as wrk prints it: {text[:_SHOWN]!r}")
    return _finite(match.group(1), "a count") * _SCALES[match.group(2)]


def _finite(digits: str, what: str) -> float:
    """A number of so many digits that it is no finite one was not printed by wrk: it has no more than 64 bits."""
    number = float(digits)
    if number > _LARGEST:
        raise ValueError(f"not {what} as wrk prints it: {digits[:_SHOWN]!r}")
    return number


@dataclass(frozen=True, kw_only=True)
class SummaryParts:
    """What wrk and wrk2 print alike. ``total`` carries the times that wrk prints."""

    total: AggregateRow
    errors_by_kind: dict[str, int]
    duration_s: float


def summary_parts(text: str) -> SummaryParts | None:
    """Counts, errors and duration of a summary; None when it is not complete.

    Raises:
        ValueError: a number is not as wrk prints it.
    """
    start, totals = _START.search(text), _REQUESTS.search(text)
    if start is None or totals is None:
        return None
    kinds = _kinds(text)
    total = _total(text, int(totals.group(1)))
    return SummaryParts(
        total=total.model_copy(update={"n_errors": sum(kinds.values()), "name": start.group(2)}),
        errors_by_kind=kinds,
        duration_s=parse_time_s(totals.group(2)),
    )


def read_wrk(path: Path) -> AggregateTable:
    """Read a saved summary of wrk. Times carry the two decimals that wrk printed.

    Raises:
        InputError: not wrk's, or wrk ended before it printed its totals.
    """
    text = b"".join(read_text_pieces(path, SourceNotes())).decode()
    try:
        parts = summary_parts(text)
    except ValueError as problem:
        raise InputError(str(problem), file=path, allowed="numbers as wrk 4 prints them") from problem
    if parts is None:
        started = _START.search(text) is not None
        raise InputError(
            "not a complete wrk summary",
            file=path,
            place="the line '... requests in ..., ... read'" if started else "line 1",
            found=text.strip().split("\n", 1)[0][:80],
            allowed="the text that wrk prints when it ends by itself",
        )
    return AggregateTable(
        path=path,
        source="wrk",
        kind="summary",
        total=parts.total,
        errors_by_kind=parts.errors_by_kind,
        duration_s=parts.duration_s,
        resolution_s=RESOLUTION_S,
        notes=("wrk prints no single requests; times carry two decimals of the printed unit",),
    )


def _total(text: str, n_requests: int) -> AggregateRow:
    spread, rate = _THREADS.search(text), _RATE.search(text)
    # wrk2 prints "-nanus" where its histogram was emptied and no answer came afterwards
    some = n_requests > 0 and spread is not None and "nan" not in spread.group(1)
    return AggregateRow(
        name="",
        n_requests=n_requests,
        n_errors=0,
        latency_mean_s=parse_time_s(spread.group(1)) if some and spread else None,
        latency_max_s=parse_time_s(spread.group(3)) if some and spread else None,
        latency_quantiles_s={f"p{m.group(1)}": parse_time_s(m.group(2)) for m in _QUANTILE.finditer(text)}
        if n_requests
        else {},
        answers_per_s=parse_count(rate.group(1)) if rate else None,
    )


def _kinds(text: str) -> dict[str, int]:
    kinds: dict[str, int] = {}
    socket, status = _SOCKET.search(text), _STATUS.search(text)
    if socket is not None:
        names = ("connect", "read", "write", "timeout")
        kinds |= {name: int(n) for name, n in zip(names, socket.groups(), strict=True) if int(n)}
    if status is not None:
        kinds["status"] = int(status.group(1))
    return kinds
