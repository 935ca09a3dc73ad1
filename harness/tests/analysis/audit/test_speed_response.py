# SPDX-License-Identifier: Apache-2.0
"""One slope within groups, and a metric that follows the speed of the CPUs."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from harness.analysis.audit.session_checks import slope_within, speed_response
from harness.analysis.stats.comparisons import compare
from harness.tests.support.uneven_speeds import PER_S, uneven_speeds


def test_the_slope_is_that_of_an_analysis_of_covariance() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.array(["a", "b", "c"], dtype=object), [5, 7, 4])
    x = rng.standard_normal(16)
    y = 0.7 * x + (groups == "b") * 4.0 + rng.standard_normal(16)
    found = slope_within(x, y, groups, level=0.9)
    smf = import_module("statsmodels.formula.api")  # not above: every worker collects this file
    model = smf.ols("y ~ x + C(group)", pd.DataFrame({"x": x, "y": y, "group": groups})).fit()
    assert found is not None
    assert (found.value, found.p_value) == pytest.approx((model.params["x"], model.pvalues["x"]))
    assert (found.low, found.high) == pytest.approx(tuple(model.conf_int(0.1).loc["x"]))


def test_no_slope_is_given_where_nothing_varies_or_too_little_is_left() -> None:
    groups = np.array(["a", "a", "b", "b", "b"], dtype=object)
    x = np.array([1.0, 1.0, 2.0, 2.0, 2.0])
    assert slope_within(x, np.arange(5.0), groups) is None
    assert slope_within(np.arange(3.0), np.arange(3.0), groups[:3]) is None


@pytest.mark.parametrize("elasticity", [-1.0, 0.0])
def test_the_interval_of_the_elasticity_holds_the_true_one(elasticity: float) -> None:
    found = speed_response(uneven_speeds(elasticity=elasticity), "throughput_per_s")
    assert found is not None and found.n_excluded > 0
    told = found.elasticity
    assert told.low is not None and told.high is not None and told.low <= elasticity <= told.high


def test_trials_that_failed_tell_nothing_of_it_and_those_without_a_reading_neither() -> None:
    trials = uneven_speeds()
    failed, unread = trials.index[0], trials.index[1]
    trials.loc[failed, "excluded"], trials.loc[failed, "exclusion_reason"] = True, "failed: it ended"
    trials.loc[unread, "service_step_s"] = np.nan
    found = speed_response(trials, "throughput_per_s")
    assert found is not None and len(found.trials) == len(trials) - 2
    assert speed_response(trials.assign(service_step_s=np.nan), "throughput_per_s") is None


def test_leaving_out_other_speeds_narrows_the_interval_and_keeps_the_ratio() -> None:
    truth = PER_S["java-helidon"] / PER_S["go-nethttp"]
    widths, held = [], 0
    for seed in range(40):
        trials = uneven_speeds(seed=seed)
        with_all = trials.assign(excluded=False)
        ratios = [
            compare(one, "throughput_per_s", reference="go-nethttp", gated=False)[0].ratio
            for one in (trials, with_all)
        ]
        ours, theirs = ((one.low or 0.0, one.high or 0.0) for one in ratios)
        widths.append(np.log(ours[1] / ours[0]) / np.log(theirs[1] / theirs[0]))
        held += ours[0] <= truth <= ours[1]
    assert float(np.median(widths)) < 0.7
    assert held >= 34
