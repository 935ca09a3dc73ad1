# SPDX-License-Identifier: Apache-2.0
"""Single requests to a report: stretch after stretch of a file, of which one latency a request stays in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.formats.collect import RequestStream
from harness.formats.gc_events import GcLog
from harness.formats.line_files import WITHOUT_CONNECTING
from harness.formats.run_parts import RunPart, RunParts, clocks_apart_s, set_back_s
from harness.formats.table import RequestTable, Unreadable, repeats_left_out
from harness.formats.values import add_kinds
from harness.model.phrases import counted
from harness.report.checks import FIRST_ROWS, Checks
from harness.report.course import Course, course_of, joined
from harness.report.latencies import ONE_TRIAL, Labels, resolution_warnings, summarise_latencies
from harness.report.loop import HIDES, doubted, without_correction
from harness.report.numbers import length, rate
from harness.report.peaks import Peaks
from harness.report.ramp import ramp_of
from harness.report.result import QUANTILES, Report, ReportedRun, in_ms
from harness.report.spread import EveryLatency

#: Points drawn at most of one stretch, and of all: the slowest request of each slice of time, so that no peak is lost.
SLICES, MOST_SLICES = 1500, 30_000
#: Whole seconds over less than this say no rate.
SHORTEST_COARSE_S = 10.0
#: Runs of one file that a warning lists.
_RUNS_SHOWN = 3
#: Notes of readers that hold for every file of the tool.
BACKGROUND = frozenset({WITHOUT_CONNECTING})


def read_all(opened: RequestStream | RequestTable) -> RequestTable:
    """Return every request of a file.

    Raises:
        InputError: there is none, or the file cannot be read.
    """
    table = opened.collect() if isinstance(opened, RequestStream) else opened
    if not table.n_requests:
        unreadable = str(table.unreadable) if table.unreadable.n else None
        raise InputError("holds no request", file=table.path, found=unreadable, allowed="at least one row")
    return table


def gather(
    opened: RequestStream | RequestTable | Iterable[RequestTable],
    gc_log: GcLog | None = None,
    *,
    plots: bool = False,
    quantiles: Mapping[str, float] = QUANTILES,
) -> Gathered:
    """Go through a file, or the stretches of one in time order, and keep what the report and its plots need.

    Args:
        plots: keep what only a page with plots shows.

    Raises:
        InputError: the file cannot be read, or its time stamps lie beyond the year 2100.
    """
    if isinstance(opened, RequestTable):
        tables: Iterable[RequestTable] = [opened]
    else:
        tables = opened.stretches() if isinstance(opened, RequestStream) else opened
    gathered: Gathered | None = None
    for table in tables:
        if gathered is None:
            checks = Checks(opened if isinstance(opened, RequestStream) else table)
            gathered = Gathered(table, checks, gc_log, plots=plots, quantiles=quantiles)
        gathered.take(table)
    assert gathered is not None  # a file is one stretch at least
    return gathered


class Gathered:
    """What has been seen of a file: counts, peaks, and the latencies of successful requests."""

    def __init__(
        self,
        first: RequestTable,
        checks: Checks,
        gc_log: GcLog | None,
        *,
        plots: bool,
        quantiles: Mapping[str, float],
    ) -> None:
        self._first, self._checks, self._plots, self._quantiles = first, checks, plots, quantiles
        self._runs = RunParts(from_zero=first.from_zero)
        self._ramp: str | None = None
        self._back_s = 0.0
        self._notes: dict[str, None] = {}
        self._unreadable = Unreadable()
        self._n_requests = self._n_stretches = self._n_repeats = 0
        self._repeats: frozenset[str] = frozenset()
        self._sum_s, self._start_s, self._last_start_s, self._end_s = 0.0, np.inf, -np.inf, -np.inf
        self._latency_s: list[FloatArray] = []
        self._slowest: list[tuple[FloatArray, FloatArray]] = []
        self._courses: list[Course] = []
        self._labels = Labels(first.resolution_s)
        self._kinds: dict[str, int] = {}
        self._log_unused = first.from_zero and gc_log is not None
        self._peaks = Peaks(gc_log=None if first.from_zero else gc_log, resolution_s=first.resolution_s)
        self._finding: Future[None] | None = None

    def take(self, table: RequestTable) -> None:
        """Add the next stretch."""
        self._notes |= dict.fromkeys(note for note in table.notes if note != table.note_on_repeats)
        self._n_repeats += table.n_transactions_left_out
        self._repeats = table.repeats
        self._unreadable = self._unreadable.plus(table.unreadable)
        if not table.n_requests:
            return
        self._n_stretches += 1
        self._n_requests += table.n_requests
        self._sum_s += float(table.latency_s.sum())
        add_kinds(self._kinds, table.errors_by_kind)
        has_times, is_first = table.has_start_times, self._n_stretches == 1
        order = np.argsort(table.start_epoch_s, kind="stable") if has_times else np.arange(table.n_requests)
        start, latency, ok = table.start_epoch_s[order], table.latency_s[order], table.ok[order]
        first_rows = start[:FIRST_ROWS], latency[:FIRST_ROWS]
        if has_times:
            self._start_s = min(self._start_s, float(start[0]))
            self._last_start_s = max(self._last_start_s, float(start[-1]))
            self._end_s = max(self._end_s, float((start + latency).max()))
            self._runs.take(table.start_epoch_s, table.latency_s, table.ok)
            if is_first:
                self._back_s = 0.0 if table.from_zero else set_back_s(table.start_epoch_s, table.latency_s)
                self._checks.look_at_clock(first_rows[0])
            if self._plots:
                step_s = 1.0 if self._checks.coarse else 0.0
                self._courses.append(course_of(start, latency, ok, step_s=step_s))
        if table.n_errors:
            order, start, latency = order[ok], start[ok], latency[ok]
        has_peaks = has_times and len(latency) > 0 and not self._checks.coarse
        if has_peaks:
            self._take_peaks(start, latency, None if table.connect_s is None else table.connect_s[order])
        self._latency_s.append(latency)
        self._labels.take(table, order)
        self._ramp = None  # of a part of the file
        if has_times and is_first:
            self._checks.look(*first_rows)
            ramp = None
            if not self._checks.coarse:
                ramp = ramp_of(table, sides=self._checks.sides, loop=self._checks.loop_kind)
            self._ramp = None if ramp is None else f"{ramp.text}; {ramp.command} leaves it out"
        if has_peaks and self._plots:
            slowest = slowest_of_slices(start, latency)
            self._slowest.append((start[slowest], latency[slowest]))

    def _take_peaks(self, start: FloatArray, latency: FloatArray, connect: FloatArray | None) -> None:
        """Look for the peaks of one stretch while the next is read; beside a runtime's log, at once: it needs more
        memory, and two threads of its own."""
        self._wait_for_peaks()
        if self._peaks.gc_log is not None:
            self._peaks.take(start, latency, connect)
            return
        beside = ThreadPoolExecutor(1)
        self._finding = beside.submit(self._peaks.take, start, latency, connect)
        beside.shutdown(wait=False)  # its thread ends with this stretch

    def _wait_for_peaks(self) -> None:
        if self._finding is not None:
            self._finding.result()
            self._finding = None

    @cached_property
    def latency(self) -> EveryLatency:
        """Those of all successful requests. Ask when nothing more is taken."""
        whole = EveryLatency(np.concatenate(self._latency_s))
        self._latency_s.clear()
        return whole

    @property
    def slowest(self) -> tuple[FloatArray, FloatArray] | None:
        """Start and latency of the slowest request of each moment, for plots; ``None``: no start times."""
        if not self._slowest:
            return None
        start, latency = (np.concatenate(each) for each in zip(*self._slowest, strict=True))
        if len(start) <= MOST_SLICES:
            return start, latency
        order = np.argsort(start, kind="stable")
        at = order[slowest_of_slices(start[order], latency[order], MOST_SLICES)]
        return start[at], latency[at]

    @property
    def course(self) -> Course | None:
        """Rate, errors and percentiles over time, for plots; ``None``: no start times, or not asked for."""
        return joined(self._courses)

    def report(self) -> Report:
        """Return what can be said of all that was taken.

        Raises:
            InputError: there was no request.
        """
        first, bad = self._first, self._unreadable
        if not self._n_requests:
            raise InputError(
                "holds no request" if bad.n else "has no request, only a header", file=first.path,
                found=str(bad) if bad.n else None, allowed="a header and at least one row below it",
            )  # fmt: skip
        latency, n_ok = self.latency, self.latency.n
        notes, background = self._about_the_file(n_ok), [ONE_TRIAL]
        if 0 < n_ok < self._n_requests:
            background.append(
                f"latencies are of the {n_ok:,} successful requests; "
                f"{counted(self._n_requests - n_ok, 'error')} left out"
            )
        background += [note for note in self._notes if note in BACKGROUND]
        result = summarise_latencies(latency, first.resolution_s, self._quantiles)
        notes += resolution_warnings(latency.median(), first.resolution_s) if n_ok else []
        units = self._checks.findings(
            n=self._n_requests, span_s=self._last_start_s - self._start_s, sum_s=self._sum_s, latency=latency
        )
        notes = [item.text for item in units] + notes
        runs = self._runs.runs() if first.has_start_times else ()
        runs = runs if len(runs) > 1 else ()
        sides = self._checks.sides
        of_clock: list[str] = []
        if runs:
            apart_s = (
                None if sides is None or sides.host is None else clocks_apart_s(sides.start_s, sides.host)
            )
            of_clock.append(about_runs(runs, from_zero=first.from_zero, clocks_apart_s=apart_s))
        duration = None if runs else self._duration_s(of_clock)
        if self._back_s and not runs and (sides is None or len(sides.hosts) < 2):
            of_clock.append(
                f"time stamps run backwards by {length(self._back_s * 1e3)}: the clock was set, and the rate is too "
                "high; or files of several load generators were joined, and it is right"
            )
        notes += [self._ramp] if self._ramp is not None and not runs else []
        of_names: list[str] = []
        labels = self._labels.rows(latency, duration, of_names)
        loop = self._checks.loop(latency)
        self._wait_for_peaks()
        listed, shorter = self._peaks.visible()
        if loop is not None:
            loop = without_correction(loop) if runs else doubted(loop, listed)
            for warning in loop.warnings:
                (background if warning == HIDES else notes).append(warning)
        notes += of_clock
        attribution = None if runs else self._attribution(notes, background)
        notes += of_names
        has_peaks = first.has_start_times and not self._checks.coarse and not runs
        busy_s = None if loop is None or not loop.users or not duration else loop.users * duration
        return Report(
            path=first.path,
            source=first.source,
            requests=self._n_requests,
            errors=self._n_requests - n_ok,
            start_epoch_s=self._start_s if first.has_start_times and not first.from_zero else None,
            errors_known=first.ok_known,
            unreadable=bad.n,
            duration_s=duration,
            runs=tuple(_reported(run, from_zero=first.from_zero) for run in runs),
            busy_share=None if busy_s is None else min(self._sum_s / busy_s, 1.0),
            throughput_per_s=self._n_requests / duration if duration else None,
            correct_per_s=n_ok / duration if duration else None,
            resolution_ms=first.resolution_s * 1e3,
            latency_ms=result.values,
            intervals=result.intervals,
            interval_reasons=result.reasons,
            labels=labels,
            loop=loop,
            units=units,
            errors_by_kind=dict(sorted(self._kinds.items(), key=lambda pair: (-pair[1], pair[0]))),
            stalls=listed if has_peaks else None,
            shorter_stalls=shorter if has_peaks else None,
            shortest_visible_ms=in_ms(self._peaks.shortest_visible_s) if has_peaks else None,
            attribution=attribution,
            warnings=(*notes, *background),
            background=frozenset(background),
        )

    def _duration_s(self, text: list[str]) -> float | None:
        """First start to last answer; ``None``: unknown, or a few steps of too coarse a clock."""
        if not self._first.has_start_times:
            return None
        duration = self._end_s - self._start_s
        if self._checks.coarse and duration < SHORTEST_COARSE_S:
            text.append(
                f"time stamps are whole seconds and span less than {SHORTEST_COARSE_S:g} s, so no rate is given"
            )
            return None
        return duration

    def _about_the_file(self, n_ok: int) -> list[str]:
        notes = [repeats_left_out(self._n_repeats, self._repeats)] if self._n_repeats else []
        notes += [note for note in self._notes if note not in BACKGROUND]
        if self._unreadable.n:
            may = "" if self._unreadable.n == self._unreadable.n_cut else "; any of them may have failed"
            notes.append(f"left out: {self._unreadable}{may}")
        if not self._first.ok_known:
            notes.append("the file does not say which requests failed: all are taken as successful")
        if not n_ok:
            notes.append("no request succeeded: no latency is reported")
        return notes

    def _attribution(self, text: list[str], background: list[str]) -> dict[str, Any] | None:
        if not self._first.has_start_times:
            text.append("the file has no start times, so neither stalls nor their causes can be found")
            return None
        if self._checks.coarse:
            text.append(
                "time stamps are whole seconds, so neither loop nor stalls nor their causes can be determined"
            )
            return None
        if self._n_stretches > 1:
            text.append(
                f"stalls and their causes were computed in {self._n_stretches} stretches of the file: shares are means "
                "over the stretches, and a stall across two of them may be counted twice"
            )
        if not self.latency.n:
            return None
        if self._log_unused:
            text.append("the runtime's log was not used: the file does not say when its times begin")
        return self._peaks.attribution(text, background)


def about_runs(runs: Sequence[RunPart], *, from_zero: bool, clocks_apart_s: float | None = None) -> str:
    """Return what is said of several runs in one file, before anything that they share is believed.

    Args:
        clocks_apart_s: where they are the loads of several generators at once, by how much their clocks differ.
    """
    shown = [
        f"{run.rows:,} requests in {length((run.end_s - run.start_s) * 1e3)}"
        + (f" ({rate(run.per_s)}/s)" if run.per_s is not None else "")
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
    after = _span(runs[1].start_s - runs[0].start_s)
    gap = length((runs[1].start_s - runs[0].end_s) * 1e3)
    return (
        f"the file holds {len(runs)} runs, or its clock was set: {', '.join(shown)}{more}; nothing was in flight for "
        f"{gap} between the first two (JMeter appends to a file that is there). No rate of all; --to {after} reports "
        f"the first run, --from {after} what follows it"
    )


def _span(seconds: float) -> str:
    """A span of time as an option takes it, no longer than ``seconds``."""
    return f"{np.floor(seconds * 1e3) / 1e3:.10g}s"


def _reported(run: RunPart, *, from_zero: bool) -> ReportedRun:
    return ReportedRun(
        start_epoch_s=None if from_zero else run.start_s,
        duration_s=run.end_s - run.start_s,
        requests=run.rows,
        errors=run.errors,
        throughput_per_s=run.per_s,
    )


def slowest_of_slices(start: FloatArray, latency: FloatArray, n_slices: int = SLICES) -> npt.NDArray[np.intp]:
    """Return the indices of the slowest request of each slice of time, in time order.

    Args:
        start, latency: shapes (n,), n > 0, by start.
    """
    width = max(float(start[-1] - start[0]) / n_slices, 1e-9)
    slices = np.minimum(((start - start[0]) / width).astype(np.int64), n_slices - 1)
    begins = np.flatnonzero(np.append(True, np.diff(slices) > 0))
    most = np.repeat(np.maximum.reduceat(latency, begins), np.diff(np.append(begins, len(start))))
    at = np.flatnonzero(latency == most)
    return np.asarray(at[np.append(True, np.diff(slices[at]) > 0)])
