# SPDX-License-Identifier: Apache-2.0
"""Ratios and means over trials: what must hold for any data, and what bad data gets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.analysis.stats.effects import Estimator, effect_size_ci, equivalence_interval
from harness.analysis.stats.intervals import signed_rank_cdf
from harness.analysis.stats.summaries import mean_ci
from harness.analysis.stats.verdicts import (
    adjust_pvalues,
    decide,
    default_margin,
    grade,
    sign_flip_p,
    verdict,
)
from harness.errors import InputError, PseudoReplicationError
from harness.model import Estimate, Verdict


def sample(k: int = 10, shift: float = 0.1, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(shift, 0.03, k)), np.exp(rng.normal(0, 0.03, k))


def numbers(estimate: Estimate) -> np.ndarray:
    assert estimate.low is not None and estimate.high is not None
    return np.array([estimate.value, estimate.low, estimate.high], dtype=float)


@pytest.mark.parametrize(
    ("estimator", "paired"), [("welch_log_t", True), ("fieller", True), ("hodges_lehmann", False)]
)
def test_an_estimator_of_the_other_design_is_refused(estimator: Estimator, paired: bool) -> None:
    with pytest.raises(InputError, match="no such estimator"):
        effect_size_ci(*sample(), paired=paired, estimator=estimator)


def test_the_hodges_lehmann_interval_inverts_the_exact_test() -> None:
    a, b = sample(k=9, shift=0.02)
    low, high = numbers(effect_size_ci(a, b, paired=True, estimator="hodges_lehmann"))[1:]
    edges = ((low * 1.0001, True), (high * 0.9999, True), (low * 0.9999, False), (high * 1.0001, False))
    for shift, inside in edges:
        p = stats.wilcoxon(np.log(a) - np.log(b) - np.log(shift), method="exact").pvalue
        assert (p > 0.05) == inside


def test_rank_distributions_are_the_tabulated_ones() -> None:
    assert list(signed_rank_cdf(3) * 8) == [1, 2, 3, 5, 6, 7, 8]


def test_few_slow_trials_move_the_mean_but_not_hodges_lehmann() -> None:
    a, b = sample(k=20, shift=0.0)
    a[:2] *= 1.5
    mean, robust = (effect_size_ci(a, b, paired=True, estimator=e) for e in ("log_t", "hodges_lehmann"))
    assert numbers(mean)[0] > 1.03 > numbers(robust)[0]


def test_one_trial_has_a_value_and_no_interval() -> None:
    found = effect_size_ci([1.1], [1.0], paired=True)
    assert found.value == pytest.approx(1.1)
    assert found.low is None and found.high is None and "one trial" in found.warnings[0]
    assert mean_ci([2.0]).low is None


def test_constant_values_have_no_interval_of_width_zero() -> None:
    for found in (mean_ci([3.0, 3.0, 3.0]), effect_size_ci([3, 3, 3], [2, 2, 2], paired=True)):
        assert found.value is not None and found.low is None
        assert any("no variation" in warning for warning in found.warnings)


def test_zero_has_no_logarithm_and_says_so() -> None:
    assert mean_ci([0.0, 1.0]).value is None
    assert effect_size_ci([0.0, 1.0], [1.0, 1.0], paired=True).value is None
    assert mean_ci([0.0, 1.0], scale="linear").value == 0.5
    unbounded = effect_size_ci([1.0, 2.0, 3.0], [-1.0, 1.0, 0.5], paired=False, estimator="fieller")
    assert unbounded.low is None and "may be zero" in unbounded.warnings[0]


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [1.0, float("inf")], ["a", "b"], [[1.0], [2.0]]])
def test_what_is_no_list_of_finite_numbers_is_refused(bad: list[object]) -> None:
    with pytest.raises(InputError):
        mean_ci(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        effect_size_ci(bad, bad, paired=False)  # type: ignore[arg-type]


def test_paired_arms_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="paired=False"):
        effect_size_ci([1.0, 2.0], [1.0], paired=True)


def test_requests_handed_over_as_trials_are_refused() -> None:
    requests = np.random.default_rng(1).lognormal(0, 1, 5000)
    why = "reduce each trial to one number"
    with pytest.raises(PseudoReplicationError, match=why):
        mean_ci(requests)
    for call in (effect_size_ci, equivalence_interval):
        with pytest.raises(PseudoReplicationError, match=why):
            call(requests, requests, paired=True)
    with pytest.raises(PseudoReplicationError, match=why):
        sign_flip_p(requests, requests)


def test_the_exact_sign_flip_counts_every_pattern() -> None:
    a, b = np.exp([0.3, 0.2, 0.1, 0.4, -0.05, 0.2]), np.ones(6)
    d = np.log(a)
    patterns = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    brute = np.mean(np.abs(patterns @ d) >= abs(d.sum()) - 1e-12)
    assert sign_flip_p(a, b) == pytest.approx(brute)


def test_the_sampled_sign_flip_agrees_with_the_exact_one_and_repeats() -> None:
    a, b = sample(k=25, shift=0.015)
    one, again = (sign_flip_p(a, b, seed=4) for _ in range(2))
    assert one == again != sign_flip_p(a, b, seed=5)
    assert one == pytest.approx(stats.ttest_1samp(np.log(a / b), 0).pvalue, abs=0.02)


def test_below_five_trials_no_p_value_is_printed() -> None:
    assert sign_flip_p(*sample(k=4)) is None
    assert grade(4, "confirmatory") == "too few"
    assert grade(9, "confirmatory") == "exploratory"
    assert grade(10, "confirmatory") == "confirmatory"
    assert grade(30, "exploratory") == "exploratory"


def bounds(low: float | None, high: float | None) -> Estimate:
    return Estimate(value=1.0, low=low, high=high, unit="ratio", method="m", estimand="e", n_trials=9)


@pytest.mark.parametrize(
    ("wide", "narrow", "says"),
    [
        ((1.10, 1.20), (1.11, 1.19), Verdict.DIFFERENT),
        ((0.98, 1.03), (0.99, 1.02), Verdict.EQUIVALENT),
        ((1.01, 1.03), (1.012, 1.028), Verdict.DIFFERENT_BUT_NEGLIGIBLE),
        ((0.90, 1.20), (0.92, 1.18), Verdict.INCONCLUSIVE),
        ((None, None), (None, None), Verdict.INCONCLUSIVE),
        ((0.80, 0.90), (0.81, 0.89), Verdict.DIFFERENT),
    ],
)
def test_there_are_four_verdicts(
    wide: tuple[float | None, float | None], narrow: tuple[float | None, float | None], says: Verdict
) -> None:
    assert verdict(bounds(*wide), bounds(*narrow), margin=0.05) == says


def test_the_margin_is_wider_in_the_tail_and_positive() -> None:
    assert default_margin("throughput_per_s") == 0.05
    assert default_margin("latency_p99_s") == 0.10
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError):
            decide(bounds(0.9, 1.1), bounds(0.9, 1.1), n_blocks=9, margin=wrong)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12))
@settings(max_examples=50, deadline=None)
def test_adjusting_only_ever_raises_p_and_keeps_their_order(p: list[float | None]) -> None:
    holm, bh = adjust_pvalues(p), adjust_pvalues(p, method="bh")
    rows = [(x, h, b) for x, h, b in zip(p, holm, bh, strict=True) if x is not None]
    assert [h is None for h in holm] == [x is None for x in p]
    assert all(x <= (b or 0) + 1e-12 and (b or 0) <= (h or 0) + 1e-12 <= 1 + 1e-11 for x, h, b in rows)
    ordered = sorted(rows)
    assert [h for _, h, _ in ordered] == sorted(h for _, h, _ in rows if h is not None)


def test_what_is_no_p_value_is_refused() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match=r"p_values\[1\]"):
            adjust_pvalues([0.5, wrong])
