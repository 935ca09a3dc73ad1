# SPDX-License-Identifier: Apache-2.0
"""Analyse a file of requests that did not come from here: JMeter's, Locust's, anybody's.

Everything said is about this one file, that is one process under one load: its intervals
do not carry over to a second trial, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.analysis.checks import judge_resolution
from harness.analysis.quantiles import quantile_ci
from harness.analysis.report_peaks import Peaks
from harness.analysis.resources import Resources
from harness.analysis.slow_periods import Stall
from harness.analysis.within_trial import batch_means_ci
from harness.errors import InputError
from harness.formats.collect import RequestStream
from harness.formats.detect import open_any
from harness.formats.gc_events import GcLog
from harness.formats.table import AggregateTable, RequestTable, Unreadable
from harness.model import Estimate, Frozen

FloatArray = npt.NDArray[np.float64]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
FEWEST_FOR_INTERVALS = 100
#: No load generator of one machine keeps more requests open on average, and none is answered sooner.
MOST_OUTSTANDING, SHORTEST_S = 2000.0, 5e-6
#: Points drawn at most of one stretch: the slowest request of each slice of time, so that no peak is lost.
SLICES = 1500


class Report(Frozen):
    """What can be said of one file. ``None``: cannot be said, and ``warnings`` say why."""

    path: Path
    source: str
    requests: int
    errors: int
    start_epoch_s: float | None
    duration_s: float | None
    throughput_per_s: float | None = Field(description="answers per second, errors included")
    correct_per_s: float | None
    resolution_ms: float
    latency_ms: dict[str, float | None] = Field(
        description="of successful requests: mean, p50 ... p99.9, max"
    )
    intervals: dict[str, tuple[float, float] | None]
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    stalls: tuple[Stall, ...] | None = Field(
        description="None: the file has no single requests, or no start times"
    )
    causes: tuple[str | None, ...] = Field(default=(), description="of each stall; None: no log was given")
    attribution: dict[str, Any] | None = None
    resources: dict[str, Resources] | None = Field(
        default=None, description="of each process; None: no samples were given"
    )
    warnings: tuple[str, ...] = ()

    def with_samples(self, path: Path) -> Report:
        """Return the same report with what a file of resource samples says.

        Raises:
            InputError: the file cannot be read, or holds no samples.
        """
        from harness.analysis.report_samples import summarise_samples  # pandas: half a second to load

        window = None
        if self.start_epoch_s is not None and self.duration_s is not None:
            window = (self.start_epoch_s, self.start_epoch_s + self.duration_s)
        found = summarise_samples(path, window)
        said = (*self.warnings, *(f"samples: {warning}" for warning in found.warnings))
        return self.model_copy(update={"resources": found.processes, "warnings": said})

    def as_json(self) -> dict[str, Any]:
        """The report as a program reads it, with null for what cannot be said."""
        plain = self.model_dump(mode="json", exclude={"path", "stalls", "causes"})
        plain["path"] = str(self.path)
        plain["stalls"] = [
            {
                "start_epoch_s": stall.start_s,
                "end_epoch_s": stall.end_s,
                "kind": stall.kind,
                "cause": cause,
                "requests": stall.n_requests,
            }
            for stall, cause in zip(
                self.stalls or (), self.causes or [None] * len(self.stalls or ()), strict=True
            )
        ]
        return plain


def report_file(path: Path, gc_log: GcLog | None = None) -> Report:
    """Read ``path`` and analyse it; with ``gc_log``, attribute its peaks to the runtime's pauses.

    A file of any size: single requests are read in stretches, and one number is kept of each.

    Raises:
        InputError: the file is not one that can be read, or holds no request at all.
    """
    opened = open_any(path)
    if isinstance(opened, AggregateTable):
        return _of_totals(opened, gc_log)
    return gather(stretches(opened), gc_log).report()


def report_table(table: RequestTable | AggregateTable, gc_log: GcLog | None = None) -> Report:
    """Analyse what has been read already.

    Raises:
        InputError: it holds no request at all.
    """
    if isinstance(table, AggregateTable):
        return _of_totals(table, gc_log)
    return gather([table], gc_log).report()


def _of_totals(table: AggregateTable, gc_log: GcLog | None) -> Report:
    total = table.total
    if total is None:
        raise InputError(
            "holds no totals over all requests",
            file=table.path,
            found=table.kind,
            allowed="Locust's _stats.csv, or raw samples",
        )
    known = total.latency_quantiles_s
    latency: dict[str, float | None] = {"mean": _ms(total.latency_mean_s)}
    latency |= {name: _ms(known.get(name)) for name in QUANTILES}
    latency["max"] = _ms(total.latency_max_s)
    said = [
        *table.notes,
        "totals only: no interval, stall or attribution can come from them; keep single requests",
    ]
    if gc_log is not None:
        said.append("the runtime's log was not used: this file has no single requests")
    return Report(
        path=table.path,
        source=table.source,
        requests=total.n_requests,
        errors=total.n_errors,
        start_epoch_s=table.start_epoch_s,
        duration_s=table.duration_s,
        throughput_per_s=total.answers_per_s,
        correct_per_s=None
        if total.answers_per_s is None or not total.n_requests
        else total.answers_per_s * (1 - total.n_errors / total.n_requests),
        resolution_ms=table.resolution_s * 1e3,
        latency_ms=latency,
        intervals=dict.fromkeys(["mean", *QUANTILES]),
        errors_by_kind=table.errors_by_kind,
        stalls=None,
        warnings=tuple(said),
    )


def stretches(opened: RequestStream | RequestTable) -> Iterable[RequestTable]:
    """Return what was opened in parts that fit into memory, in time order; what was read already is one part."""
    return [opened] if isinstance(opened, RequestTable) else opened.stretches()


def gather(tables: Iterable[RequestTable], gc_log: GcLog | None = None) -> Gathered:
    """Go through the stretches of one file, in time order, and keep what the report and its plots need."""
    gathered: Gathered | None = None
    for table in tables:
        gathered = gathered or Gathered(table, gc_log)
        gathered.take(table)
    assert gathered is not None  # a file is one stretch at least
    return gathered


class Gathered:
    """What has been seen of a file: counts, peaks, and the latency of every successful request."""

    def __init__(self, first: RequestTable, gc_log: GcLog | None) -> None:
        self._first = first
        self._notes: dict[str, None] = {}
        self._unreadable = Unreadable()
        self._n_left_out = self._n_requests = self._n_stretches = 0
        self._sum_s, self._start_s, self._last_start_s, self._end_s = 0.0, np.inf, -np.inf, -np.inf
        self._latency: list[FloatArray] = []
        self._slowest: list[tuple[FloatArray, FloatArray]] = []
        self._log_unused = first.from_zero and gc_log is not None
        self._peaks = Peaks(gc_log=None if first.from_zero else gc_log, resolution_s=first.resolution_s)

    def take(self, table: RequestTable) -> None:
        """Add the next stretch."""
        self._notes |= dict.fromkeys(table.notes)
        self._unreadable = self._unreadable.plus(table.unreadable)
        self._n_left_out += table.n_transactions_left_out
        if not table.n_requests:
            return
        self._n_stretches += 1
        self._n_requests += table.n_requests
        self._sum_s += float(table.latency_s.sum())
        start, latency = table.start_epoch_s, table.latency_s
        if table.has_start_times:
            self._start_s = min(self._start_s, float(start.min()))
            self._last_start_s = max(self._last_start_s, float(start.max()))
            self._end_s = max(self._end_s, float((start + latency).max()))
            order = np.argsort(start, kind="stable")
            if table.n_errors:
                order = order[table.ok[order]]
            start, latency = start[order], latency[order]
        elif table.n_errors:
            latency = latency[table.ok]
        self._latency.append(latency)
        if table.has_start_times and len(latency):
            self._peaks.take(start, latency)
            slowest = slowest_of_slices(start, latency)
            self._slowest.append((start[slowest], latency[slowest]))

    @property
    def latency_s(self) -> FloatArray:
        """Of every successful request in the order of their starts, shape (n,)."""
        if len(self._latency) != 1:
            self._latency = [np.concatenate(self._latency) if self._latency else np.empty(0)]
        return self._latency[0]

    @property
    def slowest(self) -> tuple[FloatArray, FloatArray] | None:
        """Start and latency of the slowest request of each moment, for plots; ``None``: no start times."""
        if not self._slowest:
            return None
        start, latency = (np.concatenate(each) for each in zip(*self._slowest, strict=True))
        return start, latency

    def report(self) -> Report:
        """Return what can be said of all that was taken.

        Raises:
            InputError: there was no request.
        """
        first, latency = self._first, self.latency_s
        if not self._n_requests:
            raise InputError(
                "holds no request",
                file=first.path,
                found=str(self._unreadable),
                allowed="a header and at least one row",
            )
        said = self._about_the_file(len(latency))
        values, intervals = _latencies(latency, first.resolution_s, said)
        said += self._unit_check(latency)
        duration = self._end_s - self._start_s if first.has_start_times else None
        stalls, attribution = self._peaks_found(said)
        return Report(
            path=first.path,
            source=first.source,
            requests=self._n_requests,
            errors=self._n_requests - len(latency),
            start_epoch_s=self._start_s if first.has_start_times and not first.from_zero else None,
            duration_s=duration,
            throughput_per_s=self._n_requests / duration if duration else None,
            correct_per_s=len(latency) / duration if duration else None,
            resolution_ms=first.resolution_s * 1e3,
            latency_ms=values,
            intervals=intervals,
            stalls=stalls,
            causes=tuple(self._peaks.causes),
            attribution=attribution,
            warnings=tuple(said),
        )

    def _about_the_file(self, n_ok: int) -> list[str]:
        said = list(self._notes)
        if self._unreadable.n:
            said.append(f"left out: {self._unreadable}")
        if self._n_left_out:
            said.append(f"left out: {self._n_left_out} rows that sum up other rows")
        if not self._first.ok_known:
            said.append("the file does not say which requests failed: all are taken as successful")
        if n_ok < self._n_requests:
            said.append(
                f"latencies are of the {n_ok:,} successful requests; {self._n_requests - n_ok:,} errors are left out"
                if n_ok
                else "no request succeeded: there is no latency to speak of"
            )
        return said

    def _peaks_found(self, said: list[str]) -> tuple[tuple[Stall, ...] | None, dict[str, Any] | None]:
        if not self._first.has_start_times:
            said.append("no start times: neither stalls nor attribution")
            return None, None
        if self._n_stretches > 1:
            said.append(
                f"stalls and attribution were computed in {self._n_stretches} stretches of the file, one after the "
                "other: shares are means over them, and a stall across two may be seen as two"
            )
        if not len(self.latency_s):
            return (), None
        if self._log_unused:
            said.append("the runtime's log was not used: the file does not say when its times begin")
        return tuple(self._peaks.stalls), self._peaks.attribution(said)

    def _unit_check(self, latency: FloatArray) -> list[str]:
        """Latencies many times longer than the whole file lasted are in another unit."""
        if not self._first.has_start_times or self._n_requests < 2 or not len(latency):
            return []
        span, typical = self._last_start_s - self._start_s, float(np.median(latency))
        outstanding = self._sum_s / span if span > 0 else 0.0
        if span > 0 and typical > 2 * span:
            return [
                f"the median latency ({typical:,.1f} s) is longer than all requests took to start ({span:,.1f} s): "
                "are latencies in microseconds rather than milliseconds?"
            ]
        if outstanding > MOST_OUTSTANDING:
            return [
                f"these latencies would mean {outstanding:,.0f} requests outstanding on average: "
                "are they in microseconds rather than milliseconds?"
            ]
        if 0 < typical < SHORTEST_S:
            return [
                f"a median latency of {typical * 1e6:.2g} us is shorter than any way to a service and back: "
                "are latencies in seconds rather than milliseconds?"
            ]
        return []


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


def _latencies(
    latency: FloatArray, resolution_s: float, said: list[str]
) -> tuple[dict[str, float | None], dict[str, tuple[float, float] | None]]:
    names = ["mean", *QUANTILES, "max"]
    if not len(latency):
        return dict.fromkeys(names), dict.fromkeys(names[:-1])
    values: dict[str, float | None] = {"mean": float(latency.mean()) * 1e3}
    intervals: dict[str, tuple[float, float] | None] = {"mean": None}
    if len(latency) >= FEWEST_FOR_INTERVALS:
        intervals["mean"] = _bounds_ms(batch_means_ci(latency))
    else:
        said.append(f"{len(latency)} successful requests: too few for an interval")
    for name, q in QUANTILES.items():
        estimate = quantile_ci(latency, q)
        values[name] = _ms(estimate.value)
        intervals[name] = _bounds_ms(estimate)
        said += [f"{name}: {warning}" for warning in estimate.warnings if estimate.value is None]
    values["max"] = float(latency.max()) * 1e3
    said += judge_resolution(float(np.median(latency)), resolution_s, "quantile")[2]
    said.append(
        "intervals speak of this one trial only; another start of the same process may lie outside them"
    )
    return values, intervals


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _bounds_ms(estimate: Estimate) -> tuple[float, float] | None:
    if estimate.low is None or estimate.high is None:
        return None
    return estimate.low * 1e3, estimate.high * 1e3
