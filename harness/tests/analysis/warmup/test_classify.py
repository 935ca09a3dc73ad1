# SPDX-License-Identifier: Apache-2.0
"""Change points beside those of ruptures, the warm-up classes, and where a slow starter has caught up."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module

import numpy as np
import numpy.typing as npt
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from harness.analysis.warmup.classify import SteadyState, classify_warmup, detect_changepoints
from harness.analysis.warmup.curves import BreakEven, Course, break_even

Series = NDArray[np.float64]


def stepped(
    levels: list[float], lengths: list[int], *, rho: float = 0.0, seed: int = 0, sd: float = 4.0
) -> Series:
    rng = np.random.default_rng(seed)
    level = np.repeat(np.array(levels), lengths)
    innovations = rng.standard_normal(len(level) + 200) * np.sqrt(1 - rho**2)
    return np.asarray(level + sd * lfilter([1.0], [1.0, -rho], innovations)[200:], dtype=np.float64)


SPIKE = stepped([100], [400]) + 5_000.0 * (np.arange(400) == 200)
SLOW_DECAY = 32 * np.exp(-np.arange(500) / 15)


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
def test_each_class_is_located(series: Series, kind: SteadyState, steady_from: int | None, why: str) -> None:
    found = classify_warmup(series)
    assert found.kind is kind
    assert (found.steady_from is None) == (steady_from is None)
    assert abs((found.steady_from or 0) - (steady_from or 0)) <= 2
    assert why in " ".join(found.warnings)


def test_a_shift_within_the_tolerance_is_listed_but_no_end_of_the_steady_state() -> None:
    found = classify_warmup(stepped([103, 100], [200, 200], sd=0.5))
    assert found.kind is SteadyState.FLAT and len(found.changepoints) == 1


def test_random_walks_and_noise_that_the_regression_does_not_fit_are_undecidable_not_steady() -> None:
    walks = (1000 + np.cumsum(np.random.default_rng(seed).standard_normal(400)) for seed in range(8))
    kinds = [classify_warmup(walk).kind for walk in walks]
    assert SteadyState.FLAT not in kinds
    assert kinds.count(SteadyState.UNDECIDABLE) >= 5
    rng = np.random.default_rng(8)
    for _ in range(4):  # a moving average of five windows is no autoregression of order 1
        found = classify_warmup(100 + np.convolve(rng.standard_normal(504), np.ones(5), "valid"))
        assert found.kind is SteadyState.UNDECIDABLE and "autoregressive" in found.warnings[0]


def total_cost(unit: npt.NDArray[np.float64], indices: Sequence[int], penalty: float) -> float:
    """Return Gaussian cost plus penalties, computed segment by segment."""
    parts = np.split(unit, [int(at) for at in indices])
    return sum(len(part) * float(np.log(part.var() + 1e-6)) for part in parts) + penalty * len(indices)


def test_pelt_equals_ruptures_or_finds_a_cheaper_cut() -> None:
    # ruptures 1.1 discards a start as soon as it loses, before the segment that beats it may itself be followed by
    # another, and so now and then misses the optimum by one short segment
    ruptures = import_module("ruptures")  # not above: every worker collects this file
    rng, n_alike = np.random.default_rng(5), 0
    for _ in range(30):
        lengths = rng.integers(10, 41, rng.integers(2, 4))
        series = np.concatenate([rng.normal(rng.normal(0, 3), rng.uniform(0.5, 2), n) for n in lengths])
        series = np.concatenate([series, rng.normal(0, 1, max(40 - len(series), 0))])
        unit = (
            series - series.mean()
        ) / series.std()  # ruptures adds 1e-6 to each variance whatever the unit
        penalty, min_size = float(rng.uniform(3.0, 25.0)), int(rng.integers(2, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it announces the 1e-6 each time
            theirs = ruptures.Pelt(model="normal", jump=1, min_size=min_size).fit(unit).predict(penalty)[:-1]
        ours = detect_changepoints(series, penalty=penalty, min_size=min_size)
        alike = list(ours) == [int(at) for at in theirs]
        assert alike or total_cost(unit, ours, penalty) < total_cost(unit, theirs, penalty) - 1e-9
        n_alike += alike
    assert n_alike >= 27


def course(start: float, cold: float, warm: float, n_cold: int = 1000, n: int = 10_000) -> Course:
    """Each of the first ``n_cold`` requests costs ``cold``, every later one ``warm``; measured up to ``n``."""
    places = (1.0, float(n_cold), float(n))
    spent = np.cumsum([start, (n_cold - 1) * cold, (n - n_cold) * warm])
    return Course(n_requests=places, spent=tuple(map(float, spent)), warm_cost=warm)


def test_who_starts_fast_and_is_slower_warm_is_caught_up_with_where_both_have_spent_the_same() -> None:
    fast, slow = course(0.1, 0.002, 0.002), course(2.0, 0.004, 0.001)
    found = break_even(fast, slow)
    assert found.first_ahead and found.within and found.n_requests is not None
    assert fast.at(found.n_requests) == pytest.approx(slow.at(found.n_requests))
    spent = 2.0 + 999 * 0.004 + (found.n_requests - 1000) * 0.001
    assert 0.1 + (found.n_requests - 1) * 0.002 == pytest.approx(spent)


def test_beyond_what_was_measured_the_warm_cost_tells_and_an_equal_one_is_never_caught_up_with() -> None:
    longer = break_even(course(0.1, 0.002, 0.002), course(2.0, 0.004, 0.001))
    found = break_even(course(0.1, 0.002, 0.002, n=2000), course(2.0, 0.004, 0.001, n=2000))
    assert not found.within and found.n_requests == pytest.approx(longer.n_requests)
    never = break_even(course(0.1, 0.002, 0.001), course(2.0, 0.004, 0.001))
    assert never == BreakEven(n_requests=None, first_ahead=True)


def test_a_crossing_that_turns_back_does_not_count() -> None:
    first = Course(n_requests=(1, 100, 200, 300), spent=(1.0, 2.0, 2.5, 3.0), warm_cost=0.02)
    second = Course(n_requests=(1, 100, 200, 300), spent=(1.5, 1.9, 2.7, 2.9), warm_cost=0.01)
    found = break_even(first, second)
    assert found.n_requests == pytest.approx(200 + 100 * 0.2 / 0.3) and found.within
