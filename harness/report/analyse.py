# SPDX-License-Identifier: Apache-2.0
"""Open and analyse a file of requests of any tool: single requests, or the tool's own totals.

Everything said is about this one file, that is one process under one load: its intervals
do not carry over to a second trial, and the report says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from harness.errors import InputError
from harness.formats.detect import JOIN, read_any
from harness.formats.gc_events import GcLog
from harness.formats.jtl_units import Decimal, LatencyUnit
from harness.formats.table import AggregateRow, AggregateTable, RequestTable, together
from harness.model.phrases import counted
from harness.report.latencies import of_aggregate
from harness.report.loop import by_design
from harness.report.words import length
from harness.report.requests import not_empty, report_requests
from harness.report.result import QUANTILES, Report, in_ms

TOTALS_ONLY = "totals only: no interval, stall or attribution can come from them; keep single requests"


def report_table(
    table: RequestTable | AggregateTable, gc_log: GcLog | None, quantiles: Mapping[str, float]
) -> Report:
    """Return what can be said of a file that was read; raises InputError: it holds no request."""
    if isinstance(table, AggregateTable):
        return report_totals(table, gc_log, quantiles)
    return report_requests(table, gc_log, quantiles=quantiles)


def read_files(
    paths: Sequence[Path], latency_unit: LatencyUnit | None = None, decimal: Decimal | None = None
) -> RequestTable | AggregateTable:
    """Read the files of one run: one, or those of several load generators; raises InputError: one cannot be read; or
    one of several is a summary, whose percentiles cannot be merged."""
    if len(paths) == 1:
        return read_any(paths[0], latency_unit, decimal)
    tables = []
    for table in [read_any(path, latency_unit, decimal) for path in paths]:
        if isinstance(table, AggregateTable):
            raise InputError(
                "is a summary, and percentiles of summaries cannot be merged",
                file=table.path,
                allowed=f"single requests in every file of FILE{JOIN}FILE",
            )
        tables.append(not_empty(table))
    whole = replace(together(tables, [0.0] * len(tables)), path=Path(JOIN.join(map(str, paths))))
    if len({table.from_zero for table in tables}) > 1:
        raise InputError("has times since its own start beside files with real ones", file=whole.path)
    if not whole.has_start_times:
        return whole.with_notes("its files have no start times: they are taken as written at the same time")
    spans = sorted(
        (float(table.start_epoch_s.min()), float((table.start_epoch_s + table.latency_s).max()))
        for table in tables
    )
    if any(after[0] >= before[1] for before, after in pairwise(spans)):
        return whole.with_notes(
            "its files do not overlap in time: several runs, or clocks that differ? Its rate is too low then"
        )
    return whole


def report_totals(
    table: AggregateTable, gc_log: GcLog | None = None, quantiles: Mapping[str, float] = QUANTILES
) -> Report:
    """Return what a tool's own totals say; ``gc_log`` is of no use here, and the report says so; raises InputError:
    they hold no request, or are no totals over all requests."""
    total = table.of_requests
    if total is None:
        raise InputError(
            "holds no totals over all requests",
            file=table.path,
            allowed="the file _stats.csv or _stats_history.csv beside it, or raw samples",
        )
    if not total.n_requests:
        raise InputError("holds no request", file=table.path, allowed="at least one request or error")
    known = total.latency_quantiles_s
    latency: dict[str, float | None] = {"mean": in_ms(total.latency_mean_s)}
    latency |= {name: in_ms(known.get(name)) for name in quantiles}
    latency["max"] = in_ms(total.latency_max_s)
    names = ("mean", *quantiles)
    bounds, why, unknown = _bounds_ms(total, quantiles), "not printed", "not in these totals"
    if table.bounds is not None:
        bounds = {
            name: (None, in_ms(table.bounds.most_s[name])) for name in names if name in table.bounds.most_s
        }
        why = unknown = "not of requests"
    reasons = {
        name: "totals only"
        if latency[name] is not None
        else f"{why}: {_between(*bounds[name])}"
        if name in bounds
        else unknown
        for name in names
    }
    loop = by_design(table.source, table.users)
    background = [TOTALS_ONLY, *table.notes, *(loop.warnings if loop is not None else ())]
    text = [] if table.bounds is None else [table.bounds.reason]
    if table.unreadable_lines:
        text.append(f"left out: {counted(table.unreadable_lines, 'line')} that cannot be read")
    if gc_log is not None:
        text.append("the runtime's log was not used: this file has no single requests")
    return Report(
        path=table.path,
        source=table.source,
        requests=total.n_requests,
        errors=total.n_errors,
        errors_known=table.errors_known,
        start_epoch_s=table.start_epoch_s,
        duration_s=table.duration_s,
        throughput_per_s=total.answers_per_s,
        correct_per_s=total.correct_per_s,
        resolution_ms=table.resolution_s * 1e3,
        latency_ms=latency,
        unreadable=table.unreadable_lines,
        intervals=dict.fromkeys(names),
        interval_reasons=reasons,
        bounds_ms=bounds,
        labels=tuple(of_aggregate(row) for row in table.rows),
        loop=loop,
        errors_by_kind=table.errors_by_kind,
        stalls=None,
        warnings=(*text, *background),
        background=frozenset(background),
    )


def _bounds_ms(
    total: AggregateRow, quantiles: Mapping[str, float]
) -> dict[str, tuple[float | None, float | None]]:
    """Between which of a tool's own numbers each percentile lies that it does not print; more cannot be said."""
    known = {
        float(name[1:]) / 100: value for name, value in total.latency_quantiles_s.items() if name[0] == "p"
    }
    known |= {0.0: total.latency_min_s} if total.latency_min_s is not None else {}
    known |= {1.0: total.latency_max_s} if total.latency_max_s is not None else {}
    results: dict[str, tuple[float | None, float | None]] = {}
    for name, q in quantiles.items():
        if name in total.latency_quantiles_s:
            continue
        low = max((value for share, value in known.items() if share < q), default=None)
        high = min((value for share, value in known.items() if share > q), default=None)
        if low is not None or high is not None:
            results[name] = (in_ms(low), in_ms(high))
    return results


def _between(low: float | None, high: float | None) -> str:
    """What is known of a percentile that the totals leave out, of which there is one bound at least."""
    if low is None or high is None:
        return f"at least {length(low)}" if low is not None else f"at most {length(high or 0.0)}"
    return f"{length(low)} to {length(high)}"
