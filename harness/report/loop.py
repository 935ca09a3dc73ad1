# SPDX-License-Identifier: Apache-2.0
"""Which loop the requests of a file came from, what its tail is where users waited for their answers, and whether its
beginning is of another load, or of a cold service.

The threads' names tell most: whether each thread sends only after its answer, and whether the same
threads go on or new ones keep coming. Without them the requests' rhythm has to tell, or nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.load.coordinated_omission import (
    TOO_MANY_ADDED,
    OmissionCheck,
    coordinated_omission_check,
    correction_warnings,
    cycle_s,
    with_missing_requests,
)
from harness.analysis.stats.quantiles import quantile_refused, rank
from harness.formats.arrays import FloatArray
from harness.formats.table import RequestTable, SideColumns
from harness.model import Frozen
from harness.model.digits import plain
from harness.model.load_tools import tool_of

Kind = Literal["closed", "open", "cannot say"]

#: Requests whose rhythm is looked at.
RHYTHM_ROWS = 100_000
#: Fewer requests that follow another one of the same thread tell nothing.
FEWEST_PAIRS = 20
#: So many times more threads than are there at once: new ones keep coming, as arrivals do.
COMING = 3
CORRECTED = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
#: Requests of one thread that overlap more often are of several generators with the same names of threads.
_ONE_ENGINE = 1.5
HIDES = (
    "closed loop: users send nothing while they wait, so pauses hide in these percentiles; "
    "compare them only with percentiles of a closed loop"
)


class Loop(Frozen):
    """Which loop every number of the report comes from."""

    kind: Kind
    users: int | None = Field(description="of a closed loop; None: unknown, or open")
    evidence: tuple[str, ...]
    interval_ms: float | None = Field(
        default=None, description="one user's ordinary time from request to request"
    )
    corrected_ms: dict[str, float | None] | None = Field(
        default=None,
        description="p50 to p99.9 with the requests that waiting left out; None: there is no correction",
    )
    n_added: int = Field(default=0, description="requests that the correction adds")
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The loop in a few words."""
        if self.kind == "closed":
            return f"closed loop, {self.users} users" if self.users else "closed loop, users unknown"
        return "open loop" if self.kind == "open" else "cannot say whether open or closed loop"


def by_design(source: str, users: int | None = None) -> Loop | None:
    """Return the loop of a tool that has only one; ``None``: the tool can do both.

    ``users``: as the tool names them, of a closed loop.
    """
    tool = tool_of(source)
    if tool is None or tool.only_loop is None:
        return None
    kind, why = tool.only_loop
    closed = kind == "closed"
    return Loop(
        kind=kind, users=users if closed else None, evidence=(why,), warnings=(HIDES,) if closed else ()
    )


class _Threads(NamedTuple):
    kind: Kind = "cannot say"
    users: int | None = None
    evidence: tuple[str, ...] = ()


def judge_loop(
    start: FloatArray, latency: FloatArray, *, source: str, resolution_s: float, sides: SideColumns | None
) -> tuple[Loop, float | None]:
    """Return the loop without correction, and one user's ordinary interval in seconds; ``None``: not known.

    ``start`` and ``latency``: of the first requests, failed ones too (users wait for these as well), by start, shapes
    (n,), n > 0, seconds. ``resolution_s``: the smallest step of the load generator's clock. ``sides``: threads and
    users, as the file names them.
    """
    start, latency = start[:RHYTHM_ROWS], latency[:RHYTHM_ROWS]
    reported = _by_threads(sides, resolution_s) if sides is not None else _Threads()
    users = reported.users
    if users is None and reported.kind != "open" and sides is not None:
        users = sides.users if sides.joined_engines <= _ONE_ENGINE else None
    check = coordinated_omission_check(start, latency, resolution_s=resolution_s, stalls=())
    design = by_design(source)
    kind, evidence = _together(reported, check, design)
    if kind != "closed":
        text = check.warnings if check.flagged else ()
        return Loop(kind=kind, users=None, evidence=evidence, warnings=text), None
    known = users or check.users
    if known is None:
        unknown = "not corrected: the number of users is unknown; JMeter's column threadName would tell it"
        return Loop(kind=kind, users=None, evidence=evidence, warnings=(HIDES, unknown)), None
    read_off = check.warnings[:1] if users is None else ()
    # Stamps in whole steps cannot show a shorter one.
    interval_s = max(cycle_s(start, known), resolution_s)
    return Loop(kind=kind, users=known, evidence=evidence, warnings=(HIDES, *read_off)), interval_s


