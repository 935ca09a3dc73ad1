# SPDX-License-Identifier: Apache-2.0
"""Read and analyse files of requests of any tool: single requests, or the tool's own totals.

Everything said is about this one file, that is one process under one load: its intervals
do not carry over to a second trial, and the report says so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.errors import InputError
from harness.formats.arrays import with_rows
from harness.formats.detect import JOIN, open_any
from harness.formats.gc_events import GcLog
from harness.formats.jtl_units import NOTHING_SAID, NumberStyle
from harness.formats.line_files import WITHOUT_CONNECTING
from harness.formats.rows import RequestStream
from harness.formats.run_parts import RunPart, clocks_apart_s, runs_of, set_back_s
from harness.formats.table import AggregateRow, AggregateTable, RequestTable, together
from harness.model.digits import plain
from harness.model.formatting import counted
from harness.report.checks import Checks, check_requests
from harness.report.latencies import (
    ONE_TRIAL,
    EveryLatency,
    label_rows,
    of_aggregate,
    resolution_warnings,
    summarise_latencies,
)
from harness.report.loop import HIDES, by_design, corrected, ramp_of
from harness.report.peaks import Peaks, find_peaks
from harness.report.result import QUANTILES, Report, in_ms
from harness.report.words import length

TOTALS_ONLY = "totals only: no interval, stall or attribution can come from them; keep single requests"
#: Whole seconds over less than this say no rate.
SHORTEST_COARSE_S = 10.0
#: A shorter file is read before anybody asks how far it was read.
LONG_BYTES = 100 << 20
#: Runs of one file that a warning lists.
_RUNS_SHOWN = 3
#: Notes of readers that hold for every file of the tool.
BACKGROUND = frozenset({WITHOUT_CONNECTING})


class RequestStudy(NamedTuple):
    """What there is to know of a file's requests before anything is reported of them or compared.

    ``runs``: where there are several. ``duration_s``: first start to last answer; ``None``: unknown, of several runs,
    or a few steps of too coarse a clock. ``back_s``: how far its clock was set back.
    """

    checks: Checks
    runs: tuple[RunPart, ...] = ()
    duration_s: float | None = None
    back_s: float = 0.0


def not_empty(table: RequestTable) -> RequestTable:
    """Return the same table; raises InputError: it holds no request."""
    bad = table.unreadable
    if not table.n_requests:
        raise InputError(
            "holds no request" if bad.n else "has no request, only a header", file=table.path,
            found=str(bad) if bad.n else None, allowed="a header and at least one row below it",
        )  # fmt: skip
    return table


def study(table: RequestTable) -> RequestStudy:
    """Study the requests of a file, and put them in the order of their start; raises InputError: there is none, or
    their time stamps lie beyond the year 2100."""
    times = not_empty(table).start_epoch_s, table.latency_s
    runs: tuple[RunPart, ...] = ()
    back_s = 0.0
    if table.has_start_times:
        runs = runs_of(*times, table.ok, from_zero=table.from_zero)
        back_s = 0.0 if table.from_zero else set_back_s(*times)
    table.sort_by_start()
    checks = check_requests(table)
    duration_s = table.duration_s if len(runs) == 1 else None
    if checks.coarse and duration_s is not None and duration_s < SHORTEST_COARSE_S:
        duration_s = None
    return RequestStudy(checks, runs if len(runs) > 1 else (), duration_s, back_s)


def report_requests(
    table: RequestTable, gc_log: GcLog | None = None, *, quantiles: Mapping[str, float] = QUANTILES
) -> Report:
    """Return what can be said of the requests of a file.

    ``gc_log``: of the service's runtime. ``quantiles``: those that are reported, name -> share. Raises InputError:
    there is none, or their time stamps lie beyond the year 2100.
    """
    checks, runs, duration, back_s = study(table)
    right = with_rows(table, table.ok) if table.n_errors else table
    n_right, sides, has_times = right.n_requests, table.sides, table.has_start_times
    latency = EveryLatency(right.latency_s)
    has_peaks = has_times and not checks.coarse and not runs
    notes, background = [unit.text for unit in checks.units], [ONE_TRIAL]
    of_names: list[str] = []
    with ThreadPoolExecutor(1) as beside:
        log = None if table.from_zero else gc_log
        finding = beside.submit(find_peaks, right, log) if has_peaks and n_right else None
        result = summarise_latencies(latency, table.resolution_s, quantiles)
        labels = label_rows(table, latency, duration, of_names)
        peaks = Peaks() if finding is None else finding.result()
    notes += _about_the_file(table, n_right)
    if 0 < n_right < table.n_requests:
        background.append(
            f"latencies are of the {n_right:,} successful requests; {counted(table.n_errors, 'error')} left out"
        )
    background += [note for note in table.notes if note in BACKGROUND]
    notes += resolution_warnings(latency.median(), table.resolution_s) if n_right else []
    loop = checks.loop
    if has_peaks:
        ramp = ramp_of(table, sides=sides, loop="cannot say" if loop is None else loop.kind)
        notes += [] if ramp is None else [f"{ramp.text}; {ramp.command} leaves it out"]
    if loop is not None:
        loop = loop if runs else corrected(loop, checks.interval_s, right.latency_s, peaks.stalls)
        for warning in loop.warnings:
            (background if warning == HIDES else notes).append(warning)
    notes += _about_clocks(table, checks, runs, duration, back_s)
    if has_peaks and n_right and gc_log is not None and table.from_zero:
        notes.append("the runtime's log was not used: the file does not say when its times begin")
    notes += (*peaks.notes, *of_names)
    background += peaks.background
    busy_s = None if loop is None or not loop.users or not duration else loop.users * duration
    return Report(
        path=table.path,
        source=table.source,
        requests=table.n_requests,
        errors=table.n_errors,
        start_epoch_s=None if table.from_zero else table.first_start_epoch_s,
        errors_known=table.ok_known,
        unreadable=table.unreadable.n,
        duration_s=duration,
        runs=runs,
        busy_share=None if busy_s is None else min(float(table.latency_s.sum()) / busy_s, 1.0),
        throughput_per_s=table.n_requests / duration if duration else None,
        correct_per_s=n_right / duration if duration else None,
        resolution_ms=table.resolution_s * 1e3,
        latency_ms=result.values,
        intervals=result.intervals,
        interval_reasons=result.reasons,
        labels=labels,
        loop=loop,
        units=checks.units,
        errors_by_kind=table.errors_by_kind,
        stalls=peaks.stalls if has_peaks else None,
        shorter_stalls=peaks.shorter,
        shortest_visible_ms=in_ms(peaks.shortest_visible_s),
        attribution=peaks.attribution,
        warnings=(*notes, *background),
        background=frozenset(background),
    )


def _about_the_file(table: RequestTable, n_right: int) -> list[str]:
    notes = [note for note in table.notes if note not in BACKGROUND]
    bad = table.unreadable
    if bad.n:
        notes.append(f"left out: {bad}{'' if bad.n == bad.n_cut else '; any of them may have failed'}")
    if not table.ok_known:
        notes.append("the file does not say which requests failed: all are taken as successful")
    if not n_right:
        notes.append("no request succeeded: no latency is reported")
    return notes


def _about_clocks(
    table: RequestTable, checks: Checks, runs: Sequence[RunPart], duration_s: float | None, back_s: float
) -> list[str]:
    """What the time stamps of a file say of its runs and clocks, and what they do not allow to be said."""
    sides, notes = table.sides, list[str]()
    if not table.has_start_times:
        notes.append("the file has no start times, so neither stalls nor their causes can be found")
        return notes
    if runs:
        apart_s = None if sides is None or sides.host is None else clocks_apart_s(sides.start_s, sides.host)
        return [about_runs(runs, from_zero=table.from_zero, clocks_apart_s=apart_s)]
    if checks.coarse and duration_s is None:
        notes.append(
            f"time stamps are whole seconds and span less than {SHORTEST_COARSE_S:g} s, so no rate is given"
        )
    if back_s and (sides is None or len(sides.hosts) < 2):
        notes.append(
            f"time stamps run backwards by {length(back_s * 1e3)}: the clock was set, and the rate is too high; or "
            "files of several load generators were joined, and it is right"
        )
    if checks.coarse:
        notes.append(
            "time stamps are whole seconds, so neither loop nor stalls nor their causes can be determined"
        )
    return notes


def about_runs(runs: Sequence[RunPart], *, from_zero: bool, clocks_apart_s: float | None = None) -> str:
    """Return what is said of several runs in one file, before anything that they share is believed.

    ``clocks_apart_s``: where they are the loads of several generators at once, by how much their clocks differ.
    """
    shown = [
        f"{run.requests:,} requests in {length(run.duration_s * 1e3)}"
        + (f" ({plain(run.throughput_per_s)}/s)" if run.throughput_per_s is not None else "")
        for run in runs[:_RUNS_SHOWN]
    ]
    more = f", and {len(runs) - _RUNS_SHOWN} more with --json" if len(runs) > _RUNS_SHOWN else ""
    if clocks_apart_s is not None:
        return (
            f"the clocks of its load generators are {length(clocks_apart_s * 1e3)} apart, for their rows stand side by "
            f"side: {', '.join(shown)}{more}; no rate of all"
        )
    if from_zero:
        return (
            f"the file holds {len(runs)} runs, for its times begin again: {', '.join(shown)}{more}; no rate of all, "
            "and percentiles are of all runs together"
        )
    apart_s = (runs[1].start_epoch_s or 0.0) - (runs[0].start_epoch_s or 0.0)
    after = f"{np.floor(apart_s * 1e3) / 1e3:.10g}s"  # no longer than that, as an option takes it
    gap = length((apart_s - runs[0].duration_s) * 1e3)
    return (
        f"the file holds {len(runs)} runs, or its clock was set: {', '.join(shown)}{more}; nothing was in flight for "
        f"{gap} between the first two (JMeter appends to a file that is there). No rate of all; --to {after} reports "
        f"the first run, --from {after} what follows it"
    )


def report_table(
    table: RequestTable | AggregateTable, gc_log: GcLog | None, quantiles: Mapping[str, float]
) -> Report:
    """Return what can be said of a file that was read; raises InputError: it holds no request."""
    if isinstance(table, AggregateTable):
        return report_totals(table, gc_log, quantiles)
    return report_requests(table, gc_log, quantiles=quantiles)


def _read(path: Path, how: NumberStyle) -> RequestTable | AggregateTable:
    """Read a file; on a terminal, a bar shows how far a long one was read."""
    opened = open_any(path, how)
    if not isinstance(opened, RequestStream):
        return opened
    if path.stat().st_size >= LONG_BYTES and sys.stderr.isatty():
        from harness.report.text import with_progress  # rich: a tenth of a second

        opened = with_progress(opened)
    return opened.collect()


def read_files(paths: Sequence[Path], how: NumberStyle = NOTHING_SAID) -> RequestTable | AggregateTable:
    """Read the files of one run: one, or those of several load generators; raises InputError: one cannot be read; or
    one of several is a summary, whose percentiles cannot be merged."""
    if len(paths) == 1:
        return _read(paths[0], how)
    tables = []
    for table in [_read(path, how) for path in paths]:
        if isinstance(table, AggregateTable):
            raise InputError(
                "is a summary, and percentiles of summaries cannot be merged",
                file=table.path,
                allowed=f"single requests in every file of FILE{JOIN}FILE",
            )
        tables.append(not_empty(table))
    whole = replace(together(tables), path=Path(JOIN.join(map(str, paths))))
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
