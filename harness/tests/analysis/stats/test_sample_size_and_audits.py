# SPDX-License-Identifier: Apache-2.0
"""Inside a trial, before a session, and the audits."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis import (
    aa_test,
    audit_plan,
    batch_means_ci,
    block_bootstrap_ci,
    check_assumptions,
    effective_sample_size,
    plan_repetitions,
    unseen_mode_share,
    variance_components,
)
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


def test_the_block_bootstrap_is_as_wide_as_batch_means() -> None:
    x = 5 + ar_series(np.random.default_rng(3), (20_000,), 0.8)
    a, b = batch_means_ci(x), block_bootstrap_ci(x)
    assert a.low and a.high and b.low and b.high
    assert 0.6 < (b.high - b.low) / (a.high - a.low) < 1.5
    assert block_bootstrap_ci(x) == b, "the seed decides"
    tail = block_bootstrap_ci(x[:5000], quantile=0.9, n_resamples=199)
    assert tail.low and tail.high and tail.low < (tail.value or 0) < tail.high


def test_the_effective_sample_size_is_what_theory_says() -> None:
    x = ar_series(np.random.default_rng(4), (100_000,), 0.8)
    assert effective_sample_size(x).value == pytest.approx(100_000 * 0.2 / 1.8, rel=0.15)
    assert effective_sample_size(np.ones(50)).value is None


def test_too_little_and_constant_data_have_no_interval_within_a_trial() -> None:
    for x in (np.ones(1000), np.arange(5.0)):
        for found in (batch_means_ci(x), block_bootstrap_ci(x)):
            assert found.value is not None and found.low is None and found.warnings


@pytest.mark.parametrize(("cv", "wanted"), [(0.01, 5), (0.02, 11), (0.03, 22), (0.05, 55), (0.10, 205)])
def test_the_plan_needs_the_blocks_that_simulation_found(cv: float, wanted: int) -> None:
    assert plan_repetitions(cv=cv, half_width=0.02).n_blocks == pytest.approx(wanted, rel=0.07)


def test_the_planned_blocks_give_the_wanted_width() -> None:
    rng = np.random.default_rng(5)
    k = plan_repetitions(cv=0.03, half_width=0.02).n_blocks
    sd = (rng.normal(0, 0.03, (2000, k)) - rng.normal(0, 0.03, (2000, k))).std(axis=1, ddof=1)
    assert np.mean(sd) * 2.09 / np.sqrt(k) == pytest.approx(0.02, rel=0.05)


def test_a_small_pilot_asks_for_more_blocks_than_it_seems_to_need() -> None:
    rng = np.random.default_rng(6)
    a, b = np.exp(rng.normal(0, 0.03, (2, 5)))
    plan = plan_repetitions(a, b)
    assert plan.n_blocks_assured is not None and plan.n_blocks_assured > plan.n_blocks
    for wrong in ({}, {"a": a, "cv": 0.1}, {"a": [1.0], "b": [1.0]}, {"cv": -1.0}):
        with pytest.raises(InputError):
            plan_repetitions(**wrong)


def test_variance_components_find_what_was_put_in() -> None:
    rng = np.random.default_rng(7)
    trials = [rng.normal(0, 2) + rng.normal(0, 1, rng.integers(20, 60)) for _ in range(400)]
    found = variance_components(trials)
    assert found.between == pytest.approx(4, rel=0.2)
    assert found.within == pytest.approx(1, rel=0.05)
    alike = variance_components([[1.0, 3.0], [3.0, 1.0]])
    assert alike.between == 0 and alike.between_unclipped < 0 and alike.warnings
    with pytest.raises(InputError, match="two trials"):
        variance_components([[1.0, 2.0]])


def test_two_groups_of_trials_are_flagged_and_one_is_not() -> None:
    rng = np.random.default_rng(8)
    one = np.exp(rng.normal(0, 0.03, 20))
    two = one * np.where(np.arange(20) < 5, 1.5, 1.0)
    assert check_assumptions(one).multimodal is False
    found = check_assumptions(two)
    assert found.multimodal and found.mode_sizes == (15, 5)
    assert check_assumptions(one[:5]).multimodal is None, "five trials cannot show it"


def test_drift_over_the_session_is_flagged_in_the_order_of_the_trials() -> None:
    rng = np.random.default_rng(9)
    x = np.exp(0.01 * np.arange(20) + rng.normal(0, 0.02, 20))
    assert check_assumptions(x).drift
    assert not check_assumptions(x, positions=rng.permutation(20)).drift
    with pytest.raises(InputError, match="one position per value"):
        check_assumptions(x, positions=[1.0])


def test_resolution_warns_below_twenty_steps_and_refuses_below_two() -> None:
    for typical, kind in ((0.0301, "fine"), (0.015, "coarse"), (0.0015, "refused")):
        assert check_assumptions([typical] * 3, resolution=0.001).resolution == kind
    mean = check_assumptions([0.0015] * 3, resolution=0.001, statistic="mean")
    assert mean.resolution == "coarse" and "1.5 steps" in mean.warnings[0]


def test_a_mode_rarer_than_this_may_be_unseen() -> None:
    assert unseen_mode_share(10) == pytest.approx(0.259, abs=0.001)
    assert unseen_mode_share(20) == pytest.approx(0.139, abs=0.001)


def test_the_audit_accepts_a_plan_that_holds_together() -> None:
    # 100 users, 100 loops of 20 ms, started over 10 s: 9.9 + 2 s
    found = audit_plan(
        threads=100, loops=100, mean_response_s=0.02, ramp_up_s=10, throughput_per_s=840.3, duration_s=11.9,
        n_requests=10_000, parts=(5000, 5000), ratios=(("a over b", 3.0, 2.0, 1.5),),
    )  # fmt: skip
    assert found.consistent and found.expected_throughput_per_s == pytest.approx(840.3, abs=0.1)


def test_the_audit_names_every_equation_that_fails() -> None:
    found = audit_plan(
        threads=10, loops=10, mean_response_s=0.1, throughput_per_s=1000.0, n_requests=90, parts=(50, 50),
        ratios=(("twice", 3.0, 2.0, 2.0),),
    )  # fmt: skip
    assert not found.consistent and len(found.warnings) == 5
    assert audit_plan(threads=1, loops=1, mean_response_s=1.0).consistent is None
    with pytest.raises(InputError):
        audit_plan(threads=0, loops=1, mean_response_s=1.0)


def test_equal_things_pass_the_aa_test_and_its_noise_fits_the_interval() -> None:
    rng = np.random.default_rng(10)
    a, b = np.exp(rng.normal(0, 0.02, (2, 10)))
    found = aa_test(a, b)
    assert found.passed and found.noise is not None and 0 < found.noise < 0.05
    assert aa_test(a * 1.2, b).passed is False
    assert aa_test([1.0], [1.0]).passed is None
