# SPDX-License-Identifier: Apache-2.0
"""Quantiles within a trial."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.analysis.stats.quantiles import quantile_refused, rank
from harness.report.spread import EveryLatency


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


def test_p999_needs_a_hundred_requests_beyond_it() -> None:
    x = np.random.default_rng(5).lognormal(0, 0.5, 100_000)
    assert EveryLatency(x).quantile(0.999).value is not None
    assert EveryLatency(x[:-1000]).quantile(0.999).value is None
    assert quantile_refused(99_000, 0.999) == "refused: 99 requests beyond p99.9, 100 needed"
