# SPDX-License-Identifier: Apache-2.0
"""Single requests to a report: stretch after stretch of a file, one number kept of each request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.report_checks import FIRST_ROWS, Checks
from harness.analysis.report_latencies import summarise_latencies
from harness.analysis.report_peaks import Peaks
from harness.analysis.report_result import Report, in_ms
from harness.analysis.report_units import Units
from harness.analysis.slow_periods import Stall
from harness.errors import InputError
from harness.formats.collect import RequestStream
from harness.formats.gc_events import GcLog
from harness.formats.jtl_sides import JtlSides, read_sides
from harness.formats.table import RequestTable, Unreadable

FloatArray = npt.NDArray[np.float64]
#: Points drawn at most of one stretch: the slowest request of each slice of time, so that no peak is lost.
SLICES = 1500


def stretches(opened: RequestStream | RequestTable) -> Iterable[RequestTable]:
    """Return what was opened in parts that fit into memory, in time order; what was read already is one part."""
    return [opened] if isinstance(opened, RequestTable) else opened.stretches()


def gather_file(opened: RequestStream | RequestTable, gc_log: GcLog | None = None) -> Gathered:
    """Go through what was opened, with the columns beside that only checks need.

    Raises:
        InputError: the file cannot be read, or its time stamps lie beyond the year 2100.
    """
    sides = None
    units = None
    if isinstance(opened, RequestStream):
        sides = read_sides(opened.path, opened.layout) if opened.source == "jmeter" else None
        header = opened.layout.header
        name = header[opened.layout.latency] if header else "elapsed"
        units = Units(
            opened.layout.latency_units_per_s,
            file=opened.path.name,
            column=name,
            can_be_said=opened.source == "jmeter",
        )
    return gather(stretches(opened), gc_log, sides=sides, units=units)


def gather(
    tables: Iterable[RequestTable],
    gc_log: GcLog | None = None,
    *,
    sides: JtlSides | None = None,
    units: Units | None = None,
) -> Gathered:
    """Go through the stretches of one file, in time order, and keep what the report and its plots need."""
    gathered: Gathered | None = None
    for table in tables:
        gathered = gathered or Gathered(table, gc_log, sides, units)
        gathered.take(table)
    assert gathered is not None  # a file is one stretch at least
    return gathered


class Gathered:
    """What has been seen of a file: counts, peaks, and the latency of every successful request."""

    def __init__(
        self,
        first: RequestTable,
        gc_log: GcLog | None,
        sides: JtlSides | None = None,
        units: Units | None = None,
    ) -> None:
        self._first = first
        log = None if first.from_zero else gc_log
        self._checks = Checks(first, log, sides, units)
        self._notes: dict[str, None] = {}
        self._unreadable = Unreadable()
        self._n_left_out = self._n_requests = self._n_stretches = 0
        self._sum_s, self._start_s, self._last_start_s, self._end_s = 0.0, np.inf, -np.inf, -np.inf
        self._latency: list[FloatArray] = []
        self._slowest: list[tuple[FloatArray, FloatArray]] = []
        self._log_unused = first.from_zero and gc_log is not None
        self._peaks = Peaks(gc_log=log, resolution_s=first.resolution_s)

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
        start, latency, connect = table.start_epoch_s, table.latency_s, table.connect_s
        if table.has_start_times:
            self._start_s = min(self._start_s, float(start.min()))
            self._last_start_s = max(self._last_start_s, float(start.max()))
            self._end_s = max(self._end_s, float((start + latency).max()))
            order = np.argsort(start, kind="stable")
            if self._n_stretches == 1:
                self._checks.look(start[order[:FIRST_ROWS]], latency[order[:FIRST_ROWS]])
            if table.n_errors:
                order = order[table.ok[order]]
            start, latency = start[order], latency[order]
            connect = None if table.connect_s is None else table.connect_s[order]
        elif table.n_errors:
            latency = latency[table.ok]
        self._latency.append(latency)
        if table.has_start_times and len(latency) and not self._checks.coarse:
            self._peaks.take(start, latency, connect)
            slowest = slowest_of_slices(start, latency)
            self._slowest.append((start[slowest], latency[slowest]))

    @property
    def latency_s(self) -> FloatArray:
        """Of every successful request in the order of their starts, shape (n,)."""
        if len(self._latency) != 1:
            whole, n_there = np.empty(sum(map(len, self._latency))), 0
            while self._latency:  # one after the other, so that all are never there twice
                part = self._latency.pop(0)
                whole[n_there : n_there + len(part)] = part
                n_there += len(part)
            self._latency = [whole]
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
        values, intervals = summarise_latencies(latency, first.resolution_s, said)
        found = self._checks.findings(
            n=self._n_requests, span_s=self._last_start_s - self._start_s, sum_s=self._sum_s, latency=latency
        )
        said = [one.text for one in found] + said
        loop = self._checks.loop(latency, self._peaks.stalls)
        said += loop.warnings if loop is not None else ()
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
            loop=loop,
            units=found,
            stalls=stalls,
            shortest_visible_ms=in_ms(self._peaks.shortest_visible_s),
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
        if self._checks.coarse:
            said.append(
                "time stamps are whole seconds: neither loop, stalls nor attribution can be told from them"
            )
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
