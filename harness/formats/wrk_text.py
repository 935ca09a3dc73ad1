# SPDX-License-Identifier: Apache-2.0
"""Read the text summary that wrk prints, with or without ``--latency``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.formats.source import TextFile, text_file
from harness.formats.table import AggregateRow, AggregateTable, LatencyBounds

#: wrk keeps microseconds and prints two decimals of a unit it chooses: 196.00us, 2.58ms, 1.20s.
RESOLUTION_S = 1e-6

_TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_SHOWN, _LARGEST = 40, 2.0**64
#: wrk pads a unit of one letter with a blank behind it: ``2.80s ``.
#: Blanks are not line ends here: a file of nothing but those would be looked through once from each of them.
_START = re.compile(r"^Running (\S+) test @ (\S+)$", re.MULTILINE)
_CONNECTIONS = re.compile(r"^[ \t]+\d+ threads and (\d+) connections[ \t]*$", re.MULTILINE)
_THREADS = re.compile(r"^[ \t]+Latency[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)%[ \t]*$", re.MULTILINE)
_LATENCIES = re.compile(r"^[ \t]+Latency Distribution[ \t]*$", re.MULTILINE)
_QUANTILE = re.compile(r"^[ \t]+(\d+(?:\.\d+)?)%[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_REQUESTS = re.compile(r"^[ \t]+(\d+) requests in (\S+), (\S+) read[ \t]*$", re.MULTILINE)
_SOCKET = re.compile(
    r"^[ \t]+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)[ \t]*$", re.MULTILINE
)
_STATUS = re.compile(r"^[ \t]+Non-2xx or 3xx responses: (\d+)[ \t]*$", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec:[ \t]+(\S+)[ \t]*$", re.MULTILINE)
#: Errors that come beside the answers. A timeout is an answer that came late: wrk counts it among its requests.
_WITHOUT_ANSWER = ("connect", "read", "write")
#: Percentiles that are bounded where wrk's own are not of requests.
_BOUNDED = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)


def looks_like_wrk(line: str) -> bool:
    """wrk's first line."""
    return _START.fullmatch(line) is not None


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
    connections: int | None

    @property
    def late(self) -> int:
        """Answers that came after wrk's timeout. Of wrk2 the same word means something else."""
        return min(self.errors_by_kind.get("timeout", 0), self.total.n_requests - self.total.n_unanswered)


def summary_parts(text: str) -> SummaryParts | None:
    """Counts, errors and duration of a summary; None when it is not complete.

    Raises:
        ValueError: a number is not as wrk prints it, or there are several summaries.
    """
    starts, totals = list(_START.finditer(text)), _REQUESTS.search(text)
    if len(starts) > 1:
        lines = " and line ".join(str(text.count("\n", 0, start.start()) + 1) for start in starts[:2])
        raise ValueError(f"holds {len(starts)} runs: one begins at line {lines}")
    if not starts or totals is None:
        return None
    kinds = _kinds(text)
    answers = int(totals.group(1))
    _finite(totals.group(1), "a count")
    n_unanswered = sum(kinds.get(kind, 0) for kind in _WITHOUT_ANSWER)
    # A timeout may also have another status: no more answers failed than came.
    n_failed = min(answers, kinds.get("status", 0) + kinds.get("timeout", 0))
    counts = {
        "n_requests": answers + n_unanswered,
        "n_errors": n_unanswered + n_failed,
        "n_unanswered": n_unanswered,
        "name": starts[0].group(2),
    }
    connections = _CONNECTIONS.search(text)
    return SummaryParts(
        total=_total(text[: totals.start()], answers, _RATE.search(text)).model_copy(update=counts),
        errors_by_kind=kinds,
        duration_s=parse_time_s(totals.group(2)),
        connections=None if connections is None else int(connections.group(1)),
    )


def read_parts(file: TextFile, tool: str) -> SummaryParts:
    """Return the parts of a summary of wrk or wrk2.

    Raises:
        InputError: it holds several, or ended before its totals.
    """
    text = file.text()
    try:
        parts = summary_parts(text)
    except ValueError as problem:
        raise InputError(
            str(problem), file=file.path, allowed=f"one run in a file, with numbers as {tool} prints them"
        ) from problem
    if parts is None:
        started = _START.search(text) is not None
        raise InputError(
            f"not a complete {tool} summary",
            file=file.path,
            place="the line '... requests in ..., ... read'" if started else f"line {file.first_line}",
            found=file.first[:80],
            allowed=f"the text that {tool} prints when it ends by itself; autocannon, which begins alike: --json",
        )
    return parts


