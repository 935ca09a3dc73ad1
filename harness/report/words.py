# SPDX-License-Identifier: Apache-2.0
"""The sentences and tables that a report's text and page share; the first sentence sums up the whole.

Numbers are written by the rule of :mod:`harness.model.digits`, and nothing finer than the tool's clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from harness.model.digits import decimals, fixed, plain, spoken
from harness.model.digits import percent as percent_of
from harness.model.formatting import counted
from harness.report.result import LABEL_QUANTILES, Report

NOT_SAID = "-"
#: The percentile of the summary: the farthest of these that the file can tell.
_WITHIN = {"p99": "99 %", "p95": "95 %", "p90": "90 %", "p50": "half"}
_LONGEST_KIND = 60
_RUNS_SHOWN = 3
#: A load whose users wait for answers for less of their time is hardly one: its time stamps may be wrong.
_BARELY_BUSY = 0.01
LABEL_STATISTICS = ("mean", *LABEL_QUANTILES, "max")
CORRECTED = "corrected for coordinated omission"


def milliseconds(
    value: float | None, bounds: tuple[float, float] | None = None, *, resolution_ms: float = 0.0
) -> str:
    """Return a latency without its unit; one below the tool's resolution as ``< 1``, ``None`` as a dash.

    ``bounds``: its interval. ``resolution_ms``: the tool's smallest step; 0 for a mean, which is finer than that.
    """
    if value is None:
        return NOT_SAID
    if value < resolution_ms:
        return f"< {resolution_ms:g}"
    return fixed(value, _places(value, bounds, resolution_ms))


def interval(value: float | None, bounds: tuple[float, float] | None, *, resolution_ms: float = 0.0) -> str:
    """Return ``low to high`` with the digits of the value; empty without an interval."""
    if value is None or bounds is None:
        return ""
    places = _places(value, bounds, resolution_ms)
    low, high = (f"< {resolution_ms:g}" if end < resolution_ms else fixed(end, places) for end in bounds)
    return f"{low} to {high}"


def length(milliseconds_: float) -> str:
    """Return a span of time with its unit, in three digits."""
    if milliseconds_ >= 1e3:
        return f"{plain(milliseconds_ / 1e3)} s"
    return f"{plain(milliseconds_)} ms"


def resolution(milliseconds_: float) -> str:
    """Return a tool's smallest step with the unit that needs no zeros."""
    for unit, per_ms in (("s", 1e-3), ("ms", 1.0), ("us", 1e3), ("ns", 1e6)):
        if milliseconds_ * per_ms >= 1 - 1e-9:
            return f"{milliseconds_ * per_ms:.3g} {unit}"
    return f"{milliseconds_ * 1e6:.3g} ns"


def percent(share: float) -> str:
    """Return a share from 0 to 1 in percent: two digits, and never 0 or 100 for what is neither."""
    if 0 < share < 1e-4:
        return "< 0.01 %"
    text = percent_of(share)
    return "> 99.9 %" if share < 1 and text == percent_of(1.0) else text


def _places(value: float, bounds: tuple[float, float] | None, resolution_ms: float) -> int:
    """Return the decimals of the rule, and no more than the tool's smallest step has."""
    places = decimals(value, *(bounds or (None, None)))
    return places if resolution_ms <= 0 else min(places, max(0, math.ceil(-math.log10(resolution_ms) - 1e-9)))


class Table(NamedTuple):
    """One table of a text or of a page. A number may have its interval below it, after a line end.

    ``texts``: places of columns that hold no numbers. ``note``: below the table.
    """

    title: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: tuple[int, ...] = (0,)
    note: str = ""


def summary(report: Report) -> str:
    """Return the report in one sentence: rate, tail, errors, stalls."""
    parts = []
    if report.throughput_per_s is not None:
        users = report.loop.users if report.loop is not None else None
        source = f" from {counted(users, 'user')}" if users else ""
        parts.append(f"{plain(report.throughput_per_s)} answers/s{source}")
    elif report.runs:
        rates = [run.throughput_per_s for run in report.runs[:_RUNS_SHOWN]]
        known = [plain(per_s) if per_s is not None else "?" for per_s in rates]
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
    text = f"{report.errors:,}"
    if kinds:
        kind, n = kinds[0]
        name = kind if len(kind) <= _LONGEST_KIND else kind[: _LONGEST_KIND - 3] + "..."
        text = f"{n:,} x {name}" + (f", {counted(len(kinds) - 1, 'other kind')}" if len(kinds) > 1 else "")
    return f"{percent(report.errors / report.requests)} errors ({text})"


def stalls(report: Report) -> str:
    """Return how often and how long nothing was answered."""
    result = report.stalls or ()
    if result:
        longest = max(stall.duration_s for stall in result) * 1e3
        return f"{count_stalls(report)}, the longest {length(longest)}"
    if report.shortest_visible_ms is None:
        return "no stall found"
    return f"no stall longer than {length(report.shortest_visible_ms)}"


def count_stalls(report: Report) -> str:
    """Return how many stalls and slow periods there are."""
    result = report.stalls or ()
    hard = sum(stall.kind == "stall" for stall in result)
    kinds = [counted(hard, "stall")] if hard or len(result) == 0 else []
    kinds += [counted(len(result) - hard, "slow period")] if len(result) > hard else []
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
    shown = {unit.text for unit in report.units} | report.background
    return [text for text in report.warnings if text not in shown]


