# SPDX-License-Identifier: Apache-2.0
"""Means over trials and estimates at large say nothing that cannot be; quantiles within a trial."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from pydantic import ValidationError

from harness.analysis.stats.quantiles import quantile_refused, rank
from harness.analysis.stats.summaries import mean_within
from harness.model import Estimate, Support, support_of
from harness.report.spread import EveryLatency
from harness.verify.simulated.comparisons import scale_cells


def made(low: float, high: float, unit: str) -> Estimate:
    facts = {"value": 0.5, "unit": unit, "method": "t", "estimand": "mean", "n_trials": 5}
    return Estimate.model_validate(facts | {"low": low, "high": high})


@pytest.mark.parametrize(
    ("low", "high", "unit"),
    [(-40e-6, 206e-6, "s"), (-1.59, 2.29, "share"), (-0.004, 0.092, "share"), (0.48, 1.15, "share"),
     (-9.91, 11.65, "s"), (-0.1, 0.9, "ratio"), (-1.0, 2.0, "B"), (0.9, 0.1, "share")],
)  # fmt: skip
def test_an_estimate_with_an_impossible_interval_cannot_be_built(low: float, high: float, unit: str) -> None:
    with pytest.raises(ValidationError, match=r"cannot be|is above high"):
        made(low, high, unit)


@given(
    st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=8),
    st.sampled_from(["share", "s", "ratio", "1", ""]),
)
def test_whatever_the_trials_say_a_mean_stays_where_its_quantity_can_be(
    values: list[float], unit: str
) -> None:
    found = mean_within(values, unit=unit)
    assert found.support is support_of(unit)
    if found.value is None:
        assert "cannot be said" in found.warnings[-1]
    else:
        assert min(values) - 1e-9 <= found.value <= max(values) + 1e-9


@pytest.mark.parametrize(
    ("values", "support"),
    [
        ([0.9, 0.95, -8.0, 0.2, 0.97], Support.REDUCTION),  # left between a fiftieth and ten times as much
        ([0.001, 0.999, 0.5, 0.01, 0.99], Support.SHARE),
    ],
)
def test_a_mean_whose_interval_holds_nearly_none_and_nearly_all_has_no_value(
    values: list[float], support: Support
) -> None:
    found = mean_within(values, support=support, unit="share")
    assert (found.value, found.low, found.high) == (None, None, None)
    assert "cannot be said: the interval over 5 trials reaches from below" in found.warnings[-1]


@pytest.mark.parametrize(
    ("values", "unit"),
    [([0.5, 1.3], "s"), ([0.0, 0.2, 0.4], "s"), ([0.0, 0.0, 0.3], "share"), ([0.4, 0.5, 0.6, 1 - 1e-15], "share")],
)  # fmt: skip
def test_two_trials_and_trials_on_the_edge_have_an_arithmetic_mean_without_an_interval(
    values: list[float], unit: str
) -> None:
    found = mean_within(values, unit=unit)
    assert found.value == pytest.approx(np.mean(values)) and (found.low, found.high) == (None, None)
    assert "arithmetic" in found.estimand and "no interval" in found.warnings[0]


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
