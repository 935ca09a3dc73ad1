# SPDX-License-Identifier: Apache-2.0
"""The first requests of a file: their loop, how fine their times are, and whether response times are in the unit they
are read in.

A response time has no unit of its own. What contradicts one are the other columns of the same rows. Without them
milliseconds and microseconds look alike: then nothing is said, or only what the figures would mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import Field

from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.formats.jtl_units import ERA_S, NAMES, UNITS_PER_S, LatencyUnit, era_unit
from harness.formats.table import RequestTable, SideColumns
from harness.model import Frozen
from harness.report.loop import RHYTHM_ROWS, Loop, judge_loop

#: Requests by whose rhythm a loop is judged.
FIRST_ROWS = 2 * RHYTHM_ROWS
#: So many starts on whole seconds are no chance: the file has no finer ones.
FEWEST_FOR_COARSE = 20
#: What is read as milliseconds may be micro- or nanoseconds; what is read as milliseconds may be seconds.
SMALLER = (1e-3, 1e-6)
LARGER = 1e3
#: Of requests or cases, for anything to be said.
FEWEST = 20
#: No generator keeps more requests open on average than it has ports.
REMARKABLE_OUTSTANDING = 2000.0


class UnitFinding(Frozen):
    """Something that does not fit the unit in which a column was read."""

    column: str
    read_as: str
    rather: str | None = Field(description="the unit in which it would fit; None: in no other either")
    contradicted: bool = Field(description="False: possible, but rare enough to be asked about")
    text: str


class Checks(NamedTuple):
    """What the first requests of a file tell.

    ``coarse``: its time stamps are whole seconds. ``loop``: without correction; ``None``: there are no times to tell it
    from. ``interval_s``: of one user, from request to request; ``None``: nothing can be corrected by it.
    """

    coarse: bool = False
    units: tuple[UnitFinding, ...] = ()
    loop: Loop | None = None
    interval_s: float | None = None


def is_coarse(start: FloatArray) -> bool:
    """Tell whether starts in seconds, in ascending order, are whole ones."""
    first = start[:FIRST_ROWS]
    return len(first) >= FEWEST_FOR_COARSE and bool((first == np.floor(first)).all())


def check_requests(requests: RequestTable) -> Checks:
    """Check requests that are ordered by their start, failed ones too, n > 0; raises InputError: the time stamps lie
    after the year 2100."""
    if not requests.has_start_times:
        return Checks()
    start, latency = requests.start_epoch_s, requests.latency_s
    if not requests.from_zero and (first_s := float(start[0])) >= ERA_S[1]:
        unit = era_unit(first_s)
        raise InputError(
            "time stamps lie after the year 2100"
            + (f"; in {NAMES[unit]} they would be right" if unit is not None else ""),
            file=requests.path,
            place="time stamps, read as seconds",
            found=f"{first_s:.15g}",
            allowed="seconds since 1970: convert the column",
        )
    if is_coarse(start):
        return Checks(coarse=True)
    findings = () if requests.sides is None else _contradictions(requests, requests.sides)
    if findings:
        text = "the latencies contradict other columns or the time stamps, so the loop cannot be determined"
        return Checks(units=findings, loop=Loop(kind="cannot say", users=None, evidence=(text,)))
    loop, interval_s = judge_loop(
        start[:FIRST_ROWS],
        latency[:FIRST_ROWS],
        source=requests.source,
        resolution_s=requests.resolution_s,
        sides=requests.sides,
    )
    if requests.ok.any():
        findings = _remarkable(requests)
    return Checks(units=findings, loop=loop, interval_s=interval_s)


def _finding(
    requests: RequestTable, result: str, factor: float | None, then: str, *, contradicted: bool = True
) -> UnitFinding:
    """The finding: what was found, and what it would be with latencies ``factor`` times those read."""

    def unit(factor: float) -> LatencyUnit | None:
        per_s = requests.latency_units_per_s / factor
        return next((name for name, known in UNITS_PER_S.items() if abs(known / per_s - 1) < 1e-6), None)

    column, own = requests.latency_column, unit(1.0)
    second = None if factor is None else unit(factor)
    text = f"{requests.path.name}: column {column}, read as {NAMES[own] if own else 'given'}: {result}"
    if second is not None:
        how = f"convert the column to {NAMES[own or 'ms']}"
        if requests.source == "jmeter":
            how = f"use --latency-unit {second}"
        text += f"; in {NAMES[second]} {then}; if that is right, {how}"
    return UnitFinding(
        column=column, read_as=own or "given", rather=second, contradicted=contradicted, text=text
    )


def _remarkable(requests: RequestTable) -> tuple[UnitFinding, ...]:
    """What is possible, but rarer than a mistake of units; nothing in the file contradicts it."""
    n, span_s = requests.n_requests, float(requests.start_epoch_s[-1] - requests.start_epoch_s[0])
    outstanding = float(requests.latency_s.sum()) / span_s if span_s > 0 else 0.0
    if outstanding <= REMARKABLE_OUTSTANDING or n < FEWEST:
        return ()
    factor = next((f for f in SMALLER if outstanding * f <= REMARKABLE_OUTSTANDING), SMALLER[-1])
    text = f"{outstanding:,.0f} requests were outstanding on average (a service far behind?)"
    then = f"it would be {outstanding * factor:.2g}"
    return (_finding(requests, text, factor, then, contradicted=False),)


#: Rows that sum up others, and files of several generators under the same names of threads, make a thread several times
#: as busy as one thing at a time can: a few times, not this often. A wrong unit makes it a thousand times.
MOST_BUSY = 50.0
_FEWEST_STEPS = 5.0


def _contradictions(requests: RequestTable, sides: SideColumns) -> tuple[UnitFinding, ...]:
    """What the other columns of the same rows say against the unit of the response times."""
    if _first_byte_agrees(sides):
        return ()  # however often a thread overlaps itself: the file joins several generators
    checks = (_threads_too_busy, _first_byte_after_the_last, _first_byte_is_the_same_number)
    return tuple(result for check in checks if (result := check(requests, sides)) is not None)


def _first_byte_agrees(sides: SideColumns) -> bool:
    """Whether JMeter's own milliseconds to the first byte are most of the time, and never more, in most rows."""
    if sides.first_byte_ms is None:
        return False
    some = np.isfinite(sides.first_byte_ms) & (sides.first_byte_ms >= _FEWEST_STEPS)
    part, whole = sides.first_byte_ms[some], sides.latency_s[some] * 1e3
    if len(part) < FEWEST:
        return False
    return float(((part <= whole + 1) & (part >= whole / 2)).mean()) >= 0.9