def corrected(loop: Loop, interval_s: float | None, latency_s: FloatArray, stalls: Sequence[Stall]) -> Loop:
    """Return the loop with the tail corrected by one user's interval, and the reasons to doubt the correction.

    ``latency_s``: of the successful requests, by start, shape (n,). ``stalls``: of the whole file.
    """
    if interval_s is None or not len(latency_s):
        return loop
    every = with_missing_requests(latency_s, interval_s)
    if every is None:
        return loop.model_copy(update={"warnings": (*loop.warnings, TOO_MANY_ADDED)})
    places = {name: rank(len(every), q) - 1 for name, q in CORRECTED.items()}
    ordered = np.partition(every, sorted({*places.values()}))
    results = {
        name: None if quantile_refused(len(latency_s), CORRECTED[name]) else float(ordered[place]) * 1e3
        for name, place in places.items()
    }
    doubts = (f"correction: {doubt}" for doubt in correction_warnings(stalls))
    return loop.model_copy(
        update={
            "interval_ms": interval_s * 1e3, "corrected_ms": results, "n_added": len(every) - len(latency_s),
            "warnings": (*loop.warnings, *doubts),
        }
    )  # fmt: skip


def _together(reported: _Threads, check: OmissionCheck, design: Loop | None) -> tuple[Kind, tuple[str, ...]]:
    evidence = (*reported.evidence, *check.evidence)
    if reported.kind == "open" and check.loop == "closed":
        return "cannot say", evidence
    if reported.kind == "closed" and check.loop == "open":  # more users than the stalls could hold up
        return "closed", (*reported.evidence, *(f"but {item}" for item in check.evidence))
    if reported.kind != "cannot say":
        return reported.kind, evidence
    if design is not None:
        return design.kind, (*design.evidence, *evidence)
    if check.loop != "cannot say":
        return check.loop, evidence
    return "cannot say", evidence or check.warnings


def _by_threads(sides: SideColumns, resolution_s: float) -> _Threads:
    if sides.thread is None or not sides.n_requests:
        return _Threads()
    order = np.lexsort((sides.start_s, sides.thread))
    thread, start = sides.thread[order], sides.start_s[order]
    end = start + sides.latency_s[order]
    same = np.diff(thread) == 0
    n_pairs, n_threads = int(same.sum()), int(thread.max()) + 1
    at_once = _most_at_once(thread, start, end, same)
    if n_threads >= FEWEST_PAIRS and n_threads > COMING * at_once:
        text = f"{n_threads:,} threads, at most {at_once} at once: new ones appear while others wait"
        return _Threads("open", evidence=(text,))
    if n_pairs < max(FEWEST_PAIRS, n_threads):
        return _Threads()
    if sides.joined_engines > _ONE_ENGINE:
        text = (
            f"requests of one thread overlap about {sides.joined_engines:.0f} times: files of several load generators, "
            "without a column Hostname that tells them apart"
        )
        return _Threads(evidence=(text,))
    waited = float((start[1:] - end[:-1] >= -2 * max(resolution_s, 1e-3))[same].mean())
    if waited < 0.99:
        text = f"only {waited:.0%} of the requests begin after the previous one of their thread has ended"
        return _Threads(evidence=(f"{text}: a thread is not one user here",))
    return _Threads(
        "closed", at_once, (f"each of {n_threads} threads sends only after its previous answer has come",)
    )


