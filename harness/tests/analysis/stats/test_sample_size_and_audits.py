# SPDX-License-Identifier: Apache-2.0
"""Inside a trial, before a session, and the audits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.analysis.audit.closed_loop import closed_loop_per_s
from harness.analysis.stats.aa_noise import aa_test
from harness.analysis.stats.assumptions import check_assumptions, judge_resolution
from harness.analysis.stats.quantiles import batch_means_ci
from harness.analysis.stats.sample_size import blocks_for, plan_repetitions
from harness.errors import InputError
from harness.verify.simulated.comparisons import ar_series


def test_batch_means_know_of_autocorrelation_where_the_plain_interval_does_not() -> None:
    rng = np.random.default_rng(2)
    x = ar_series(rng, (300, 6000), 0.9)
    inside = [
        e.low <= 0 <= e.high for e in map(batch_means_ci, x) if e.low is not None and e.high is not None
    ]
    half = 1.96 * x.std(axis=1) / np.sqrt(x.shape[1])
    assert len(inside) == 300 and np.mean(inside) > 0.9
    assert np.mean(np.abs(x.mean(axis=1)) <= half) < 0.5


def test_too_little_and_constant_data_have_no_interval_within_a_trial() -> None:
    for x in (np.ones(1000), np.arange(5.0)):
        trial = batch_means_ci(x)
        assert trial.value is not None and trial.low is None and trial.warnings


def sd_of(cv: float) -> float:
    """Return the standard deviation of a log ratio of two arms that vary by this share from run to run."""
    return float(np.sqrt(2 * np.log1p(cv**2)))


@pytest.mark.parametrize(("cv", "wanted"), [(0.01, 5), (0.02, 11), (0.03, 22), (0.05, 55), (0.10, 205)])
def test_the_plan_needs_the_blocks_that_simulation_found(cv: float, wanted: int) -> None:
    assert blocks_for(sd_of(cv)) == pytest.approx(wanted, rel=0.07)


def test_the_planned_blocks_give_the_wanted_width() -> None:
    rng = np.random.default_rng(5)
    k = blocks_for(sd_of(0.03))
    sd = (rng.normal(0, 0.03, (2000, k)) - rng.normal(0, 0.03, (2000, k))).std(axis=1, ddof=1)
    assert np.mean(sd) * 2.09 / np.sqrt(k) == pytest.approx(0.02, rel=0.05)


def test_the_plan_is_made_of_the_pilots_spread() -> None:
    a, b = np.exp(np.random.default_rng(6).normal(0, 0.03, (2, 5)))
    assert plan_repetitions(a, b) == blocks_for(float(np.log(a / b).std(ddof=1)))
    for wrong in (([1.0], [1.0]), ([0.0, 1.0], [1.0, 1.0]), ([1e-9, 1.0, 1e9], [1.0, 1.0, 1.0])):
        with pytest.raises(InputError):
            plan_repetitions(*wrong)


def test_two_groups_of_trials_are_flagged_and_one_is_not() -> None:
    one = np.exp(np.random.default_rng(8).normal(0, 0.03, 20))
    two = one * np.where(np.arange(20) < 5, 1.5, 1.0)
    assert not any("two groups" in warning for warning in check_assumptions(one))
    assert "two groups of trials (15 low, 5 high): no single value describes them" in check_assumptions(two)
    few = np.array([1.0, 1.01, 1.02, 1.5, 1.51])
    assert not any("two groups" in warning for warning in check_assumptions(few)), (
        "five trials cannot show it"
    )


def test_drift_over_the_session_is_flagged_in_the_order_of_the_trials() -> None:
    rng = np.random.default_rng(9)
    x = np.exp(0.01 * np.arange(20) + rng.normal(0, 0.02, 20))
    assert any("drift" in warning for warning in check_assumptions(x))
    assert not any("drift" in warning for warning in check_assumptions(x, positions=rng.permutation(20)))
    with pytest.raises(InputError, match="one position per value"):
        check_assumptions(x, positions=[1.0])


def test_resolution_warns_below_twenty_steps_and_refuses_below_two() -> None:
    for typical, kind in ((0.0301, "fine"), (0.015, "coarse"), (0.0015, "refused")):
        assert judge_resolution(typical, 0.001, "quantile")[0] == kind
    kind, _, warnings = judge_resolution(0.0015, 0.001, "mean")
    assert kind == "coarse" and "1.5 steps" in warnings[0]


def test_the_rate_of_a_closed_loop_follows_from_its_plan() -> None:
    # 100 users, 100 loops of 20 ms, started over 10 s: 9.9 + 2 s
    plan: dict[str, Any] = {"users": 100, "loops": 100, "mean_response_s": 0.02, "ramp_up_s": 10.0}
    assert closed_loop_per_s(**plan) == pytest.approx(10_000 / 11.9)
    assert closed_loop_per_s(**plan, think_time_s=0.01, between_s=0.03) == pytest.approx(10_000 / 15.9)
    for wrong in (
        {"users": 0},
        {"loops": 0},
        {"mean_response_s": -1.0},
        {"mean_response_s": 0.0, "ramp_up_s": 0.0},
    ):
        with pytest.raises(InputError):
            closed_loop_per_s(**(plan | wrong))


def test_equal_things_pass_the_aa_test_and_its_noise_fits_the_interval() -> None:
    rng = np.random.default_rng(10)
    a, b = np.exp(rng.normal(0, 0.02, (2, 10)))
    ratio, noise = aa_test(a, b)
    assert ratio.low is not None and ratio.high is not None and ratio.low < 1 < ratio.high
    assert noise is not None and 0 < noise < 0.05
    assert (aa_test(a * 1.2, b)[0].low or 0) > 1
    assert aa_test([1.0], [1.0])[1] is None
