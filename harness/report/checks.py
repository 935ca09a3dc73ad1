# SPDX-License-Identifier: Apache-2.0
"""What the first requests of a file tell of all of them: their loop, their units, how fine their times are."""

from __future__ import annotations

import numpy as np

from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.formats.gc_events import GcLog
from harness.formats.jtl_units import ERA_S, NAMES, UNITS_PER_S, era_unit
from harness.formats.sides import SideColumns
from harness.formats.table import RequestTable
from harness.report.loop import RHYTHM_ROWS, Kind, Loop, corrected, judge_loop
from harness.report.spread import Spread
from harness.report.units import (
    UnitFinding,
    Units,
    contradictions,
    pauses_contradict,
    remarkable,
    rhythm_contradicts,
)

#: Requests by whose rhythm and pauses loop and unit are judged.
FIRST_ROWS = 2 * RHYTHM_ROWS
#: So many starts on whole seconds are no chance: the file has no finer ones.
FEWEST_FOR_COARSE = 20


class Checks:
    """One file's. ``coarse``: its time stamps are whole seconds."""

    def __init__(
        self, first: RequestTable, gc_log: GcLog | None, sides: SideColumns | None, units: Units | None
    ) -> None:
        self._first, self._gc_log, self._sides = first, gc_log, sides
        self._units = units or Units(
            UNITS_PER_S["ms"], file=first.path.name, column="latency", can_be_said=False
        )
        self._loop: tuple[Loop, float | None] | None = None
        self._found: list[UnitFinding] = []
        self.coarse = False

    def look_at_clock(self, start: FloatArray) -> None:
        """Look at the starts of the first requests, ascending, shape (n,), n > 0, seconds.

        Raises:
            InputError: the time stamps lie after the year 2100.
        """
        if not self._first.from_zero:
            self._check_era(float(start[0]))
        self.coarse = len(start) >= FEWEST_FOR_COARSE and bool((start == np.floor(start)).all())

    def look(self, start: FloatArray, latency: FloatArray) -> None:
        """Look at the first requests, failed ones too, by start, shapes (n,), n > 0, seconds.

        Raises:
            InputError: as ``look_at_clock``.
        """
        self.look_at_clock(start)
        if self.coarse:
            return
        self._found += self._contradictions(start, latency)
        self._loop = judge_loop(
            start,
            latency,
            source=self._first.source,
            resolution_s=self._first.resolution_s,
            sides=self._sides,
        )

    def findings(self, *, n: int, span_s: float, sum_s: float, latency: Spread) -> tuple[UnitFinding, ...]:
        """Return what does not fit the unit of the latencies, or is rare enough to be asked about.

        Args:
            n, span_s, sum_s: of all requests: how many, first start to last, and all latencies together.
            latency: of the successful ones.
        """
        if self._found or self.coarse or not self._first.has_start_times or not latency.n:
            return tuple(self._found)
        return remarkable(n=n, span_s=span_s, sum_s=sum_s, median_s=latency.median(), units=self._units)

    @property
    def loop_kind(self) -> Kind:
        """Which loop it is, as far as the first requests tell."""
        return "cannot say" if self._loop is None or self._found else self._loop[0].kind

    def loop(self, latency: Spread) -> Loop | None:
        """Return the loop with the corrected tail; ``None``: there are no times to tell it from."""
        if self._loop is None:
            return None
        if self._found:
            return Loop(
                kind="cannot say",
                users=None,
                evidence=(
                    "the latencies contradict other columns or the time stamps, so the loop cannot be determined",
                ),
            )
        return corrected(*self._loop, latency)

    def _contradictions(self, start: FloatArray, latency: FloatArray) -> tuple[UnitFinding, ...]:
        if self._sides is not None:
            result = contradictions(self._sides, self._units)
            if result:
                return result
        second = rhythm_contradicts(start, latency, self._units)
        if second is None and self._gc_log is not None and self._gc_log.clock == "epoch":
            pauses = [
                (event.start_s, event.end_s)
                for event in self._gc_log.events
                if event.end_s >= start[0] and event.start_s <= start[-1]
            ]
            second = pauses_contradict(start, latency, pauses, self._units)
        return () if second is None else (second,)

    def _check_era(self, start_s: float) -> None:
        """Later than the year 2100 is another unit: nothing that depends on time would be right."""
        if start_s < ERA_S[1]:
            return
        unit = era_unit(start_s)
        raise InputError(
            "time stamps lie after the year 2100"
            + (f"; in {NAMES[unit]} they would be right" if unit is not None else ""),
            file=self._first.path,
            place="time stamps, read as seconds",
            found=f"{start_s:.15g}",
            allowed="seconds since 1970: convert the column",
        )
