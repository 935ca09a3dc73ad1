# SPDX-License-Identifier: Apache-2.0
"""Verification of attribution: the share of a tail that pauses explain, over the trials of a session.

Trials of simulated queues differ in their level, in how often they pause, and for how long. The truth of a coverage is
what the same estimate says of all simulated trials together; a second run of each trial, with the same arrivals and
service times and without its pauses, tells how far that is from what the pauses really did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from harness.analysis.attribution.share_of_quantile import (
    FEWEST_IN_A_TRIAL,
    LatencyCounts,
    Way,
    WithoutPauses,
    counted,
    jackknifed,
    pooled_and_without,
    pooled_share,
    without_pauses,
)
from harness.analysis.attribution.spans import CauseName, RequestOverlap, Span, lived
from harness.formats.arrays import FloatArray
from harness.model import Estimate
from harness.verify.simulated.queueing import (
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)
from harness.verify.simulated.result import Cells, VerifyResult, contains

QUANTILE, LEVEL = 0.99, 0.95
#: The mean error of the share, either way.
BIAS = 0.02
#: Of the logarithm, from trial to trial: how often it pauses, how long a pause is.
EVERY_SD, PAUSE_SD = 0.2, 0.15
#: Trials of which the share of clear requests is taken before a cell, so that its trials have the wanted tail.
_PILOT = 20
#: Groups of requests that stand for trials where the request is taken for the unit.
_GROUPS = 20


class Session(NamedTuple):
    """Sessions of ``n_trials`` with ``clear_tail`` clear requests beyond the quantile each, on average. ``level_sd``:
    of the logarithm of a trial's latencies; ``step_s``: of the clock."""

    name: str
    n_trials: int
    clear_tail: int
    rate_per_s: float = 150.0
    median_s: float = 0.002
    pause_s: float = 0.02
    every_s: float = 0.5
    rho: float = 0.6
    level_sd: float = 0.05
    step_s: float = 0.0


class _Trial(NamedTuple):
    """As a load tool saw it, as it was, and as it would have been without pauses."""

    seen: RequestOverlap
    true: RequestOverlap
    bare: FloatArray


def simulate_trial(session: Session, n: int, rng: np.random.Generator) -> _Trial:
    """Return about n requests through one server that pauses."""
    duration_s = n / session.rate_per_s
    every_s = session.every_s * float(np.exp(EVERY_SD * rng.standard_normal()))
    pause_s = session.pause_s * float(np.exp(PAUSE_SD * rng.standard_normal()))
    median_s = session.median_s * float(np.exp(session.level_sd * rng.standard_normal()))
    arrivals = arrival_times(session.rate_per_s, duration_s, rng)
    service = service_times(len(arrivals), ServiceLaw(median_s=median_s, rho=session.rho), rng)
    pauses = regular_pauses(duration_s, pause_s, every_s, rng)
    start, latency = simulate_open(arrivals, service, servers=1, pauses=pauses)
    bare = simulate_open(arrivals, service, servers=1)[1]
    events: dict[CauseName, list[Span]] = {"gc_pause": pauses.spans}
    true = lived(start, latency, events)
    if not session.step_s:
        return _Trial(true, true, bare)
    seen_start, seen_end = (session.step_s * np.floor(at / session.step_s) for at in (start, start + latency))
    return _Trial(lived(seen_start, np.round(seen_end - seen_start, 9), events), true, bare)


#: As few trials and clear requests as it takes, and more of both.
_FEW = FEWEST_IN_A_TRIAL
_MS = {"rate_per_s": 400.0, "median_s": 0.001, "pause_s": 0.0008, "every_s": 0.055, "step_s": 0.001}
SESSIONS = (
    Session("pauses often", 5, 20, every_s=0.15),
    Session("AR .9", 5, _FEW + 3, rho=0.9),
    Session("levels differ by 15 %", 5, 20, level_sd=0.15),
    Session("AR .9", 10, _FEW + 3, rho=0.9),
    Session("short pauses, whole milliseconds", 5, 20, **_MS),
)
#: Of the first session every way is asked, of this one what taking requests for the unit would do.
NAIVE = 3


class Simulated(NamedTuple):
    """A cell's sessions: the estimates each way, the truth, how many hold it naively, the share without pauses."""

    estimates: dict[Way, list[Estimate]]
    truth: dict[Way, float]
    n_held_naively: int
    without: float

    def errors(self, way: Way) -> FloatArray:
        """Of the sessions that state a share."""
        values = [item.value for item in self.estimates[way] if item.value is not None]
        return np.array(values) - self.truth[way]

    def coverage(self, way: Way) -> float:
        """Share of those whose interval holds the truth."""
        held = sum(contains(item, self.truth[way]) for item in self.estimates[way])
        return held / max(len(self.errors(way)), 1)


