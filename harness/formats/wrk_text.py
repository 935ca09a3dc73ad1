# SPDX-License-Identifier: Apache-2.0
"""Read the text summaries that wrk and wrk2 print, wrk's with or without ``--latency``.

wrk2 empties its histogram after a calibration of ten seconds and 5 ms for each connection of a thread: in a longer
run the latencies are of what came after, while requests and errors are counted from the start. The first answer of a
thread after the end is counted, and is not in the histogram. ``n_latencies`` tells how many are.

A timeout of wrk is an answer that came late. wrk2's are no requests: every two seconds it counts each connection on
which nothing was sent for longer than ``--timeout``, one that never connected and one that has nothing to send.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from harness.errors import InputError
from harness.formats.source import TextFile, text_file
from harness.formats.table import AggregateRow, AggregateTable, LatencyBounds

#: wrk keeps microseconds and prints two decimals of a unit it chooses: 196.00us, 2.58ms, 1.20s.
RESOLUTION_S = 1e-6

TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_SHOWN, _LARGEST = 40, 2.0**64
#: wrk pads a unit of one letter with a blank behind it: ``2.80s ``.
#: Blanks are not line ends here: a file of nothing but those would be looked through once from each of them.
_START = re.compile(r"^Running (\S+) test @ (\S+)$", re.MULTILINE)
_LOAD = re.compile(r"^[ \t]+(\d+) threads and (\d+) connections[ \t]*$", re.MULTILINE)
_SPREAD = re.compile(r"^[ \t]+Latency[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)%[ \t]*$", re.MULTILINE)
_LATENCIES = re.compile(r"^[ \t]+Latency Distribution[ \t]*$", re.MULTILINE)
_QUANTILE = re.compile(r"^[ \t]+(\d+(?:\.\d+)?)%[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_REQUESTS = re.compile(r"^[ \t]+(\d+) requests in (\S+), (\S+) read[ \t]*$", re.MULTILINE)
_SOCKET = re.compile(
    r"^[ \t]+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)[ \t]*$", re.MULTILINE
)
_STATUS = re.compile(r"^[ \t]+Non-2xx or 3xx responses: (\d+)[ \t]*$", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec:[ \t]+(\S+)[ \t]*$", re.MULTILINE)
#: Errors that come beside the answers.
_WITHOUT_ANSWER = ("connect", "read", "write")
#: Percentiles that are bounded where wrk's own are not of requests.
_BOUNDED = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
#: Of wrk2: a distribution's title, its quantiles, p95 (which the short list leaves out), and the lines below it.
_TITLE = re.compile(
    r"^[ \t]+Latency Distribution \(HdrHistogram - (Recorded|Uncorrected) Latency", re.MULTILINE
)
_EXACT_QUANTILE = re.compile(r"^[ \t]*(\d+\.\d+)%[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_P95 = re.compile(r"^[ \t]+([\d.]+)[ \t]+0\.950000[ \t]", re.MULTILINE)
_MEAN = re.compile(r"^#\[Mean[ \t]+=[ \t]+([\d.]+),", re.MULTILINE)
_MAX = re.compile(r"^#\[Max[ \t]+=[ \t]+([\d.]+), Total count[ \t]+=[ \t]+(\d+)\]", re.MULTILINE)
_CALIBRATION = re.compile(r"^[ \t]+Thread calibration: ", re.MULTILINE)
_NO_LATENCIES: dict[str, object] = {
    "latency_mean_s": None, "latency_max_s": None, "latency_quantiles_s": {},
}  # fmt: skip


def looks_like_wrk(line: str) -> bool:
    """Tell whether a line is the first of wrk or wrk2."""
    return _START.fullmatch(line) is not None


def open_wrk(file: TextFile) -> AggregateTable:
    """Read a saved summary of wrk or of wrk2, whose first lines are the same; raises InputError: as the two readers."""
    is_wrk2 = any(mark.search(file.head) for mark in (_TITLE, _CALIBRATION))
    return read_wrk2(file) if is_wrk2 else read_wrk(file)


def number_of(text: str, units: Mapping[str, float] = TIMES) -> float:
    """Return ``2.58ms`` or ``1.50m`` in seconds, or by ``SCALES`` what ``28.98k`` is; raises ValueError: it is none."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-zA-Z]*)", text)
    # A number of more than 64 bits was not printed by wrk.
    if match is None or match[2] not in units or float(match[1]) > _LARGEST:
        what = "a time" if units is TIMES else "a count"
        raise ValueError(f"not {what} as wrk prints it: {text[:_SHOWN]!r}")
    return float(match[1]) * units[match[2]]


