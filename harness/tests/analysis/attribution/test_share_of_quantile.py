# SPDX-License-Identifier: Apache-2.0
"""Requests in spans and in the wake of pauses, and the share of a quantile behind pauses, pooled over trials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from harness.analysis.attribution import share_of_quantile as module
from harness.analysis.attribution.share_of_quantile import (
    BIN_SHARE,
    WithoutPauses,
    counted,
    excess_in_spans,
    pooled_and_without,
    pooled_share,
    without_pauses,
)
from harness.analysis.attribution.spans import RequestOverlap, lived
from harness.analysis.stats.quantiles import rank
from harness.formats.arrays import FloatArray
from harness.model import Estimate
from harness.verify.simulated.queueing import (
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)


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


latencies = st.lists(st.floats(1e-6, 100.0), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(trials=st.lists(latencies, min_size=2, max_size=6), quantile=st.sampled_from([0.5, 0.9, 0.99]))
def test_quantiles_of_counts_are_those_of_the_requests_to_half_a_bin(
    trials: list[list[float]], quantile: float
) -> None:
    arrays = [np.array(trial) for trial in trials]
    whole, without = pooled_and_without([counted(one) for one in arrays], quantile)
    rests = [arrays, *(arrays[:i] + arrays[i + 1 :] for i in range(len(arrays)))]
    pools = [np.sort(np.concatenate(rest)) for rest in rests]
    exact = [pool[rank(len(pool), quantile) - 1] for pool in pools]
    assert [whole, *without] == pytest.approx(exact, rel=0.51 * BIN_SHARE)


def test_the_pooled_share_is_one_less_the_ratio_of_both_pooled_quantiles() -> None:
    trials = session_of(5, 3000)
    found = share(trials)
    clear, measured = (
        pooled_and_without([getattr(one, name) for one in trials], 0.99)[0] for name in ("clear", "measured")
    )
    assert found.value == pytest.approx(1 - clear / measured)
    assert found.low is not None and found.high is not None and found.low < (found.value or 0) < found.high < 1
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


def test_where_trials_differ_and_their_share_does_not_the_interval_is_what_bins_can_tell() -> None:
    """Nothing is clear of a pause or its wake that was not before: every ratio is one, with any trial left out."""
    rng = np.random.default_rng(8)
    trials = []
    for scale in (1.0, 1.2, 3.0, 0.8, 7.0):
        start = np.sort(rng.uniform(0, 30, 3000))
        trials.append(
            without_pauses(lived(start, scale * rng.lognormal(np.log(0.002), 0.4, 3000), {"gc_pause": ()}))
        )
    found = share(trials)
    assert found.value == 0
    assert (found.low, found.high) == pytest.approx((-BIN_SHARE, BIN_SHARE), rel=0.01)
    assert "the same without any one trial: the interval is one bin, 0.1%" in found.warnings


CYCLES = [(float(start), float(start) + 0.2) for start in range(30)]


def slowed(rng: np.random.Generator, slowed_by: float) -> tuple[np.ndarray, np.ndarray]:
    start = np.sort(rng.uniform(0, 30, 30_000))
    inside = start % 1.0 < 0.2
    return start, rng.lognormal(np.log(0.002), 0.3, len(start)) * np.where(inside, slowed_by, 1.0)


def test_slow_requests_that_come_with_a_span_are_counted_and_a_span_that_slows_nothing_explains_nothing() -> (
    None
):
    # three times slower: nobody else is in the tail
    assert excess_in_spans(*slowed(np.random.default_rng(1), 3.0), CYCLES) == pytest.approx(1.0, abs=0.01)
    found = [excess_in_spans(*slowed(np.random.default_rng(seed), 1.0), CYCLES) for seed in range(30)]
    assert np.mean([excess for excess in found if excess is not None]) == pytest.approx(0.0, abs=0.01)
    start, latency = slowed(np.random.default_rng(1), 1.0)
    assert [excess_in_spans(start, latency, spans) for spans in ([], [(-1.0, 31.0)])] == [None, None]
