# SPDX-License-Identifier: Apache-2.0
"""Simulated loads: the check for coordinated omission against an open loop, and the classes of warm-up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy

from harness.analysis.attribution.stalls import detect_stalls
from harness.analysis.load.coordinated_omission import coordinated_omission_check
from harness.analysis.warmup.classify import SteadyState, classify_warmup
from harness.formats.arrays import FloatArray
from harness.tests.analysis.stats.test_sample_size import holds
from harness.tests.support.available import long_tests_are_asked_for
from harness.verify.simulated import queueing

USERS, N_PAUSES, PAUSED = 8, 10, 0.05
LAW = queueing.ServiceLaw(outlier_share=0.0)


@pytest.mark.parametrize("pause_s", [0.03, 0.1, 0.3])
def test_a_closed_loop_that_hides_pauses_is_flagged_and_corrected_to_an_open_one(pause_s: float) -> None:
    rng, every_s = np.random.default_rng([1, int(pause_s * 1e3)]), pause_s / PAUSED
    lasts_s = N_PAUSES * every_s
    pauses = queueing.regular_pauses(lasts_s, pause_s, every_s, rng, spread=0.0)
    start, latency = queueing.simulate_closed(USERS, lasts_s, LAW, rng, servers=USERS, pauses=pauses)
    check = coordinated_omission_check(start, latency, users=USERS, stalls=detect_stalls(start, latency))
    by_rhythm = coordinated_omission_check(start, latency, stalls=detect_stalls(start, latency))
    assert check.flagged and by_rhythm.flagged
    warned = any("open loop" in warning for warning in check.warnings)
    assert warned == (pause_s < 0.1)
    if warned:
        return
    arrivals = queueing.arrival_times(len(start) / (lasts_s * (1 - PAUSED)), lasts_s, rng)
    service = queueing.service_times(len(arrivals), LAW, rng)
    opened = queueing.simulate_open(arrivals, service, servers=max(64, len(start) // 50), pauses=pauses)[1]
    p99 = float(np.quantile(opened, 0.99))
    assert check.corrected_s is not None and check.corrected_s["p99"] == pytest.approx(p99, rel=0.10)
    assert check.measured_s["p99"] < p99 / 2, "uncorrected"


@pytest.mark.parametrize("even", [False, True])
def test_an_open_loop_is_not_flagged(even: bool) -> None:
    rng = np.random.default_rng([1, int(even)])
    arrivals = np.arange(16_000) / 800.0 if even else queueing.arrival_times(800.0, 20.0, rng)
    service = queueing.service_times(len(arrivals), queueing.ServiceLaw(), rng)
    pauses = queueing.regular_pauses(20.0, 0.1, 2.0, rng)
    start, latency = queueing.simulate_open(arrivals, service, servers=12, pauses=pauses)
    assert not coordinated_omission_check(start, latency).flagged


def warm_up(rng: np.random.Generator) -> FloatArray:
    """One or two steps down, then the rest of the series."""
    lengths = rng.integers(60, 111, rng.integers(1, 3))
    levels = np.cumsum(rng.uniform(2.5, 4.5, len(lengths)))[::-1]
    rest = np.zeros(int(rng.integers(max(300 - lengths.sum(), lengths.sum()), 401)))
    return np.concatenate([np.repeat(levels, lengths), rest])


def no_steady_state(rng: np.random.Generator) -> FloatArray:
    """Five to eight segments; each step goes up or down, the last segment is short."""
    lengths, level, parts = [*rng.integers(60, 111, rng.integers(4, 8)), int(rng.integers(60, 71))], 0.0, []
    for length in lengths:
        parts.append(np.full(length, level))
        # towards the middle when far from it, so that levels return as they do in reality
        sign = -np.sign(level) if abs(level) > 3.0 else rng.choice([-1.0, 1.0])
        level += sign * rng.uniform(2.5, 4.5)
    while sum(map(len, parts)) < 300:
        parts.insert(0, np.full(rng.integers(60, 111), parts[0][0] + rng.uniform(2.5, 4.5)))
    return np.concatenate(parts)


#: On these no threshold was tuned: skewed innovations, steps of 2.5 to 4.5 standard deviations.
LEVELS: dict[SteadyState, Callable[[np.random.Generator], FloatArray]] = {
    SteadyState.FLAT: lambda rng: np.zeros(int(rng.integers(300, 701))),
    SteadyState.WARM_UP: warm_up,
    SteadyState.SLOWDOWN: lambda rng: -warm_up(rng),
    SteadyState.NO_STEADY_STATE: no_steady_state,
}
N_SERIES = 60 if long_tests_are_asked_for() else 6


def windows(level: FloatArray, rho: float, rng: np.random.Generator) -> FloatArray:
    """Return windows around a level, in log-normal noise of this correlation between neighbours."""
    shape = 0.4
    drawn = rng.lognormal(0.0, shape, len(level) + 200)
    mean, variance = np.exp(shape**2 / 2), np.expm1(shape**2) * np.exp(shape**2)
    innovations = (drawn - mean) / np.sqrt(variance) * np.sqrt(1.0 - rho * rho)
    noise = scipy.signal.lfilter([1.0], [1.0, -rho], innovations)[200:]
    return np.asarray(100.0 + 4.0 * (level + noise))


@pytest.mark.parametrize("kind", LEVELS)
def test_the_class_of_a_series_is_recognised_in_correlated_noise(kind: SteadyState) -> None:
    rng = np.random.default_rng([1, list(LEVELS).index(kind)])
    results = [classify_warmup(windows(LEVELS[kind](rng), 0.6, rng)) for _ in range(N_SERIES)]
    assert holds(float(np.mean([item.kind is kind for item in results])), at_least=0.93, n=N_SERIES)
    if kind is SteadyState.FLAT:
        assert np.mean([len(item.changepoints) for item in results]) <= 0.2