class _Parts(NamedTuple):
    """What wrk and wrk2 print alike. ``total`` carries the times that wrk prints."""

    text: str
    total: AggregateRow
    errors_by_kind: dict[str, int]
    duration_s: float
    connections: int | None

    @property
    def answers(self) -> int:
        return self.total.n_requests - self.total.n_unanswered

    @property
    def late(self) -> int:
        """Answers that came after wrk's timeout."""
        return min(self.errors_by_kind.get("timeout", 0), self.answers)


def _parts(file: TextFile, tool: str) -> _Parts:
    """Read what both print; raises InputError: it holds several summaries, or ended before its totals."""
    text = file.text()
    starts, totals = list(_START.finditer(text)), _REQUESTS.search(text)
    try:
        if len(starts) > 1:
            lines = " and line ".join(str(text.count("\n", 0, start.start()) + 1) for start in starts[:2])
            raise ValueError(f"holds {len(starts)} runs: one begins at line {lines}")
        if starts and totals is not None:
            return _whole(text, starts[0], totals)
    except ValueError as problem:
        raise InputError(
            str(problem), file=file.path, allowed=f"one run in a file, with numbers as {tool} prints them"
        ) from problem
    place = "the line '... requests in ..., ... read'" if starts else f"line {file.first_line}"
    allowed = f"the text that {tool} prints when it ends by itself; autocannon, which begins alike: --json"
    raise _incomplete(file, tool, place, allowed)


def _incomplete(file: TextFile, tool: str, place: str, allowed: str) -> InputError:
    problem = f"not a complete {tool} summary"
    return InputError(problem, file=file.path, place=place, found=file.first[:80], allowed=allowed)


def _whole(text: str, start: re.Match[str], totals: re.Match[str]) -> _Parts:
    answers = int(number_of(totals[1], SCALES))
    socket, status = _SOCKET.search(text), _STATUS.search(text)
    counts = (
        []
        if socket is None
        else list(zip((*_WITHOUT_ANSWER, "timeout"), map(int, socket.groups()), strict=True))
    )
    kinds = {name: n for name, n in counts if n}
    if status is not None:
        kinds["status"] = int(status[1])
    n_unanswered = sum(kinds.get(kind, 0) for kind in _WITHOUT_ANSWER)
    # A timeout may also have another status: no more answers failed than came.
    n_failed = min(answers, kinds.get("status", 0) + kinds.get("timeout", 0))
    before, rate, load = text[: totals.start()], _RATE.search(text), _LOAD.search(text)
    spread, distribution = _SPREAD.search(before), _LATENCIES.search(before)
    # wrk2 prints "-nanus" where its histogram was emptied and no answer came afterwards
    some = answers > 0 and spread is not None and "nan" not in spread[1]
    listed = before[distribution.end() :] if distribution is not None and answers else ""
    total = AggregateRow(
        name=start[2],
        n_requests=answers + n_unanswered,
        n_errors=n_unanswered + n_failed,
        n_unanswered=n_unanswered,
        latency_mean_s=number_of(spread[1]) if some and spread else None,
        latency_max_s=number_of(spread[3]) if some and spread else None,
        latency_quantiles_s={f"p{match[1]}": number_of(match[2]) for match in _QUANTILE.finditer(listed)},
        answers_per_s=number_of(rate[1], SCALES) if rate else None,
    )
    return _Parts(text, total, kinds, number_of(totals[2]), None if load is None else int(load[2]))


def read_wrk(path: Path | TextFile) -> AggregateTable:
    """Read a saved summary of wrk. Times carry the two decimals that wrk printed; raises InputError: not wrk's, or wrk
    ended before it printed its totals."""
    file = text_file(path)
    parts = _parts(file, "wrk")
    n_latencies = parts.answers - parts.late
    notes = ["wrk prints no single requests; times carry two decimals of the printed unit"]
    if parts.late:
        notes.append(
            f"{parts.late:,} timeouts are answers that came late: wrk counts them among its requests, and its "
            f"latencies are of the other {n_latencies:,}"
        )
    return AggregateTable(
        path=file.path,
        source="wrk",
        kind="summary",
        total=parts.total if n_latencies else parts.total.model_copy(update=_NO_LATENCIES),
        n_latencies=n_latencies,
        bounds=_bounds(parts),
        errors_by_kind=parts.errors_by_kind,
        duration_s=parts.duration_s,
        users=parts.connections,
        resolution_s=RESOLUTION_S,
        notes=(*notes, *file.remarks),
    )


