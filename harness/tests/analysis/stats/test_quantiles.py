# SPDX-License-Identifier: Apache-2.0
"""Quantiles within a trial and pooled over trials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.analysis.stats.quantiles import (
    bootstrap_quantile,
    leave_one_out_of_sorted,
    quantile_refused,
    rank,
)
from harness.errors import InputError
from harness.report.latencies import EveryLatency


@given(n=st.integers(1, 3000), thousandths=st.integers(10, 999))
@example(n=375, thousandths=336)
@settings(max_examples=100, deadline=None)
def test_the_sample_quantile_is_the_inverted_cdf_in_whole_numbers(n: int, thousandths: int) -> None:
    q = thousandths / 1000
    exact = -(-n * thousandths // 1000)
    assert rank(n, q) == exact
    # Where n q is whole, its binary product can lie above it, and numpy then takes the next value.
    if n * thousandths % 1000:
        assert exact == np.quantile(np.arange(1.0, n + 1), q, method="inverted_cdf")


def test_the_bootstrap_is_the_one_that_resamples_all_values() -> None:
    rng = np.random.default_rng(2)
    x = rng.permutation(np.arange(200.0))
    exact = bootstrap_quantile(x, 0.9, n_resamples=20_000)
    brute = np.sort(x[rng.integers(0, 200, (20_000, 200))], axis=1)[:, rank(200, 0.9) - 1]
    levels = (0.025, 0.25, 0.5, 0.75, 0.975)
    assert np.abs(np.quantile(exact, levels) - np.quantile(brute, levels)).max() <= 1
    assert exact.mean() == pytest.approx(brute.mean(), abs=0.1)
    assert set(exact) <= set(x)


def test_p999_needs_a_hundred_requests_beyond_it() -> None:
    x = np.random.default_rng(5).lognormal(0, 0.5, 100_000)
    assert EveryLatency(x).quantile(0.999).value is not None
    assert EveryLatency(x[:-1000]).quantile(0.999).value is None
    assert quantile_refused(99_000, 0.999) == "refused: 99 requests beyond p99.9, 100 needed"


@given(k=st.integers(2, 6), q=st.sampled_from([0.01, 0.5, 0.9, 0.99]), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_leaving_a_trial_out_is_the_quantile_of_the_others(k: int, q: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [np.round(rng.lognormal(0, 1, rng.integers(120, 400)), 1) for _ in range(k)]  # with ties
    sizes = np.array([part.size for part in parts])
    owner, values = np.repeat(np.arange(k), sizes), np.concatenate(parts)
    order = np.argsort(values, kind="stable")
    whole, without = leave_one_out_of_sorted(values[order], owner[order], sizes, q)
    assert whole == np.quantile(np.concatenate(parts), q, method="inverted_cdf")
    for i in range(k):
        others = np.concatenate(parts[:i] + parts[i + 1 :])
        assert without[i] == np.quantile(others, q, method="inverted_cdf")


@pytest.mark.parametrize("q", [0.0, 1.0, 1.5, float("nan")])
def test_a_quantile_lies_between_nought_and_one(q: float) -> None:
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        bootstrap_quantile([1.0, 2.0], q)
