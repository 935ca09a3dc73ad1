# SPDX-License-Identifier: Apache-2.0
"""Verdicts of two sessions: when they agree and contradict each other; and random effects over sessions."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import numpy as np
import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.session_agreement import FEWEST_TO_PREDICT, agreement, between_sessions, kind_of
from harness.model import Estimate, Verdict
from harness.tests.analysis.stats.test_comparisons import METRIC, table

DIFFERENT, EQUIVALENT, UNDECIDED = Verdict.DIFFERENT, Verdict.EQUIVALENT, Verdict.INCONCLUSIVE
NEGLIGIBLE, REFUSED = Verdict.DIFFERENT_BUT_NEGLIGIBLE, Verdict.NOT_ABOUT_SERVICES


def session(ratio: float, *, seed: int = 0, cv: float = 0.02) -> tuple[Comparison, ...]:
    """Both cells of a session of ten blocks."""
    return compare(table(10, ratio, cv=cv, seed=seed), METRIC, reference="go", by=("logging",))


@cache
def said(verdict: Verdict, ratio: float) -> Comparison:
    """A comparison that says this."""
    one = session(ratio)[0]
    return one.model_copy(update={"verdict": verdict})


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ((DIFFERENT, 1.5), (DIFFERENT, 1.3), "agree"),
        ((DIFFERENT, 1.5), (DIFFERENT, 0.7), "contradict"),
        ((DIFFERENT, 1.5), (EQUIVALENT, 1.0), "contradict"),
        ((DIFFERENT, 1.02), (EQUIVALENT, 1.01), "one undecided"),
        ((DIFFERENT, 1.5), (NEGLIGIBLE, 1.04), "one undecided"),
        ((DIFFERENT, 1.5), (NEGLIGIBLE, 0.96), "contradict"),
        ((DIFFERENT, 1.5), (UNDECIDED, 1.3), "one undecided"),
        ((DIFFERENT, 1.5), (REFUSED, 1.3), "one undecided"),
        ((EQUIVALENT, 1.0), (NEGLIGIBLE, 1.04), "agree"),
        ((EQUIVALENT, 1.0), (EQUIVALENT, 0.99), "agree"),
        ((UNDECIDED, 1.1), (UNDECIDED, 0.9), "agree"),
        ((UNDECIDED, 1.1), (REFUSED, 1.1), "one undecided"),
        ((REFUSED, 1.5), (REFUSED, 0.5), "agree"),
    ],
)
def test_what_two_verdicts_are_to_each_other(
    first: tuple[Verdict, float], second: tuple[Verdict, float], kind: str
) -> None:
    a, b = said(*first), said(*second)
    assert kind_of(a, b) == kind
    assert kind_of(b, a) == kind


def test_verdicts_stand_beside_those_of_the_same_cell_and_a_changed_program_is_counted_apart() -> None:
    first, second = session(1.5), session(1.5, seed=1)[::-1]
    found = agreement(first, second)
    assert [pair.first for pair in found.pairs] == list(first)
    assert all(pair.first.levels == pair.second.levels for pair in found.pairs)
    assert (found.counts()["agree"], found.share) == (2, 1.0)
    for changed in ("java", "go"):
        found = agreement(first, session(0.5), changed=(changed, "elsewhere"))
        assert found.changed == (changed,)
        assert (found.n(), found.share, found.counts(changed=True)["contradict"]) == (0, None, 2)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """Value, low and high of an estimate that has them."""
    assert estimate.value is not None and estimate.low is not None and estimate.high is not None
    return estimate.value, estimate.low, estimate.high


RATIOS = np.array([1.364, 1.357, 1.33, 1.20, 1.28, 1.31])
ERRORS = np.array([0.007, 0.007, 0.02, 0.006, 0.012, 0.015])


def test_the_mean_and_its_interval_are_those_of_statsmodels() -> None:
    combined = import_module("statsmodels.stats.meta_analysis").combine_effects(
        np.log(RATIOS), ERRORS**2, method_re="iterated", use_t=True
    )
    between = between_sessions(RATIOS, ERRORS, estimand="ratio")
    value, low, high = ends(between.mean)
    assert np.log(value) == pytest.approx(combined.mean_effect_re, abs=1e-8)
    assert between.i2 == pytest.approx(combined.i2)
    expected = combined.conf_int()[3]  # random effects with the scale of Hartung and Knapp
    assert np.log([low, high]) == pytest.approx(list(expected), abs=1e-6)


def test_few_sessions_predict_nothing_and_sessions_that_agree_have_no_variance_between_them() -> None:
    few = FEWEST_TO_PREDICT - 1
    between = between_sessions(RATIOS[:few], ERRORS[:few], estimand="ratio")
    assert between.mean.low is not None
    assert between.predicted.value is None and str(few) in between.predicted.warnings[0]
    alike = between_sessions([1.3] * 5, [0.01] * 5, estimand="ratio")
    assert alike.i2 == 0
    assert ends(alike.mean)[1] < 1.3 < ends(alike.mean)[2], "never surer than the sessions' own errors"


@pytest.mark.parametrize(("spread", "k"), [(0.0, 3), (0.06, 3), (0.0, 6), (0.06, 6)])
def test_the_ranges_hold_what_they_should_and_a_pooled_interval_does_not(spread: float, k: int) -> None:
    rng, n = np.random.default_rng(7), 400
    mean = next_one = pooled = 0
    for _ in range(n):
        every = rng.uniform(0.01, 0.03, k + 1)
        *logs, another = rng.normal(rng.normal(0.2, spread, k + 1), every)
        errors = every[:k]
        between = between_sessions(np.exp(logs), errors, estimand="ratio")
        _, low, high = np.log(ends(between.mean))
        _, least, most = np.log(ends(between.predicted))
        mean += low <= 0.2 <= high
        next_one += least <= another <= most
        half = 1.96 / np.sqrt((1 / errors**2).sum())
        pooled += abs(np.average(logs, weights=1 / errors**2) - 0.2) <= half
    assert mean / n >= 0.93 and next_one / n >= 0.92
    assert spread == 0 or pooled / n < 0.8
