# SPDX-License-Identifier: Apache-2.0
"""Stall detection on simulated queues: every pause that can be seen is, and nothing else, under any arrivals.

Counted are pauses of at least twice the ordinary 99th percentile that held up ten requests or more; a detection of a
smaller one is neither right nor wrong. The control is a common peak finder on the same requests.

Files of real load tools that chose no threshold: ``test_recorded.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import median
from typing import NamedTuple

import numpy as np
import pytest
import scipy

from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.spans import Span
from harness.analysis.attribution.stalls import detect_stalls
from harness.formats.arrays import FloatArray
from harness.verify.simulated.queueing import (
    Arrivals,
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)
from harness.verify.simulated.result import share

Requests = tuple[FloatArray, FloatArray]
#: Starts and latencies of a load of so many seconds with these pauses.
Simulate = Callable[[float, Pauses, np.random.Generator], Requests]
PauseLaw = Callable[[int, float, np.random.Generator], Pauses]
TOLERANCE_S = 0.005
FEWEST_BLOCKED = 10
#: The threshold that peak finders are commonly used with, in their spreads.
COMMON = 3.0
#: Pauses of a load, and seconds without a pause for each.
N_PAUSES, CALM_S = 120, 10.0


def open_loop(rate_per_s: float, kind: Arrivals, rho: float) -> Simulate:
    """Return an open loop on servers of which a third are busy; ``rho``: autocorrelation of the service times."""

    def simulate(duration_s: float, pauses: Pauses, rng: np.random.Generator) -> Requests:
        arrivals = arrival_times(kind, rate_per_s, duration_s, rng)
        service = service_times(len(arrivals), ServiceLaw(rho=rho), rng)
        return simulate_open(arrivals, service, servers=max(6, int(rate_per_s * 0.01)), pauses=pauses)

    return simulate


def one_a_second(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    every_s = max(1.0, 5 * length_s)
    return regular_pauses(n * every_s, length_s, every_s, rng)


LOADS: dict[str, tuple[Simulate, PauseLaw]] = {
    "poisson, 200/s, AR 0.9": (open_loop(200.0, "poisson", 0.9), one_a_second),
    "gamma, 200/s, AR 0": (open_loop(200.0, "gamma", 0.0), one_a_second),
}


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


def detected(start: FloatArray, latency: FloatArray) -> list[Span]:
    return [(stall.start_s, stall.end_s) for stall in detect_stalls(start, latency) if stall.kind == "stall"]


def find_peaks(start: FloatArray, latency: FloatArray) -> list[Span]:
    """``scipy.signal.find_peaks`` as commonly used; give it every chance: what is near each other is one detection."""
    mean, spread = float(latency.mean()), float(latency.std())
    peaks, _ = scipy.signal.find_peaks(latency, height=mean + COMMON * spread, prominence=spread)
    spans: list[Span] = []
    for low, length in zip(start[peaks].tolist(), latency[peaks].tolist(), strict=True):
        if spans and low <= spans[-1][1] + TOLERANCE_S:
            spans[-1] = (spans[-1][0], max(spans[-1][1], low + length))
        else:
            spans.append((low, low + length))
    return spans


class Judged(NamedTuple):
    """What came of a load: stalls and minutes without a pause, and the scores of the detector and of the control."""

    n_false: int
    minutes: float
    score: Score
    control: Score


@cache
def judge(name: str) -> Judged:
    (simulate, law), rng = LOADS[name], np.random.default_rng([1, list(LOADS).index(name)])
    calm_s = N_PAUSES / 4 * CALM_S
    start, latency = simulate(calm_s, Pauses(), rng)
    n_false, p99 = len(detected(start, latency)), float(np.quantile(latency, 0.99))
    length_s = max(2 * p99, FEWEST_BLOCKED / (len(start) / calm_s))
    pauses = law(N_PAUSES, length_s, rng)
    start, latency = simulate(pauses.spans[-1][1] + 0.5, pauses, rng)
    wanted = to_find(pauses, start, latency, 2 * p99)
    scores = (scored(find(start, latency), wanted) for find in (detected, find_peaks))
    return Judged(n_false, calm_s / 60, *scores)


@pytest.mark.parametrize("name", LOADS)
def test_pauses_are_found_and_nothing_else(name: str) -> None:
    judged = judge(name)
    assert scipy.stats.poisson.sf(judged.n_false - 1, 0.1 * judged.minutes) > 0.025, "more than .1 a minute"
    right, events = judged.score.right, judged.score.n_found + judged.score.truth - judged.score.right
    # an F1 of .95: of all events that were found or to be found, .905 are both
    assert not share(events, name="F1", value=right / max(events, 1), at_least=0.95 / (2 - 0.95)).refuted


def test_a_common_peak_finder_does_worse_on_the_same_requests() -> None:
    control, ours = (
        median(getattr(judge(name), finder).f1 for name in LOADS) for finder in ("control", "score")
    )
    assert control < ours - 0.05