def read_wrk(path: Path | TextFile) -> AggregateTable:
    """Read a saved summary of wrk. Times carry the two decimals that wrk printed.

    Raises:
        InputError: not wrk's, or wrk ended before it printed its totals.
    """
    file = text_file(path)
    parts = read_parts(file, "wrk")
    answers = parts.total.n_requests - parts.total.n_unanswered
    n_latencies = answers - parts.late
    text = (
        f"{parts.late:,} timeouts are answers that came late: wrk counts them among its requests, and its latencies "
        f"are of the other {n_latencies:,}",
    ) * (parts.late > 0)
    none: dict[str, object] = {"latency_mean_s": None, "latency_max_s": None, "latency_quantiles_s": {}}
    return AggregateTable(
        path=file.path,
        source="wrk",
        kind="summary",
        total=parts.total if n_latencies else parts.total.model_copy(update=none),
        n_latencies=n_latencies,
        bounds=_bounds(parts),
        errors_by_kind=parts.errors_by_kind,
        duration_s=parts.duration_s,
        users=parts.connections,
        resolution_s=RESOLUTION_S,
        notes=(
            "wrk prints no single requests; times carry two decimals of the printed unit",
            *text,
            *file.remarks,
        ),
    )


def _bounds(parts: SummaryParts) -> LatencyBounds | None:
    """What wrk's latencies are at most, without the requests that it adds; ``None``: it added none.

    Where a latency is above twice the interval ``e`` that a connection had from answer to answer, wrk counts
    requests that were never sent, all of them above ``e`` (:mod:`harness.formats.wrk_histogram`). By Little's law the
    requests' mean is no more than ``e``. So wrk adds fewer requests than there were, and no more than twice the
    share beyond a printed percentile are beyond it; and no more than ``e / x`` of all are beyond ``x``. Its latencies
    leave out the late answers, and all shares are of the others.
    """
    total = parts.total
    answers = total.n_requests - total.n_unanswered
    measured = answers - parts.late
    if not measured or total.latency_max_s is None:
        return None
    if parts.connections is None:
        return LatencyBounds(
            reason="wrk adds requests that were never sent to its latencies; without the line of its connections "
            "nothing can be said of those that were",
            most_s={},
        )
    interval_s = parts.connections * parts.duration_s / answers
    if not interval_s or total.latency_max_s <= 2 * interval_s:
        return None
    printed = {float(name[1:]): value for name, value in total.latency_quantiles_s.items()}
    printed[100.0] = total.latency_max_s
    most_s = {"mean": interval_s}
    for share in _BOUNDED:
        beyond = 100 - share
        half = min(at for at in printed if at >= 100 - beyond * measured / (measured + answers))
        most = [printed[half], interval_s * answers / measured / (beyond / 100)]
        most += [value for at, value in printed.items() if at >= share and value <= interval_s]
        most_s[f"p{share:g}"] = min(most)
    mean = total.latency_mean_s or 0.0
    contradiction = (
        f"a mean of {mean * 1e3:.3g} ms would need {mean / interval_s * parts.connections:.3g} connections, "
        f"and there were {parts.connections}"
        if mean > interval_s
        else f"its slowest answer took more than twice the {interval_s * 1e3:.3g} ms that each of its "
        f"{parts.connections} connections had for an answer"
    )
    return LatencyBounds(
        reason=f"wrk adds requests that were never sent to its latencies, so its mean and percentiles are not those of "
        f"requests: {contradiction}",
        most_s=most_s,
    )


def _total(text: str, answers: int, rate: re.Match[str] | None) -> AggregateRow:
    """Times of the text that precedes the totals, and the rate."""
    spread, distribution = _THREADS.search(text), _LATENCIES.search(text)
    # wrk2 prints "-nanus" where its histogram was emptied and no answer came afterwards
    some = answers > 0 and spread is not None and "nan" not in spread.group(1)
    listed = text[distribution.end() :] if distribution is not None and answers else ""
    return AggregateRow(
        name="",
        n_requests=answers,
        n_errors=0,
        latency_mean_s=parse_time_s(spread.group(1)) if some and spread else None,
        latency_max_s=parse_time_s(spread.group(3)) if some and spread else None,
        latency_quantiles_s={f"p{m.group(1)}": parse_time_s(m.group(2)) for m in _QUANTILE.finditer(listed)},
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