def simulate_sessions(
    session: Session,
    sims: int,
    rng: np.random.Generator,
    *,
    ways: Sequence[Way] = ("clear",),
    naive: bool = False,
) -> Simulated:
    """Simulate ``sims`` sessions and estimate the share of each; ``naive``: also with requests dealt to groups that
    stand for trials."""
    pilot = [simulate_trial(session, 3000, rng).seen for _ in range(_PILOT)]
    clear_share = float(np.mean([(~lives.wake).mean() for lives in pilot]))
    n = round(session.clear_tail / (1 - QUANTILE) / clear_share)
    sessions, dealt, true, bare = [], [], [], []
    for _ in range(sims):
        trials = [simulate_trial(session, n, rng) for _ in range(session.n_trials)]
        sessions.append([without_pauses(trial.seen, session.step_s) for trial in trials])
        true += [
            without_pauses(trial.true) if session.step_s else entry
            for trial, entry in zip(trials, sessions[-1], strict=True)
        ]
        bare += [counted(trial.bare) for trial in trials]
        if naive:
            dealt.append(_dealt([trial.seen for trial in trials], session.step_s, rng))
    measured = _quantile([item.measured for item in true])
    truth = {way: 1 - _quantile([getattr(item, way) for item in true]) / measured for way in ways}
    estimates = {
        way: [pooled_share(trials, way, QUANTILE, what="share") for trials in sessions] for way in ways
    }
    n_held = sum(_holds_naively(groups, truth["clear"]) for groups in dealt)
    return Simulated(estimates, truth, n_held, without=1 - _quantile(bare) / measured)


_WORDS: dict[Way, str] = {"clear": "estimate", "unpaused": "lower bound", "drained": "upper bound"}


def attribution(sims: int, seed: int) -> VerifyResult:
    """Coverage and bias of the pooled share over ``sims`` sessions a cell; control: requests as the unit."""
    cells = Cells(
        "attribution", sims, seed,
        bar="pooled share: coverage in [.92, .97] ([.92, .99] of the upper bound and where nearly all requests are "
        "clear), bias <= .02",
        control="requests as the unit: coverage <= .80",
    )  # fmt: skip
    for number, session in enumerate(SESSIONS):
        where = f"{session.n_trials} trials of {session.clear_tail}, {session.name}"
        ways: tuple[Way, ...] = ("clear", "unpaused", "drained") if number == 0 else ("clear",)
        rng = np.random.default_rng([seed, 7, number])
        result = simulate_sessions(session, sims, rng, ways=ways, naive=number == NAIVE)
        for way in ways:
            name, n = f"coverage of the pooled share ({_WORDS[way]}), {where}", len(result.errors(way))
            at_most = 0.99 if session.step_s or way == "drained" else 0.97
            cells.share(name, result.coverage(way), n=n, at_least=0.92, at_most=at_most)
        name = f"bias of the pooled share, {where}"
        cells.average(name, result.errors("clear"), at_least=-BIAS, at_most=BIAS)
        less = result.truth["clear"] - result.without
        cells.plain(f"pooled share less that of runs without pauses, {where}", less)
        if number == NAIVE:
            name = f"coverage with the request as the unit, {where}"
            cells.share(name, result.n_held_naively / sims, at_most=0.8, control=True)
    return cells.result()


def _quantile(counts: Sequence[LatencyCounts]) -> float:
    used, where = np.unique(np.concatenate([count.bins for count in counts]), return_inverse=True)
    n = np.bincount(where, weights=np.concatenate([count.counts for count in counts]))
    return pooled_and_without([LatencyCounts(used, n.astype(np.int64))], QUANTILE)[0]


def _holds_naively(groups: Sequence[WithoutPauses], truth: float) -> bool:
    """Whether the same jackknife over groups of requests holds the truth; groups are too small for the product."""
    measured, measured_without = pooled_and_without([group.measured for group in groups], QUANTILE)
    left, left_without = pooled_and_without([group.clear for group in groups], QUANTILE)
    low, high = jackknifed(float(np.log(left / measured)), np.log(left_without / measured_without), LEVEL)
    return bool(low <= np.log1p(-truth) <= high)


def _dealt(trials: Sequence[RequestOverlap], step_s: float, rng: np.random.Generator) -> list[WithoutPauses]:
    """Deal the requests of all trials to groups at random, as if it did not matter whose they are."""
    names = ("start", "latency", "paused", "unpaused", "wake")
    every = {name: np.concatenate([getattr(trial, name) for trial in trials]) for name in names}
    group = rng.integers(0, _GROUPS, len(every["start"]))
    dealt = ({name: x[group == number] for name, x in every.items()} for number in range(_GROUPS))
    return [without_pauses(RequestOverlap(by_cause={}, events={}, spans=(), **own), step_s) for own in dealt]
