# SPDX-License-Identifier: Apache-2.0
"""Rules of the change points and of the warm-up classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter

from harness.analysis.warmup.classify import SteadyState, classify_warmup, detect_changepoints
from harness.errors import InputError

Series = NDArray[np.float64]


def stepped(
    levels: list[float], lengths: list[int], *, rho: float = 0.0, seed: int = 0, sd: float = 4.0
) -> Series:
    rng = np.random.default_rng(seed)
    level = np.repeat(np.array(levels), lengths)
    innovations = rng.standard_normal(len(level) + 200) * np.sqrt(1 - rho**2)
    return np.asarray(level + sd * lfilter([1.0], [1.0, -rho], innovations)[200:], dtype=np.float64)


seeds = st.integers(0, 10_000)
EXAMPLES = settings(max_examples=15, deadline=None, derandomize=True)


@EXAMPLES
@given(seed=seeds, min_size=st.integers(2, 20))
def test_change_points_reverse_with_the_series(seed: int, min_size: int) -> None:
    series = stepped([100, 110, 95], [50, 60, 55], seed=seed)
    forward = detect_changepoints(series, penalty=12.0, min_size=min_size)
    backward = detect_changepoints(series[::-1], penalty=12.0, min_size=min_size)
    assert tuple(len(series) - at for at in reversed(backward)) == forward


@EXAMPLES
@given(seed=seeds, min_size=st.integers(2, 12), penalty=st.floats(0.5, 30.0))
def test_no_segment_is_shorter_than_the_least(seed: int, min_size: int, penalty: float) -> None:
    series = np.random.default_rng(seed).standard_normal(90)
    found = detect_changepoints(series, penalty=penalty, min_size=min_size)
    assert all(np.diff([0, *found, 90]) >= min_size)


def test_a_change_of_variance_alone_is_a_change_point() -> None:
    rng = np.random.default_rng(4)
    series = np.concatenate([rng.normal(0, 1, 200), rng.normal(0, 4, 200)])
    found = detect_changepoints(series)
    assert len(found) == 1
    assert abs(found[0] - 200) <= 5


@pytest.mark.parametrize("values", [[], [1.0], [5.0] * 400, [0.0] * 400, [0.1] * 400])
def test_a_constant_or_tiny_series_has_no_change_point(values: list[float]) -> None:
    assert detect_changepoints(values) == ()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_window_without_a_finite_value_is_an_error_that_names_it(bad: float) -> None:
    series = np.ones(400)
    series[123] = bad
    for call in (detect_changepoints, classify_warmup):
        with pytest.raises(InputError, match="window 123"):
            call(series)


def test_bad_arguments_are_refused() -> None:
    series = np.arange(400.0)
    with pytest.raises(InputError, match="one number per window"):
        classify_warmup(np.ones((20, 20)))
    with pytest.raises(InputError, match="tolerance"):
        classify_warmup(series, tolerance=-0.1)
    with pytest.raises(InputError, match="two windows"):
        detect_changepoints(series, min_size=1)
    for penalty in (0.0, float("nan")):
        with pytest.raises(InputError, match="penalty"):
            detect_changepoints(series, penalty=penalty)


SPIKE = stepped([100], [400]) + 5_000.0 * (np.arange(400) == 200)
SLOW_DECAY, QUIET_DECAY = 32 * np.exp(-np.arange(500) / 15), 20 * np.exp(-np.arange(500) / 40)


@pytest.mark.parametrize(
    ("series", "kind", "steady_from", "why"),
    [
        (stepped([100], [400]), SteadyState.FLAT, 0, ""),
        (stepped([130, 115, 100], [60, 60, 300]), SteadyState.WARM_UP, 120, ""),
        (stepped([100, 115], [100, 300]), SteadyState.SLOWDOWN, 100, ""),
        (stepped([100, 115, 100, 115, 100], [70] * 5), SteadyState.NO_STEADY_STATE, None, ""),
        (1e200 * stepped([130, 100], [100, 300]), SteadyState.WARM_UP, 100, ""),
        (SPIKE, SteadyState.FLAT, 0, ""),
        (np.full(500, 0.1), SteadyState.FLAT, 0, "clock"),
        (stepped([100], [299]), SteadyState.UNDECIDABLE, None, "300"),
        (np.zeros(0), SteadyState.UNDECIDABLE, None, "300"),
        (SLOW_DECAY + stepped([100], [500], rho=0.9, seed=1), SteadyState.UNDECIDABLE, None, "gradual start"),
    ],
)  # fmt: skip
def test_each_class_is_recognised_and_its_steady_state_located(
    series: Series, kind: SteadyState, steady_from: int | None, why: str
) -> None:
    found = classify_warmup(series)
    assert found.kind is kind
    assert (found.steady_from is None) == (steady_from is None)
    assert abs((found.steady_from or 0) - (steady_from or 0)) <= 2
    assert why in " ".join(found.warnings)


def test_a_gradual_warm_up_is_recognised_in_quieter_noise() -> None:
    series = QUIET_DECAY + stepped([100], [500], rho=0.3, seed=1)
    assert classify_warmup(series).kind is SteadyState.WARM_UP


def test_for_throughput_a_rising_series_warms_up() -> None:
    series = stepped([100, 130], [100, 300])
    assert classify_warmup(series).kind is SteadyState.SLOWDOWN
    assert classify_warmup(series, better="higher").kind is SteadyState.WARM_UP
    assert classify_warmup(-series, better="lower").kind is SteadyState.WARM_UP


def test_a_shift_within_the_tolerance_is_listed_but_no_end_of_the_steady_state() -> None:
    series = stepped([103, 100], [200, 200], sd=0.5)
    found = classify_warmup(series)
    assert found.kind is SteadyState.FLAT and len(found.changepoints) == 1
    assert classify_warmup(series, tolerance=0.01).kind is SteadyState.WARM_UP


@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=seeds, shift=st.sampled_from([-60.0, 40.0, 900.0]))
def test_shifts_of_the_level_do_not_depend_on_an_offset(seed: int, shift: float) -> None:
    series = stepped([112, 100], [120, 280], rho=0.6, seed=seed)
    assert classify_warmup(series).changepoints == classify_warmup(series + shift).changepoints


def test_a_random_walk_is_undecidable_rather_than_steady() -> None:
    walks = (1000 + np.cumsum(np.random.default_rng(seed).standard_normal(400)) for seed in range(8))
    kinds = [classify_warmup(walk).kind for walk in walks]
    assert SteadyState.FLAT not in kinds
    assert kinds.count(SteadyState.UNDECIDABLE) >= 5


def test_the_smallest_step_that_would_be_seen_grows_with_correlation() -> None:
    series = (stepped([100], [500], rho=rho) for rho in (0.0, 0.9))
    loose, tight = (classify_warmup(one).smallest_step or 0.0 for one in series)
    assert 0 < 2 * loose < tight < 40
