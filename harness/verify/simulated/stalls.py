# SPDX-License-Identifier: Apache-2.0
"""Verification of stall detection: every pause that can be seen is, and nothing else, under any arrivals.

Counted are pauses of at least twice the ordinary 99th percentile that held up ten requests or more; a detection of a
smaller one is neither right nor wrong. Two common peak finders stand in the same table.

The detector was developed against open and closed loops with regular pauses. The loads of ``fresh`` are of another kind
of arrivals, service and pauses, written when every threshold had long been fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, get_args

import numpy as np
import scipy  # loads its slow submodules when they are first used

from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.slow_periods import ALPHA
from harness.analysis.attribution.spans import Span
from harness.analysis.attribution.stalls import stalls_at
from harness.formats.arrays import FloatArray
from harness.verify.simulated.queueing import (
    Arrivals,
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_closed,
    simulate_open,
)
from harness.verify.simulated.result import Cells, VerifyResult

Requests = tuple[FloatArray, FloatArray]
#: A rate and a time to arrivals; arrivals and a time to service times; a number and a shortest length to pauses.
Arrive = Callable[[float, float, np.random.Generator], FloatArray]
Serve = Callable[[FloatArray, float, np.random.Generator], FloatArray]
PauseLaw = Callable[[int, float, np.random.Generator], Pauses]
SLOW_LOADS = 4


class Scenario(NamedTuple):
    """One load on one service: simulates it for a time, with pauses or without."""

    group: str
    name: str
    simulate: Callable[[float, Pauses, np.random.Generator], Requests]
    pauses: PauseLaw
    calm_share: float
    #: Slow loads cost little: more pauses there, so that one pause does not decide a cell.
    more: int = 1


def open_loops() -> list[Scenario]:
    """Four arrival processes, independent and autocorrelated service, three rates; a third of the servers busy."""
    return [
        _open(
            f"{kind}, AR {rho:g}",
            f"{rate:g}/s",
            rate,
            partial(arrival_times, kind),
            _by_law(ServiceLaw(rho=rho)),
            _one_a_second,
            calm_share=0.3 if rate > 2000 else 1.0,
        )
        for kind in get_args(Arrivals)
        for rho in (0.0, 0.9)
        for rate in (200.0, 1000.0, 4000.0)
    ]


def closed_loops() -> list[Scenario]:
    """Users who wait for their answer: without thinking, and with."""

    def scenario(users: int, think_s: float, rho: float) -> Scenario:
        def simulate(duration_s: float, pauses: Pauses, rng: np.random.Generator) -> Requests:
            law, servers = ServiceLaw(rho=rho), max(8, users)
            return simulate_closed(
                users, duration_s, law, rng, servers=servers, think_s=think_s, pauses=pauses
            )

        name = f"{users} users thinking {think_s * 1e3:g} ms"
        return Scenario(f"closed, AR {rho:g}", name, simulate, _one_a_second, 0.3)

    users = ((16, 0.0), (32, 0.02), (100, 0.05))
    return [scenario(n, think_s, rho) for rho in (0.0, 0.9) for n, think_s in users]


def fresh() -> list[Scenario]:
    """Self-similar arrivals, a cache that hits or misses and at times goes cold, pauses in bursts.

    The thresholds of the detector were fixed before this was written. The numbers here were chosen once,
    for what services do, before any score was seen, and are not to be changed after one was.
    """
    return [
        _open("fresh", f"self-similar {rate:g}/s, {pauses.__name__}", rate, self_similar, cached, pauses)
        for rate in (300.0, 1200.0)
        for pauses in (bursts, jittered)
    ]


def _open(
    group: str,
    name: str,
    rate_per_s: float,
    arrive: Arrive,
    serve: Serve,
    pauses: PauseLaw,
    *,
    calm_share: float = 1.0,
) -> Scenario:
    def simulate(duration_s: float, paused: Pauses, rng: np.random.Generator) -> Requests:
        arrivals = arrive(rate_per_s, duration_s, rng)
        service = serve(arrivals, duration_s, rng)
        return simulate_open(arrivals, service, servers=max(6, int(rate_per_s * 0.01)), pauses=paused)

    return Scenario(group, name, simulate, pauses, calm_share, SLOW_LOADS if rate_per_s < 500 else 1)


def _by_law(law: ServiceLaw) -> Serve:
    def serve(arrivals: FloatArray, _duration_s: float, rng: np.random.Generator) -> FloatArray:
        return service_times(len(arrivals), law, rng)

    return serve


def self_similar(rate_per_s: float, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return the arrivals of forty sources, each on and off for Pareto times of index 1.5, Poisson while on."""
    n_sources, shortest_s = 40, 0.1
    parts = []
    for _ in range(n_sources):
        # enough periods that their sum passes the end: the mean is three times the shortest
        n = int(duration_s / (2 * shortest_s)) + 20
        lengths = shortest_s * (1 + rng.pareto(1.5, n))
        edges = np.cumsum(lengths) - rng.uniform(0, 1.0)
        on = edges[: len(edges) // 2 * 2].reshape(-1, 2)
        on = on[(on[:, 0] < duration_s) & (on[:, 1] > 0)]
        counts = rng.poisson((on[:, 1] - on[:, 0]) * 2 * rate_per_s / n_sources)
        low, high = np.repeat(on, counts, axis=0).T
        parts.append(low + rng.random(len(low)) * (high - low))
    times = np.sort(np.concatenate(parts))
    return np.asarray(times[(times >= 0) & (times < duration_s)])


def cached(arrivals: FloatArray, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return gamma service times of 1 ms for hits and 8 ms for misses; a cold cache misses four in ten for a while."""
    n_cold = rng.poisson(duration_s / 12)
    cold_from = np.sort(rng.random(n_cold) * duration_s)
    cold_for = rng.exponential(2.0, n_cold)
    cold = np.zeros(len(arrivals), dtype=bool)
    for low, length in zip(cold_from.tolist(), cold_for.tolist(), strict=True):
        cold[np.searchsorted(arrivals, low) : np.searchsorted(arrivals, low + length)] = True
    missed = rng.random(len(arrivals)) < np.where(cold, 0.4, 0.15)
    return np.asarray(rng.gamma(4.0, np.where(missed, 0.008, 0.001) / 4.0))


def _one_a_second(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    every_s = max(1.0, 5 * length_s)
    return regular_pauses(n * every_s, length_s, every_s, rng)


def bursts(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    """Return pauses after Weibull lulls of shape .6, 1.5 s on average; lengths log-normal beyond ``length_s``."""
    lulls = 4 * length_s + rng.weibull(0.6, n)
    return _in_a_row(lulls, length_s * (1 + rng.lognormal(-0.5, 0.7, n)))


def jittered(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    """Return pauses once in 1.2 s or so, as a timer sets them off; a fifth of them three times as long."""
    longer = np.where(rng.random(n) < 0.2, 3.0, 1.0)
    return _in_a_row(np.maximum(rng.normal(1.2, 0.1, n), 0.5) + 4 * length_s, length_s * longer)


def _in_a_row(lulls: FloatArray, lengths: FloatArray) -> Pauses:
    starts = np.cumsum(lulls) + np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return Pauses(starts_s=tuple(starts.tolist()), lengths_s=tuple(lengths.tolist()))


TOLERANCE_S = 0.005
F1, FALSE_PER_MINUTE = 0.95, 0.1
FEWEST_BLOCKED = 10
#: The threshold that peak finders are commonly used with, in their spreads.
COMMON = 3.0
#: Seconds of pause-free load for every simulated pause.
CALM_S = 10.0


class Score(NamedTuple):
    """Right finds, finds in all, and pauses that were to be found."""

    right: int
    n_found: int
    truth: int

    @property
    def f1(self) -> float:
        total = self.n_found + self.truth
        return 2 * self.right / total if total else 1.0


class ToFind(NamedTuple):
    """The pauses among some requests: those that could be seen, and those too small for it."""

    seen: list[Span]
    small: list[Span]


def stalls(sims: int, seed: int) -> VerifyResult:
    """``sims`` pauses a cell (four times that at slow loads), ten calm seconds for each; controls: two peak finders."""
    cells = Cells(
        "stalls", sims, seed,
        bar="F1 >= .95 in every cell; <= .1 false stalls a minute without pauses",
        control="find_peaks and Hampel do worse on the same requests",
    )  # fmt: skip
    calm: dict[str, tuple[int, float]] = {}
    scores: dict[str, list[Score]] = {name: [] for name in FINDERS}
    for number, scenario in enumerate([*open_loops(), *closed_loops(), *fresh()]):
        rng = np.random.default_rng([seed, number])
        minutes = sims * CALM_S / 60 * scenario.calm_share
        start, latency = scenario.simulate(minutes * 60, Pauses(), rng)
        p99 = float(np.quantile(latency, 0.99))
        n_false, so_far = calm.get(scenario.group, (0, 0.0))
        calm[scenario.group] = (n_false + len(detected(start, latency)), so_far + minutes)
        length_s = max(2 * p99, FEWEST_BLOCKED / (len(start) / (minutes * 60)))
        pauses = scenario.pauses(sims * scenario.more, length_s, rng)
        start, latency = scenario.simulate(pauses.spans[-1][1] + 0.5, pauses, rng)
        wanted = to_find(pauses, start, latency, 2 * p99)
        for name, find in FINDERS.items():
            scores[name].append(scored(find(start, latency), wanted))
        cells.f1(f"F1, {scenario.group}, {scenario.name}", *scores[OURS][-1], at_least=F1)
    for group, (n_false, minutes) in calm.items():
        cells.frequency(f"false stalls a minute, {group}", n_false, minutes, at_most=FALSE_PER_MINUTE)
    medians = {name: float(np.median([score.f1 for score in of])) for name, of in scores.items()}
    best = min(medians.pop(OURS), F1)
    for name, median in medians.items():
        cells.plain(f"{name}: median F1 in the same cells", median, at_most=best - 0.05, control=True)
    return cells.result()


def detected(start: FloatArray, latency: FloatArray) -> list[Span]:
    """Return the stalls that the detector finds."""
    return [(stall.start_s, stall.end_s) for stall in stalls_at(start, latency, (ALPHA,))[0]]


def to_find(pauses: Pauses, start: FloatArray, latency: FloatArray, shortest_s: float) -> ToFind:
    """Return the pauses that could be seen in these requests, and those that could not."""
    came, answered = np.sort(start), np.sort(start + latency)
    match = ToFind([], [])
    for low, high in pauses.spans:
        blocked = int(np.searchsorted(came, high) - np.searchsorted(answered, high))
        seen = high - low >= shortest_s * (1 - 1e-9) and blocked >= FEWEST_BLOCKED
        (match.seen if seen else match.small).append((low, high))
    return match


def scored(spans: Sequence[Span], wanted: ToFind) -> Score:
    """Return the score of ``spans`` on the pauses that could be seen; smaller ones do not count either way."""
    matching = match_events(spans, wanted.seen, tolerance_s=TOLERANCE_S)
    matched = {i for i, _ in matching.pairs}
    rest = [span for i, span in enumerate(spans) if i not in matched]
    n_small = len(match_events(rest, wanted.small, tolerance_s=TOLERANCE_S).pairs)
    return Score(right=len(matching.pairs), n_found=len(spans) - n_small, truth=len(wanted.seen))


def find_peaks(start: FloatArray, latency: FloatArray) -> list[Span]:
    """``scipy.signal.find_peaks`` as commonly used: three standard deviations above the mean, one prominent."""
    mean, spread = float(latency.mean()), float(latency.std())
    peaks, _ = scipy.signal.find_peaks(latency, height=mean + COMMON * spread, prominence=spread)
    return _joined(start[peaks], latency[peaks])


def hampel(start: FloatArray, latency: FloatArray) -> list[Span]:
    """A Hampel filter: more than three scaled median deviations above the rolling median."""
    middle = scipy.ndimage.median_filter(latency, size=1001, mode="nearest")
    spread = 1.4826 * scipy.ndimage.median_filter(np.abs(latency - middle), size=1001, mode="nearest")
    flagged = latency > middle + COMMON * spread
    return _joined(start[flagged], latency[flagged])


def _joined(start: FloatArray, latency: FloatArray) -> list[Span]:
    """Give the peers every chance: what they flag within the tolerance of each other is one detection."""
    spans: list[Span] = []
    for low, length in zip(start.tolist(), latency.tolist(), strict=True):
        if spans and low <= spans[-1][1] + TOLERANCE_S:
            spans[-1] = (spans[-1][0], max(spans[-1][1], low + length))
        else:
            spans.append((low, low + length))
    return spans


OURS = "ours"
FINDERS: Mapping[str, Callable[[FloatArray, FloatArray], list[Span]]] = {
    OURS: detected,
    "find_peaks": find_peaks,
    "Hampel": hampel,
}
