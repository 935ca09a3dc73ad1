# SPDX-License-Identifier: Apache-2.0
"""The sentences and the rows of tables that a report's text and page share; the first sentence sums up the whole."""

from __future__ import annotations

from datetime import UTC, datetime

from harness.model.phrases import counted
from harness.report.numbers import interval, length, milliseconds, percent, rate
from harness.report.result import LABEL_QUANTILES, LabelRow, Report

#: The percentile of the summary: the farthest of these that the file can tell.
_WITHIN = {"p99": "99 %", "p95": "95 %", "p90": "90 %", "p50": "half"}
_LONGEST_KIND = 60
_RUNS_SHOWN = 3
#: A load whose users wait for answers for less of their time is hardly one: its time stamps may be wrong.
_BARELY_BUSY = 0.01
LABEL_STATISTICS = ("mean", *LABEL_QUANTILES, "max")


def summary(report: Report) -> str:
    """Return the report in one sentence: rate, tail, errors, stalls."""
    parts = []
    if report.throughput_per_s is not None:
        users = report.loop.users if report.loop is not None else None
        source = f" from {counted(users, 'user')}" if users else ""
        parts.append(f"{rate(report.throughput_per_s)} answers/s{source}")
    elif report.runs:
        rates = [run.throughput_per_s for run in report.runs[:_RUNS_SHOWN]]
        known = [rate(per_s) if per_s is not None else "?" for per_s in rates]
        more = ", ..." if len(report.runs) > _RUNS_SHOWN else ""
        parts.append(
            f"{counted(report.requests, 'request')} in {len(report.runs)} runs ({', '.join(known)}{more} answers/s)"
        )
    else:
        parts.append(counted(report.requests, "request"))
    if report.busy_share is not None and report.busy_share < _BARELY_BUSY:
        parts.append(f"its users waited for answers for only {percent(report.busy_share)} of the time")
    within = next((name for name in _WITHIN if report.latency_ms.get(name) is not None), None)
    if within is not None:
        shown = milliseconds(
            report.latency_ms[within], report.intervals[within], resolution_ms=report.resolution_ms
        )
        parts.append(f"{_WITHIN[within]} within {shown.removeprefix('< ')} ms")
    parts.append(errors(report))
    if report.stalls is not None:
        parts.append(stalls(report))
    return "; ".join(parts) + "."


def errors(report: Report) -> str:
    """Return the share of errors with the kind that is most frequent."""
    if not report.errors_known:
        return "failures not in the file"
    if not report.errors:
        some = f" among the {report.requests:,} rows that could be read" if report.unreadable else ""
        return f"no errors{some}"
    kinds = list(report.errors_by_kind.items())
    said = f"{report.errors:,}"
    if kinds:
        kind, n = kinds[0]
        name = kind if len(kind) <= _LONGEST_KIND else kind[: _LONGEST_KIND - 3] + "..."
        said = f"{n:,} x {name}" + (f", {counted(len(kinds) - 1, 'other kind')}" if len(kinds) > 1 else "")
    return f"{percent(report.errors / report.requests)} errors ({said})"


def stalls(report: Report) -> str:
    """Return how often and how long nothing was answered."""
    found = report.stalls or ()
    if found:
        longest = max(stall.duration_s for stall in found) * 1e3
        return f"{count_stalls(report)}, the longest {length(longest)}"
    if report.shortest_visible_ms is None:
        return "no stall found"
    return f"no stall longer than {length(report.shortest_visible_ms)}"


def count_stalls(report: Report) -> str:
    """Return how many stalls and slow periods there are."""
    found = report.stalls or ()
    hard = sum(stall.kind == "stall" for stall in found)
    kinds = [counted(hard, "stall")] if hard or len(found) == 0 else []
    kinds += [counted(len(found) - hard, "slow period")] if len(found) > hard else []
    return " and ".join(kinds)


def shorter_stalls(report: Report) -> str | None:
    """Return the one sentence on what is below the shortest stall that would show; ``None``: there is nothing."""
    short = report.shorter_stalls
    if short is None or report.shortest_visible_ms is None:
        return None
    return (
        f"not listed: {counted(short.number, 'shorter one')} of at most {length(short.longest_ms)}, together "
        f"{length(short.total_s * 1e3)} ({percent(short.share)} of the time); this file cannot tell them from "
        "ordinary jitter"
    )


def shortest_visible(report: Report) -> str | None:
    """Return what stalls would show; ``None``: it cannot be said."""
    if report.shortest_visible_ms is None:
        return None
    return f"shortest detectable stall: {length(report.shortest_visible_ms)}"


def when(report: Report) -> str | None:
    """Return when the file begins and how long it is; ``None``: its times are not known."""
    if report.start_epoch_s is None or report.duration_s is None:
        return None
    return f"begins {_date(report.start_epoch_s)}, lasts {length(report.duration_s * 1e3)}"


def _date(epoch_s: float) -> str:
    try:
        return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):  # a damaged time: before year 1, or after 9999
        return f"{epoch_s:g} s after 1970-01-01, which is not a plausible date"


def weighty(report: Report) -> list[str]:
    """Return the warnings that speak of this file, without those shown as findings of units."""
    shown = {one.text for one in report.units} | report.background
    return [said for said in report.warnings if said not in shown]


def background(report: Report) -> list[str]:
    """Return the warnings that hold for any such file."""
    return [said for said in report.warnings if said in report.background]


def latency_rows(report: Report) -> list[tuple[str, ...]]:
    """Return statistic, value, interval or why there is none, and the corrected value where there is a correction."""
    corrected = None if report.loop is None else report.loop.corrected_ms
    rows: list[tuple[str, ...]] = []
    for name in report.latency_ms:
        value, bounds = report.latency_ms.get(name), report.intervals.get(name)
        step_ms = 0.0 if name == "mean" else report.resolution_ms
        cells = [
            name,
            milliseconds(value, bounds, resolution_ms=step_ms),
            interval(value, bounds, resolution_ms=step_ms) or report.interval_reasons.get(name, ""),
        ]
        if corrected is not None:
            cells.append(milliseconds(corrected[name], resolution_ms=step_ms) if name in corrected else "")
        rows.append(tuple(cells))
    return rows


def label_cells(report: Report, row: LabelRow) -> tuple[str, ...]:
    """Return requests, errors, rate and latencies of one name, without intervals."""
    counts = (
        f"{row.requests:,}", f"{row.errors:,}", "" if row.throughput_per_s is None else rate(row.throughput_per_s),
    )  # fmt: skip
    return (*counts, *(value for value, _ in label_latencies(report, row)))


def label_latencies(report: Report, row: LabelRow) -> list[tuple[str, str]]:
    """Return each latency of one name and its interval; an empty one where there is none."""
    found = []
    for name in LABEL_STATISTICS:
        value, bounds = row.latency_ms.get(name), row.intervals.get(name)
        step_ms = 0.0 if name == "mean" else report.resolution_ms
        found.append((
            milliseconds(value, bounds, resolution_ms=step_ms), interval(value, bounds, resolution_ms=step_ms)
        ))  # fmt: skip
    return found
