# SPDX-License-Identifier: Apache-2.0
"""A rolling median of what is left is to the last bit that of the rest alone, whatever was left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import median_filter

from harness.analysis.attribution import rolling_median
from harness.analysis.attribution.rolling_median import RollingMedian


def alone(values: np.ndarray, window: int) -> np.ndarray:
    return median_filter(values, size=window, mode="nearest")


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(40, 400),
    window=st.sampled_from([1, 3, 9, 21]),
    gaps=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 30)), max_size=6),
)
def test_the_median_of_the_rest_is_the_same_as_if_it_stood_alone(
    seed: int, n: int, window: int, gaps: list[tuple[float, int]]
) -> None:
    values = np.random.default_rng(seed).integers(0, 9, n).astype(float)
    kept = np.ones(n, dtype=bool)
    for share, length in gaps:
        kept[int(share * n) : int(share * n) + length] = False
    used = np.flatnonzero(kept)
    if not len(used):
        return
    found = RollingMedian(values, window)
    assert np.array_equal(found.whole, alone(values, window))
    assert np.array_equal(found.of(used, window), alone(values[used], window))
    assert np.array_equal(found.of(used, 5), alone(values[used], 5))


def test_only_what_lies_near_a_gap_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).random(10_000)
    found = RollingMedian(values, 101)
    lengths: list[int] = []
    filtered = rolling_median._filtered

    def counted(some: np.ndarray, window: int) -> np.ndarray:
        lengths.append(len(some))
        return filtered(some, window)

    monkeypatch.setattr(rolling_median, "_filtered", counted)
    used = np.delete(np.arange(10_000), np.s_[5000:5020])
    assert np.array_equal(found.of(used, 101), alone(values[used], 101))
    assert sum(lengths) < 400
