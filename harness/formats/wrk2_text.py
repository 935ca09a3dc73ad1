# SPDX-License-Identifier: Apache-2.0
"""Read the text summary that wrk2 prints with ``--latency``: its HdrHistogram, corrected for late starts.

wrk2 empties its histogram after a calibration of ten seconds and 5 ms for each connection of a thread: in a longer
run the latencies are of what came after, while requests and errors are counted from the start. The first answer of a
thread after the end is counted, and is not in the histogram. ``n_latencies`` tells how many are.

Its timeouts are no requests: every two seconds it counts each connection on which nothing was sent for longer than
``--timeout``, one that never connected and one that has nothing to send, again and again. wrk's are late answers.
"""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import InputError
from harness.formats.source import TextFile, text_file
from harness.formats.table import AggregateRow, AggregateTable
from harness.formats.wrk_text import parse_time_s, read_parts

#: Whole microseconds, three significant digits.
RESOLUTION_S = 1e-6

_TITLE = re.compile(
    r"^[ \t]+Latency Distribution \(HdrHistogram - (Recorded|Uncorrected) Latency", re.MULTILINE
)
_QUANTILE = re.compile(r"^[ \t]*(\d+\.\d+)%[ \t]+(\S+)[ \t]*$", re.MULTILINE)
#: A row of the spectrum that stands at a round share; the short list above it leaves p95 out.
_P95 = re.compile(r"^[ \t]+([\d.]+)[ \t]+0\.950000[ \t]", re.MULTILINE)
_MEAN = re.compile(r"^#\[Mean[ \t]+=[ \t]+([\d.]+),", re.MULTILINE)
_MAX = re.compile(r"^#\[Max[ \t]+=[ \t]+([\d.]+), Total count[ \t]+=[ \t]+(\d+)\]", re.MULTILINE)
_THREADS = re.compile(r"^[ \t]+(\d+) threads and \d+ connections$", re.MULTILINE)
_CALIBRATION = re.compile(r"^[ \t]+Thread calibration: ", re.MULTILINE)


def looks_like_wrk2(head: str) -> bool:
    """What distinguishes it from wrk's, whose first line is the same."""
    return any(mark.search(head) for mark in (_TITLE, _CALIBRATION))


def read_wrk2(path: Path | TextFile) -> AggregateTable:
    """Read a saved summary of wrk2. Quantiles are of latencies counted from when requests were due.

    Raises:
        InputError: not wrk2's, ended before its totals, or made without ``--latency``.
    """
    file = text_file(path)
    parts, text = read_parts(file, "wrk2"), file.text()
    try:
        spectrum = _recorded(text)
        result = None if spectrum is None else _latencies(spectrum, parts.total)
    except ValueError as problem:
        raise InputError(str(problem), file=file.path, allowed="numbers as wrk2 prints them") from problem
    if result is None:
        raise InputError(
            "not a complete wrk2 summary",
            file=file.path,
            place="the latency distribution",
            found=file.first[:80],
            allowed="the text that wrk2 prints with --latency when it ends by itself",
        )
    total, n_latencies = result
    answers = total.n_requests - total.n_unanswered
    kinds = {kind: n for kind, n in parts.errors_by_kind.items() if kind != "timeout"}
    total = total.model_copy(update={"n_errors": total.n_unanswered + min(answers, kinds.get("status", 0))})
    return AggregateTable(
        path=file.path,
        source="wrk2",
        kind="summary",
        total=total,
        n_latencies=n_latencies,
        errors_by_kind=kinds,
        duration_s=parts.duration_s,
        resolution_s=RESOLUTION_S,
        notes=(
            "wrk2 prints no single requests",
            *_left_out(text, answers, n_latencies),
            *_idle(parts.errors_by_kind.get("timeout", 0)),
            *file.remarks,
        ),
    )


def read_threads(path: Path) -> int | None:
    """Return how many threads a summary names; ``None``: it names none."""
    match = _THREADS.search(text_file(path).text())
    return None if match is None else int(match.group(1))


def _left_out(text: str, n_requests: int, n_latencies: int) -> tuple[str, ...]:
    if n_latencies >= n_requests:
        return ()
    sentence = f"its latencies are of {n_latencies} of {n_requests} requests"
    if _CALIBRATION.search(text) is not None:
        return (f"{sentence}: it empties its histogram ten seconds after the start",)
    return (f"{sentence}: those answered after the end are not among them",)


def _idle(n_timeouts: int) -> tuple[str, ...]:
    if not n_timeouts:
        return ()
    return (
        f"{n_timeouts:,} timeouts are no requests and were left out: every two seconds wrk2 counts each connection "
        "that sent nothing for longer than its timeout",
    )


def _recorded(text: str) -> str | None:
    """The part about corrected latencies; with ``-U`` the uncorrected ones follow it."""
    titles = list(_TITLE.finditer(text))
    for title, following in zip(titles, [*titles[1:], None], strict=True):
        if title.group(1) == "Recorded":
            return text[title.end() : following.start() if following else len(text)]
    return None


def _latencies(spectrum: str, total: AggregateRow) -> tuple[AggregateRow, int]:
    mean, largest = _MEAN.search(spectrum), _MAX.search(spectrum)
    n_latencies = int(largest.group(2)) if largest is not None else 0
    if largest is None or (mean is None and n_latencies):
        raise ValueError("the lines '#[Mean ...' and '#[Max ...' below the distribution are missing")
    if mean is None or not n_latencies:
        return total.model_copy(
            update={"latency_mean_s": None, "latency_max_s": None, "latency_quantiles_s": {}}
        ), 0
    quantiles = {
        f"p{float(match.group(1)):g}": parse_time_s(match.group(2)) for match in _QUANTILE.finditer(spectrum)
    }
    quantiles.pop("p100", None)
    p95 = _P95.search(spectrum)
    if p95 is not None:
        quantiles["p95"] = float(p95.group(1)) / 1000
    measured = {
        "latency_mean_s": float(mean.group(1)) / 1000,
        "latency_max_s": float(largest.group(1)) / 1000,
        "latency_quantiles_s": quantiles,
    }
    return total.model_copy(update=measured), n_latencies
