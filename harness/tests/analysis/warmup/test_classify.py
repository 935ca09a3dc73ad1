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
    with pytest.raises(InputError, match="penalty"):
        detect_changepoints(series, penalty=0.0)
    with pytest.raises(InputError, match="penalty"):
        detect_changepoints(series, penalty=float("nan"))
    with pytest.raises(InputError, match="two windows"):
        detect_changepoints(series, min_size=1)
    with pytest.raises(InputError, match="tolerance"):
        classify_warmup(series, tolerance=-0.1)


def test_each_class_is_recognised_and_its_steady_state_located() -> None:
    flat = classify_warmup(stepped([100], [400]))
    warm = classify_warmup(stepped([130, 115, 100], [60, 60, 300]))
    slow = classify_warmup(stepped([100, 115], [100, 300]))
    never = classify_warmup(stepped([100, 115, 100, 115, 100], [70] * 5))
    assert (flat.kind, flat.steady_from) == (SteadyState.FLAT, 0)
    assert warm.kind is SteadyState.WARM_UP
    assert warm.steady_from is not None
    assert abs(warm.steady_from - 120) <= 2
    assert slow.kind is SteadyState.SLOWDOWN
    assert slow.steady_from is not None
    assert abs(slow.steady_from - 100) <= 2
    assert (never.kind, never.steady_from) == (SteadyState.NO_STEADY_STATE, None)


def test_for_throughput_a_rising_series_warms_up() -> None:
    series = stepped([100, 130], [100, 300])
    assert classify_warmup(series).kind is SteadyState.SLOWDOWN
    assert classify_warmup(series, better="higher").kind is SteadyState.WARM_UP
    assert classify_warmup(-series, better="lower").kind is SteadyState.WARM_UP


def test_a_shift_within_the_tolerance_is_listed_but_no_end_of_the_steady_state() -> None:
    series = stepped([103, 100], [200, 200], sd=0.5)
    found = classify_warmup(series)
    assert found.kind is SteadyState.FLAT
    assert len(found.changepoints) == 1
    assert classify_warmup(series, tolerance=0.01).kind is SteadyState.WARM_UP


@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=seeds, shift=st.sampled_from([-60.0, 40.0, 900.0]))
def test_shifts_of_the_level_do_not_depend_on_an_offset(seed: int, shift: float) -> None:
    series = stepped([112, 100], [120, 280], rho=0.6, seed=seed)
    assert classify_warmup(series).changepoints == classify_warmup(series + shift).changepoints


@pytest.mark.parametrize("n", [0, 1, 299])
def test_fewer_than_300_windows_cannot_be_classified(n: int) -> None:
    found = classify_warmup(stepped([100], [n]))
    assert (found.kind, found.steady_from) == (SteadyState.UNDECIDABLE, None)
    assert "300" in found.warnings[0]


def test_equal_windows_are_flat_and_the_clock_is_doubted() -> None:
    found = classify_warmup(np.full(500, 0.1))
    assert found.kind is SteadyState.FLAT
    assert "clock" in found.warnings[0]


def test_a_single_spike_is_no_change_of_level() -> None:
    series = stepped([100], [400])
    series[200] += 5_000.0
    assert classify_warmup(series).kind is SteadyState.FLAT


def test_huge_values_overflow_nothing() -> None:
    assert classify_warmup(1e200 * stepped([130, 100], [100, 300])).kind is SteadyState.WARM_UP


def test_a_random_walk_is_undecidable_rather_than_steady() -> None:
    kinds = [
        classify_warmup(1000 + np.cumsum(np.random.default_rng(seed).standard_normal(400))).kind
        for seed in range(8)
    ]
    assert SteadyState.FLAT not in kinds
    assert kinds.count(SteadyState.UNDECIDABLE) >= 5


def test_a_decay_as_slow_as_the_noise_is_undecidable_rather_than_flat() -> None:
    decay = 32 * np.exp(-np.arange(500) / 15)
    found = classify_warmup(decay + stepped([100], [500], rho=0.9, seed=1))
    assert found.kind is SteadyState.UNDECIDABLE
    assert "gradual start" in found.warnings[0]


def test_a_gradual_warm_up_is_recognised_in_quieter_noise() -> None:
    decay = 20 * np.exp(-np.arange(500) / 40)
    assert classify_warmup(decay + stepped([100], [500], rho=0.3, seed=1)).kind is SteadyState.WARM_UP


def test_the_smallest_step_that_would_be_seen_grows_with_correlation() -> None:
    loose = classify_warmup(stepped([100], [500], rho=0.0)).smallest_step
    tight = classify_warmup(stepped([100], [500], rho=0.9)).smallest_step
    assert loose is not None
    assert tight is not None
    assert 0 < 2 * loose < tight < 40