def _threads_too_busy(requests: RequestTable, sides: SideColumns) -> UnitFinding | None:
    """A thread does one thing at a time: from start to start it cannot have been busy for longer than that."""
    share = sides.joined_engines
    if len(sides.pairs[0]) < FEWEST or share <= MOST_BUSY:
        return None
    factor = next((f for f in SMALLER if share * f <= 2.0), None)
    return _finding(
        requests,
        f"threads would have been busy for {share:,.0f} times the time that passed between their requests",
        factor,
        f"it would be {share * (factor or 1):.2g} times",
    )


def _first_byte_after_the_last(requests: RequestTable, sides: SideColumns) -> UnitFinding | None:
    """JMeter's Latency and Connect, in whole milliseconds, are parts of elapsed."""
    for name, part_ms in (("Latency", sides.first_byte_ms), ("Connect", sides.connect_ms)):
        if part_ms is None:
            continue
        some = np.isfinite(part_ms) & (part_ms > 0)
        part, whole = part_ms[some], sides.latency_s[some] * 1e3
        # Rounding takes up to one step from the whole, and adds up to one to the part.
        beyond = part > whole + 1.0 + 1e3 / requests.latency_units_per_s
        if len(part) < FEWEST or beyond.mean() < 0.5:
            continue
        fits = whole * LARGER + 1e6 / requests.latency_units_per_s + 1.0 >= part
        return _finding(
            requests,
            f"it is shorter than {name}, a part of it, in {beyond.mean():.0%} of {len(part):,} rows "
            f"(median {np.median(whole):,.3g} ms against {np.median(part):,.3g} ms)",
            LARGER if fits.mean() > 0.95 else None,
            "it would be longer",
        )
    return None


def _first_byte_is_the_same_number(requests: RequestTable, sides: SideColumns) -> UnitFinding | None:
    """A first byte that comes after a thousandth of the time, to the millisecond, is the same time in another unit."""
    if sides.first_byte_ms is None:
        return None
    # Of a few milliseconds rounding leaves too little to compare.
    some = np.isfinite(sides.first_byte_ms) & (sides.first_byte_ms >= _FEWEST_STEPS)
    part, whole = sides.first_byte_ms[some], sides.latency_s[some] * 1e3
    if len(part) < FEWEST or len(np.unique(part)) < 3 or np.ptp(whole) <= 0:
        return None
    for factor in SMALLER:
        ratio = whole * factor / part
        near = (ratio >= 0.8) & (ratio <= 1.4)
        # They must rise and fall together, too.
        if near.mean() >= 0.95 and float(np.corrcoef(part, whole)[0, 1]) > 0.9:
            return _finding(
                requests,
                f"it is {1 / factor:,.0f} times Latency in {near.mean():.0%} of {len(part):,} rows",
                factor,
                "it would be the same",
            )
    return None