def background(report: Report) -> list[str]:
    """Return the warnings that hold for any such file."""
    return [text for text in report.warnings if text in report.background]


def latency_table(report: Report) -> Table:
    """Return statistic, value, interval or why there is none, and the corrected value where there is a correction."""
    corrected = None if report.loop is None else report.loop.corrected_ms
    rows = []
    for name, (value, between) in _latencies(report, report.latency_ms, report.intervals).items():
        cells = [name, value, between or report.interval_reasons.get(name, "")]
        if corrected is not None:
            step_ms = 0.0 if name == "mean" else report.resolution_ms
            cells.append(milliseconds(corrected[name], resolution_ms=step_ms) if name in corrected else "")
        rows.append(tuple(cells))
    heads = ("", "value", "95 % interval, this trial")
    return Table("latency, ms", heads if corrected is None else (*heads, CORRECTED), rows)


def kinds_table(report: Report, most: int | None = None) -> Table:
    """Return how many requests failed in each way, the most frequent first; ``most``: no more than these."""
    kinds = list(report.errors_by_kind.items())
    rows = [(f"{n:,}", percent(n / max(report.requests, 1)), kind) for kind, n in kinds[:most]]
    return Table(_shown("errors by kind", rows, kinds), ("requests", "share", "kind"), rows, texts=(2,))


def labels_table(report: Report, most: int | None = None) -> Table:
    """Return number, errors, rate and latencies of each name; without ``most``, of all, and with intervals."""
    rows = []
    for row in report.labels[:most]:
        per_s = "" if row.throughput_per_s is None else plain(row.throughput_per_s)
        times = _latencies(
            report, {name: row.latency_ms.get(name) for name in LABEL_STATISTICS}, row.intervals
        )
        cells = ["\n".join(filter(None, pair)) if most is None else pair[0] for pair in times.values()]
        rows.append((row.label or "(no name)", f"{row.requests:,}", f"{row.errors:,}", per_s, *cells))
    has_intervals = report.intervals.get("mean") is not None
    return Table(
        _shown("by request, latency in ms", rows, report.labels)
        + (" with 95 % intervals" if has_intervals and most is None else ""),
        ("request", "number", "errors", "1/s", *LABEL_STATISTICS),
        rows,
        note="intervals: --html or --json" if has_intervals and most is not None else "",
    )


def stalls_table(report: Report, most: int) -> Table:
    """Return the most harmful stalls, with their causes where there is a log."""
    rows = [
        (
            plain_cause(stall.kind),
            f"{stall.start_s - (report.start_epoch_s or 0.0):.3f}",
            length(stall.duration_s * 1e3),
            f"{stall.n_requests:,}",
            length(stall.harm_s * 1e3),
            *(() if report.attribution is None else (plain_cause(stall.cause or "unexplained"),)),
        )
        for stall in (report.stalls or ())[:most]
    ]
    n = len(report.stalls or ())
    which = f"the most harmful {len(rows)} of {n}" if n > len(rows) else f"all {n}"
    heads = ("kind", "at, s", "length", "requests", "taken from requests", "cause")
    return Table(
        f"{which}, by time taken from requests", heads[: len(rows[0]) if rows else 0], rows, texts=()
    )


def causes_table(report: Report) -> Table:
    """Return the causes of the slowest requests, and below them what each percentile would be without the pauses."""
    parts = {name: part for name, part in (report.attribution or {}).items() if name[0] == "p"}
    causes = list(dict.fromkeys(cause for part in parts.values() for cause in part["causes"]))
    rows = [(plain_cause(c), *(_share(part["causes"].get(c)) for part in parts.values())) for c in causes]
    lower = " and ".join(f"{name} {_share(part['share'])}" for name, part in parts.items())
    return Table(
        "what explains the tail",
        ("cause", *(f"time beyond the median, {name}" for name in parts)),
        rows,
        texts=(),
        note=f"lower without the pauses and the queues behind them: {lower}",
    )


def _share(share: dict[str, float | None] | None) -> str:
    if share is None or share["value"] is None:
        return "cannot say"
    value, low, high = share["value"], share["low"], share["high"]
    return percent(value) if low is None or high is None else spoken(100 * value, 100 * low, 100 * high, " %")


def plain_cause(cause: str) -> str:
    """Return a cause, or a kind of stall, as it stands in sentences."""
    return cause.replace("_", " ")


def _shown(title: str, rows: Sequence[object], every: Sequence[object]) -> str:
    more = len(every) - len(rows)
    return f"{title}, the first {len(rows)}; {more} more with --json" if more else title


def _latencies(
    report: Report, values: Mapping[str, float | None], intervals: Mapping[str, tuple[float, float] | None]
) -> dict[str, tuple[str, str]]:
    """Each statistic as its value and its interval, an empty one where there is none."""
    results = {}
    for name, value in values.items():
        bounds, step_ms = intervals.get(name), 0.0 if name == "mean" else report.resolution_ms
        results[name] = (
            milliseconds(value, bounds, resolution_ms=step_ms),
            interval(value, bounds, resolution_ms=step_ms),
        )
    return results