def _bounds(parts: _Parts) -> LatencyBounds | None:
    """What wrk's latencies are at most, without the requests that it adds; ``None``: it added none.

    Where a latency is above twice the interval ``e`` that a connection had from answer to answer, wrk counts
    requests that were never sent, all of them above ``e`` (:mod:`harness.formats.wrk_histogram`). By Little's law the
    requests' mean is no more than ``e``. So wrk adds fewer requests than there were, and no more than twice the
    share beyond a printed percentile are beyond it; and no more than ``e / x`` of all are beyond ``x``. Its latencies
    leave out the late answers, and all shares are of the others.
    """
    total, answers = parts.total, parts.answers
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


def read_wrk2(path: Path | TextFile) -> AggregateTable:
    """Read a saved summary of wrk2. Quantiles are of latencies counted from when requests were due; raises InputError:
    not wrk2's, ended before its totals, or made without ``--latency``."""
    file = text_file(path)
    parts = _parts(file, "wrk2")
    try:
        update, n_latencies = _recorded(parts.text)
    except ValueError as problem:
        raise InputError(str(problem), file=file.path, allowed="numbers as wrk2 prints them") from problem
    if update is None:
        allowed = "the text that wrk2 prints with --latency when it ends by itself"
        raise _incomplete(file, "wrk2", "the latency distribution", allowed)
    kinds = {kind: n for kind, n in parts.errors_by_kind.items() if kind != "timeout"}
    n_errors = parts.total.n_unanswered + min(parts.answers, kinds.get("status", 0))
    notes = ["wrk2 prints no single requests"]
    if n_latencies < parts.answers:
        calibrated = _CALIBRATION.search(parts.text) is not None
        reason = "it empties its histogram ten seconds after the start"
        reason = reason if calibrated else "those answered after the end are not among them"
        notes.append(f"its latencies are of {n_latencies} of {parts.answers} requests: {reason}")
    n_timeouts = parts.errors_by_kind.get("timeout", 0)
    if n_timeouts:
        notes.append(
            f"{n_timeouts:,} timeouts are no requests and were left out: every two seconds wrk2 counts each connection "
            "that sent nothing for longer than its timeout"
        )
    return AggregateTable(
        path=file.path,
        source="wrk2",
        kind="summary",
        total=parts.total.model_copy(update={**update, "n_errors": n_errors}),
        n_latencies=n_latencies,
        errors_by_kind=kinds,
        duration_s=parts.duration_s,
        resolution_s=RESOLUTION_S,
        notes=(*notes, *file.remarks),
    )


def read_threads(path: Path) -> int | None:
    """Return how many threads a summary names; ``None``: it names none."""
    match = _LOAD.search(text_file(path).text())
    return None if match is None else int(match[1])


def _recorded(text: str) -> tuple[dict[str, object] | None, int]:
    """Corrected latencies, which uncorrected ones follow with ``-U``, and how many there are; ``None``: none; raises
    ValueError: lines or numbers are not as wrk2 prints them."""
    titles = [*_TITLE.finditer(text), None]
    for title, following in pairwise(titles):
        if title is None or title[1] != "Recorded":
            continue
        spectrum = text[title.end() : following.start() if following else len(text)]
        mean, largest, p95 = _MEAN.search(spectrum), _MAX.search(spectrum), _P95.search(spectrum)
        n_latencies = int(largest[2]) if largest is not None else 0
        if largest is None or (mean is None and n_latencies):
            raise ValueError("the lines '#[Mean ...' and '#[Max ...' below the distribution are missing")
        if mean is None or not n_latencies:
            return _NO_LATENCIES, 0
        quantiles = {
            f"p{float(match[1]):g}": number_of(match[2]) for match in _EXACT_QUANTILE.finditer(spectrum)
        }
        quantiles.pop("p100", None)
        if p95 is not None:
            quantiles["p95"] = float(p95[1]) / 1000
        return {
            "latency_mean_s": float(mean[1]) / 1000,
            "latency_max_s": float(largest[1]) / 1000,
            "latency_quantiles_s": quantiles,
        }, n_latencies
    return None, 0
