# SPDX-License-Identifier: Apache-2.0
"""The universal scalability law and the bend of a load curve: where they are, and not where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.scaling import fit_usl, knee, saturation, usl
from harness.errors import InputError

SIZES = np.asarray([1, 2, 4, 8, 16])
TRUTH = (1000.0, 0.05, 0.004)


def scaled(seed: int, *, n_blocks: int = 12, noise: float = 0.03) -> tuple[np.ndarray, ...]:
    """Cores, throughput and block of a made-up session; a block's trials share a shift."""
    rng = np.random.default_rng(seed)
    cores, blocks = np.tile(SIZES, n_blocks), np.repeat(np.arange(n_blocks), len(SIZES))
    shift = rng.normal(0, noise, n_blocks)[blocks]
    return cores, usl(cores, *TRUTH) * np.exp(shift + rng.normal(0, noise, len(cores))), blocks


def test_without_noise_the_numbers_are_those_that_made_the_data() -> None:
    fit = fit_usl(*scaled(1, n_blocks=3, noise=0.0), n_resamples=20)
    numbers = (fit.per_core_per_s.value, fit.contention.value, fit.coherency.value)
    assert numbers == pytest.approx(TRUTH, rel=1e-3)
    assert fit.peak_cores.value == pytest.approx(np.sqrt(0.95 / 0.004), rel=1e-2)
    few = fit_usl(*scaled(1, n_blocks=2)).contention
    assert (few.low, few.high) == (None, None) and "too few blocks for an interval" in few.warnings


def test_intervals_over_blocks_hold_the_truth_about_as_often_as_they_say() -> None:
    hits = np.zeros(3)
    for seed in range(20):
        fit = fit_usl(*scaled(seed), n_resamples=60, seed=seed)
        for place, estimate in enumerate((fit.per_core_per_s, fit.contention, fit.coherency)):
            assert estimate.low is not None and estimate.high is not None
            hits[place] += estimate.low <= TRUTH[place] <= estimate.high
    # of 20 sessions at 95 %, fewer than 16 happens once in hundreds; a percentile interval is a little narrow
    assert (hits >= 16).all(), hits


@pytest.mark.parametrize(
    ("cores", "values", "words"),
    [
        ([1, 2, 1], [1, 2, 1], "too few numbers of cores"), ([1, 2, 4], [1, 2], "one value per trial each"),
        ([1, 2, 4], [1, 0, 2], "throughput must be positive"),
    ],
)  # fmt: skip
def test_what_is_no_load_curve_or_law_is_refused(cores: list[int], values: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_usl(cores, values, [1, 1, 1])
    for load, latency in (([1.0, 2.0], [1.0]), ([0.0], [1.0]), ([1.0], [0.0])):
        with pytest.raises(InputError):
            knee(load, latency)


LOADS = np.repeat([50.0, 80.0, 110.0, 140.0, 170.0, 200.0, 230.0], 6)
#: The loads of the published bank under ``quick``: shares of a capacity of 100 per second, five trials each.
SIX = np.repeat([40.0, 70.0, 100.0, 140.0, 200.0, 280.0], 5)


def bent(at: float, noise: float, seed: int = 0, *, loads: Floats = LOADS, doubles_in: float = 20) -> Floats:
    """Latency that doubles every so many requests per second beyond the knee."""
    log = np.log(0.004) + np.maximum(0, loads - at) * np.log(2) / doubles_in
    return np.asarray(np.exp(log + np.random.default_rng(seed).normal(0, noise, loads.size)))


@given(st.floats(90, 190), st.integers(0, 1000))
@settings(max_examples=12, deadline=None)
def test_a_bend_is_where_latency_begins_to_rise_and_answers_stop_to_follow(at: float, seed: int) -> None:
    rises = knee(LOADS, bent(at, 0.05, seed), n_resamples=60)
    assert rises.value == pytest.approx(at, abs=6)
    assert rises.low is not None and rises.high is not None and rises.low <= (rises.value or 0) <= rises.high
    noise = np.random.default_rng(seed).normal(0, 0.03, LOADS.size)
    follows = saturation(LOADS, np.minimum(LOADS, at) * np.exp(noise), n_resamples=60)
    assert follows.value == pytest.approx(at, abs=12)
    assert follows.low is None or follows.low <= (follows.value or 0)
    assert follows.high is None or follows.high >= (follows.value or 0)


def test_the_interval_covers_the_knee_about_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(40):
        bend = knee(LOADS, bent(150, 0.15, seed), n_resamples=150, seed=seed)
        covered += bend.low is not None and bend.high is not None and bend.low <= 150 <= bend.high
    assert 32 <= covered <= 40  # 95 %, a little fewer with six trials a load: the estimate says so


@pytest.mark.parametrize("slope", [0.0, 0.01])
def test_a_straight_line_has_no_knee(slope: float) -> None:
    noises = (np.random.default_rng(seed).normal(0, 0.1, LOADS.size) for seed in range(10))
    bends = [knee(LOADS, 0.004 * np.exp(slope * LOADS + noise), n_resamples=60) for noise in noises]
    assert sum(bend.value is None for bend in bends) >= 9


@pytest.mark.parametrize("at", [20.0, 45.0, 55.0, 230.0, 260.0, 400.0])
def test_a_knee_outside_of_what_was_offered_is_none_or_has_an_open_interval(at: float) -> None:
    for seed in range(12):
        bend = knee(SIX, bent(at, 0.15, seed, loads=SIX, doubles_in=30), n_resamples=100, seed=seed)
        assert bend.warnings
        if bend.value is not None:
            assert (bend.low if at < 70 else bend.high) is None
            assert any("open" in warning for warning in bend.warnings)
