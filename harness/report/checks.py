# SPDX-License-Identifier: Apache-2.0
"""The first requests of a file: their loop, whether their units can be true, and how fine their times are."""

from __future__ import annotations

import numpy as np

from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.formats.collect import RequestStream
from harness.formats.jtl_units import ERA_S, NAMES, UNITS_PER_S, era_unit
from harness.formats.table import RequestTable
from harness.report.loop import RHYTHM_ROWS, Kind, Loop, corrected, judge_loop
from harness.report.spread import EveryLatency
from harness.report.units import UnitFinding, Units, contradictions, remarkable

#: Requests by whose rhythm a loop is judged.
FIRST_ROWS = 2 * RHYTHM_ROWS
#: So many starts on whole seconds are no chance: the file has no finer ones.
FEWEST_FOR_COARSE = 20


class Checks:
    """Those of one file. ``sides``: columns that only checks need; ``coarse``: its time stamps are whole seconds."""

    def __init__(self, opened: RequestStream | RequestTable) -> None:
        self._opened, self.sides, self.coarse = opened, opened.sides, False
        self._loop: tuple[Loop, float | None] | None = None
        self._contradictions: tuple[UnitFinding, ...] = ()
        self._units = Units(
            UNITS_PER_S["ms"], file=opened.path.name, column="latency", can_be_said=opened.source == "jmeter"
        )
        if isinstance(opened, RequestStream):
            layout = opened.layout
            self._units.units_per_s = layout.latency_units_per_s
            self._units.column = layout.header[layout.latency] if layout.header else "elapsed"

    def look_at_clock(self, start: FloatArray) -> None:
        """Look at the starts of the first requests, ascending, shape (n,), n > 0, seconds.

        Raises:
            InputError: the time stamps lie after the year 2100.
        """
        if not self._opened.from_zero and (first_s := float(start[0])) >= ERA_S[1]:
            unit = era_unit(first_s)
            raise InputError(
                "time stamps lie after the year 2100"
                + (f"; in {NAMES[unit]} they would be right" if unit is not None else ""),
                file=self._opened.path,
                place="time stamps, read as seconds",
                found=f"{first_s:.15g}",
                allowed="seconds since 1970: convert the column",
            )
        self.coarse = len(start) >= FEWEST_FOR_COARSE and bool((start == np.floor(start)).all())

    def look(self, start: FloatArray, latency: FloatArray) -> None:
        """Look at the first requests, failed ones too, by start, shapes (n,), n > 0, seconds.

        Raises:
            InputError: as ``look_at_clock``.
        """
        self.look_at_clock(start)
        if self.coarse:
            return
        self._contradictions = () if self.sides is None else contradictions(self.sides, self._units)
        self._loop = judge_loop(
            start,
            latency,
            source=self._opened.source,
            resolution_s=self._opened.resolution_s,
            sides=self.sides,
        )

    def look_at_all(self, table: RequestTable) -> tuple[tuple[UnitFinding, ...], EveryLatency]:
        """Look at a table with start times; return the findings, and the latencies of its successful requests by start.

        Raises:
            InputError: as ``look_at_clock``.
        """
        order = np.argsort(table.start_epoch_s, kind="stable")
        start, latency = table.start_epoch_s[order], table.latency_s[order]
        self.look(start[:FIRST_ROWS], latency[:FIRST_ROWS])
        answered = EveryLatency(latency[table.ok[order]])
        span_s, sum_s = float(start[-1] - start[0]), float(latency.sum())
        return self.findings(n=len(start), span_s=span_s, sum_s=sum_s, latency=answered), answered

    def findings(
        self, *, n: int, span_s: float, sum_s: float, latency: EveryLatency
    ) -> tuple[UnitFinding, ...]:
        """Return what does not fit the unit of the latencies, or is rare enough to be asked about.

        Args:
            n, span_s, sum_s: of all requests: how many, first start to last, and all latencies together.
            latency: of the successful ones.
        """
        if self._contradictions or self._loop is None or not latency.n:
            return self._contradictions
        return remarkable(n=n, span_s=span_s, sum_s=sum_s, units=self._units)

    @property
    def loop_kind(self) -> Kind:
        """Which loop it is, as far as the first requests tell."""
        return "cannot say" if self._loop is None or self._contradictions else self._loop[0].kind

    def loop(self, latency: EveryLatency) -> Loop | None:
        """Return the loop with the corrected tail; ``None``: there are no times to tell it from."""
        if self._loop is None:
            return None
        if self._contradictions:
            text = (
                "the latencies contradict other columns or the time stamps, so the loop cannot be determined"
            )
            return Loop(kind="cannot say", users=None, evidence=(text,))
        return corrected(*self._loop, latency)