def _most_at_once(
    thread: npt.NDArray[np.int32], start: FloatArray, end: FloatArray, same: npt.NDArray[np.bool_]
) -> int:
    """Threads between their first request and their last answer, the most at any moment."""
    first = np.append(True, ~same)
    begins = np.sort(start[first])
    ends = np.sort(np.maximum.reduceat(end, np.flatnonzero(first)))
    return int((np.arange(1, len(begins) + 1) - np.searchsorted(ends, begins, side="left")).max())


#: Fewer requests tell no ramp: a tenth of them is too few for a rate.
FEWEST_FOR_RAMP = 1000
_SLICES, _FIRST = 20, 2
#: The first tenth of a run is a ramp below this share of the later rate, and cold above this multiple of the median.
_SLOW_START, _COLD_START = 0.7, 1.5
#: Medians that differ by fewer steps of the tool's clock may be alike.
_FEWEST_STEPS = 3
_ALL_USERS, _LONGEST_RAMP = 0.9, 0.05
#: A ramp has ended where the rate, or the latency, is as near as this to the later one.
_AS_LATER = 0.9


class Ramp(NamedTuple):
    """A beginning that is not like the rest, and when it is over, in seconds from the first request."""

    text: str
    until_s: float

    @property
    def command(self) -> str:
        """The option that leaves it out."""
        step_s = 1.0 if self.until_s >= 10 else 0.1
        return f"--skip {np.ceil(self.until_s / step_s - 1e-9) * step_s:.10g}s"


def ramp_of(requests: RequestTable, *, sides: SideColumns | None, loop: Kind) -> Ramp | None:
    """Return what the first requests have that the later ones have not; ``None``: nothing, or too few requests.

    ``requests``: by start.
    """
    start, latency, ok = requests.start_epoch_s, requests.latency_s, requests.ok
    if len(start) < FEWEST_FOR_RAMP or start[-1] <= start[0]:
        return None
    span_s = float(start[-1] - start[0])
    place = np.minimum(((start - start[0]) / span_s * _SLICES).astype(np.int64), _SLICES - 1)
    counts = np.bincount(place, minlength=_SLICES)
    usual = float(np.median(counts[_FIRST:]))
    first = float(counts[:_FIRST].mean())

    def until_s(settled: np.ndarray) -> float:
        """The end of the slices before the first of ``settled``, shape (_SLICES,)."""
        return max(1, int(np.argmax(settled))) * span_s / _SLICES

    if first < _SLOW_START * usual:
        per_s = _SLICES / span_s
        text = f"begins with {plain(first * per_s)} requests/s and goes on with {plain(usual * per_s)}"
        return Ramp(text, until_s(counts >= _AS_LATER * usual))
    if loop == "closed" and sides is not None and sides.all_threads is not None:
        users = sides.all_threads
        most = float(np.nanmax(users)) if np.isfinite(users).any() else 0.0
        full = np.flatnonzero(users >= _ALL_USERS * most)
        if most and (full_s := float(sides.start_s[full[0]] - start[0])) > _LONGEST_RAMP * span_s:
            return Ramp(f"takes {plain(full_s)} s to reach all of its {most:.0f} users", full_s)
    cold, warm = latency[ok & (place < _FIRST)], latency[ok & (place >= _SLICES // 2)]
    step_s = _FEWEST_STEPS * requests.resolution_s
    if (
        len(cold)
        and len(warm)
        and np.median(cold) > max(_COLD_START * np.median(warm), np.median(warm) + step_s)
    ):
        times = plain(float(np.median(cold) / np.median(warm)), 2)
        slices = [latency[ok & (place == item)] for item in range(_SLICES)]
        medians = np.array([np.median(item) if len(item) else np.inf for item in slices])
        text = f"its first tenth has {times} times the p50 of its second half: the warm-up is included"
        return Ramp(text, until_s(medians <= np.median(warm) / _AS_LATER))
    return None
