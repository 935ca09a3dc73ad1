# SPDX-License-Identifier: Apache-2.0
"""Stalls, events that match them, and the share of a quantile behind pauses, pooled over trials."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.attribution import share_of_quantile as module
from harness.analysis.attribution.share_of_quantile import (
    WithoutPauses,
    counted,
    excess_in_spans,
    pooled_and_without,
    pooled_share,
)
from harness.analysis.attribution.stalls import detect_stalls, detectability_limit
from harness.errors import InputError
from harness.model import Estimate
from harness.verify.simulated import queueing


def trial_of(
    rng: np.random.Generator, n: int, *, clear: float = 0.7, slow: float = 1.5, level: float = 1.0
) -> WithoutPauses:
    """A trial of n requests, a part of them clear of pauses and as fast as they are, the others slower."""
    bare = level * rng.lognormal(np.log(0.002), 0.4, n)
    is_clear = rng.random(n) < clear
    counts = map(counted, (np.where(is_clear, bare, slow * bare), bare[is_clear], bare, np.empty(0)))
    return WithoutPauses(**dict(zip(("measured", "clear", "unpaused", "drained"), counts, strict=True)))


def session_of(n_trials: int, n: int, *, seed: int = 0, level_sd: float = 0.1) -> list[WithoutPauses]:
    rng = np.random.default_rng(seed)
    return [trial_of(rng, n, level=float(np.exp(rng.normal(0, level_sd)))) for _ in range(n_trials)]


def share(trials: list[WithoutPauses]) -> Estimate:
    return pooled_share(trials, "clear", 0.99, what="share of p99")


def test_the_pooled_share_is_one_less_the_ratio_of_both_pooled_quantiles() -> None:
    trials = session_of(5, 3000)
    found = share(trials)
    every = ([one.clear for one in trials], [one.measured for one in trials])
    clear, measured = (pooled_and_without(some, 0.99)[0] for some in every)
    assert found.value == pytest.approx(1 - clear / measured)
    assert found.low is not None and found.high is not None
    assert found.low < (found.value or 0) < found.high < 1
    assert (found.estimand, found.n_trials) == ("pooled share of p99", 5)
    assert found.n_requests == sum(one.clear.n for one in trials)


def test_few_clear_requests_have_no_share_and_one_trial_or_trials_that_never_differ_no_interval() -> None:
    rng = np.random.default_rng(4)
    n = 100 * module.FEWEST_IN_A_TRIAL
    four = session_of(4, 4000)
    refused = share([*four, trial_of(rng, n - 1, clear=1.0)])
    assert refused.value is None and "in the trial that has the fewest" in refused.warnings[0]
    assert share([*four, trial_of(rng, n, clear=1.0)]).value is not None
    one = trial_of(np.random.default_rng(6), 100_000)
    alone, same = share([one]), share([one, one, one])
    assert alone.value == same.value is not None
    assert alone.low is alone.high is same.low is same.high is None
    assert "fewer than three trials: no interval over trials" in alone.warnings
    assert "no variation between trials: no interval" in same.warnings


CYCLES = [(float(start), float(start) + 0.2) for start in range(30)]


def slowed(rng: np.random.Generator, slowed_by: float) -> tuple[np.ndarray, np.ndarray]:
    start = np.sort(rng.uniform(0, 30, 30_000))
    inside = start % 1.0 < 0.2
    return start, rng.lognormal(np.log(0.002), 0.3, len(start)) * np.where(inside, slowed_by, 1.0)


def test_slow_requests_within_a_span_are_counted_and_a_span_that_slows_nothing_explains_nothing() -> None:
    # three times slower: nobody else is in the tail
    assert excess_in_spans(*slowed(np.random.default_rng(1), 3.0), CYCLES) == pytest.approx(1.0, abs=0.01)
    found = [excess_in_spans(*slowed(np.random.default_rng(seed), 1.0), CYCLES) for seed in range(30)]
    assert np.mean([excess for excess in found if excess is not None]) == pytest.approx(0.0, abs=0.01)
    start, latency = slowed(np.random.default_rng(1), 1.0)
    assert [excess_in_spans(start, latency, spans) for spans in ([], [(-1.0, 31.0)])] == [None, None]


def open_trial(
    seed: int, *, pause_s: float | None = None, duration_s: float = 20.0
) -> tuple[np.ndarray, np.ndarray, queueing.Pauses]:
    rng = np.random.default_rng(seed)
    arrivals = queueing.arrival_times(1000.0, duration_s, rng)
    service = queueing.service_times(len(arrivals), queueing.ServiceLaw(rho=0.0), rng)
    pauses = queueing.regular_pauses(duration_s, pause_s, 1.0, rng) if pause_s else queueing.Pauses()
    start, latency = queueing.simulate_open(arrivals, service, servers=10, pauses=pauses)
    return start, latency, pauses


def test_a_lull_in_the_load_is_not_a_stall() -> None:
    start, latency, _ = open_trial(4, duration_s=10)
    quiet = (start < 4.0) | (start > 4.5)
    assert all(s.kind != "stall" for s in detect_stalls(start[quiet], latency[quiet]))


@pytest.mark.parametrize(
    ("start", "latency", "message"),
    [([1.0, 2.0], [1.0], "one length"), ([1.0, np.nan], [1.0, 1.0], "finite"), ([1.0, 2.0], [1.0, -1.0], "negative")],
)  # fmt: skip
def test_broken_input_is_refused(start: list[float], latency: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        detect_stalls(np.array(start), np.array(latency))


def test_too_few_or_constant_requests_give_no_stall_and_the_limit_is_ten_requests_or_twice_the_tail() -> None:
    assert detect_stalls(np.arange(50.0), np.ones(50)) == []
    assert detect_stalls(np.arange(1000) / 1000, np.full(1000, 0.005)) == []
    assert detectability_limit(1000, 0.001) == pytest.approx(0.01)
    assert detectability_limit(1e6, 0.05) == pytest.approx(0.1)
    with pytest.raises(InputError):
        detectability_limit(0, 0.001)


def test_a_slow_stretch_that_goes_on_answering_is_a_slow_period_and_no_stall() -> None:
    start, latency, _ = open_trial(13, duration_s=10)
    half = np.random.default_rng(0).random(len(start)) < 0.6
    latency = np.where((start > 5) & (start < 5.2) & half, latency + 0.012, latency)
    (found,) = detect_stalls(start, latency)
    assert found.kind == "slow_period" and 4.9 < found.start_s < 5.1 and 5.15 < found.end_s < 5.35
