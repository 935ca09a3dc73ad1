# SPDX-License-Identifier: Apache-2.0
"""The same numbers from statsmodels, to the tenth digit, on random data."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.effects import effect_size_ci, one_sided_p
from harness.analysis.stats.factor_effects import interactions
from harness.analysis.stats.intervals import mean_and_error, t_critical, two_sample_error
from harness.analysis.stats.verdicts import adjust_pvalues

MOST_APART = 1e-10
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@pytest.fixture(scope="module")
def weightstats() -> ModuleType:
    return import_module("statsmodels.stats.weightstats")  # not above: every worker collects this file


def samples() -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield two paired samples and a longer third one."""
    rng = np.random.default_rng(1)
    for k in (5, 12, 30):
        yield (
            np.exp(rng.normal(0.1, 0.05, k)),
            np.exp(rng.normal(0.0, 0.03, k)),
            np.exp(rng.normal(0.0, 0.1, k + 3)),
        )


def apart(a: Floats, b: Floats, paired: bool, estimator: str, theirs: tuple[float, float]) -> float:
    ours = effect_size_ci(a, b, paired=paired, estimator=estimator)  # type: ignore[arg-type]  # one of the names
    assert ours.low is not None and ours.high is not None
    return float(max(abs(np.log(ours.low) - theirs[0]), abs(np.log(ours.high) - theirs[1])))


def two(weightstats: ModuleType, x: Floats, y: Floats, variance: str) -> tuple[float, float]:
    means = weightstats.CompareMeans(weightstats.DescrStatsW(x), weightstats.DescrStatsW(y))
    low, high = means.tconfint_diff(alpha=0.05, usevar=variance)
    return float(low), float(high)


def test_intervals_of_ratios_are_those_of_the_t_tests(weightstats: ModuleType) -> None:
    for a, b, c in samples():
        la, lb, lc = np.log(a), np.log(b), np.log(c)
        paired = weightstats.DescrStatsW(la - lb).tconfint_mean(0.05)
        assert apart(a, b, True, "log_t", paired) < MOST_APART
        assert apart(a, c, False, "welch_log_t", two(weightstats, la, lc, "unequal")) < MOST_APART
        assert apart(a, c, False, "log_t", two(weightstats, la, lc, "pooled")) < MOST_APART
        assert apart(a, b, True, "log_t", two(weightstats, la, lb, "pooled")) > 1e-4, (
            "another test is told apart"
        )


def test_equivalence_is_that_of_two_one_sided_tests(weightstats: ModuleType) -> None:
    bound = np.log1p(0.08)
    for a, b, c in samples():
        paired = weightstats.ttost_paired(np.log(a), np.log(b), -bound, bound)[0]
        apart = weightstats.ttost_ind(np.log(a), np.log(c), -bound, bound, usevar="unequal")[0]
        la, lb, lc = np.log(a), np.log(b), np.log(c)
        centre, error, df = (float(number) for number in mean_and_error(la - lb))
        assert max(one_sided_p(centre, error, df, 0.08)) == pytest.approx(paired, abs=MOST_APART)
        error, df = (float(number) for number in two_sample_error(la, lc, welch=True))
        shift = float(la.mean() - lc.mean())
        assert max(one_sided_p(shift, error, df, 0.08)) == pytest.approx(apart, abs=MOST_APART)


def test_adjusted_p_values_are_those_of_holm_and_of_benjamini_and_hochberg() -> None:
    multitest, p = import_module("statsmodels.stats.multitest"), np.random.default_rng(2).random(12) ** 2
    for ours, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        found = adjust_pvalues(p.tolist(), method=ours)  # type: ignore[arg-type]  # both are names of methods
        assert found == pytest.approx(multitest.multipletests(p, method=theirs)[1].tolist(), abs=MOST_APART)


def test_interactions_are_those_of_a_regression_with_errors_clustered_by_block() -> None:
    api, rng, k = import_module("statsmodels.api"), np.random.default_rng(4), 8
    rows = [
        {
            "experiment": "e", "session_id": "s", "trial_id": f"{block}{variant}{logging}", "block": block,
            "position": 1, "duplicate": False, "variant": variant, "configuration": variant, "excluded": False,
            "flags": "", "logging": logging,
        }
        for block in range(k)
        for variant in ("a", "b")
        for logging in ("off", "on")
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    shared = rng.normal(0.0, 0.2, k)[frame["block"].to_numpy()]
    frame["latency_p99_s"] = np.exp(rng.normal(0.0, 0.1, len(frame)) + shared)
    # sum coding: the coefficient of a level against the mean of both is half of the difference of the two
    v = frame["variant"].map({"a": 1.0, "b": -1.0}).to_numpy()
    g = frame["logging"].map({"off": 1.0, "on": -1.0}).to_numpy()
    x = np.column_stack([np.ones(len(frame)), v, g, v * g])
    fit = api.OLS(np.log(frame["latency_p99_s"].to_numpy()), x).fit(
        cov_type="cluster", cov_kwds={"groups": frame["block"].to_numpy(), "use_correction": False}
    )
    (effect,) = interactions(frame, "latency_p99_s", ("variant", "logging"))
    test = fit.t_test(np.array([0, 0, 0, 4], dtype=np.float64))
    half = float(t_critical(0.95, k - 1)) * float(np.sqrt(k / (k - 1))) * float(np.squeeze(test.sd))
    expected = float(np.squeeze(test.effect)) + np.array([-half, 0.0, half])
    ratio = np.array([effect.ratio.low, effect.ratio.value, effect.ratio.high], dtype=np.float64)
    assert np.log(ratio) == pytest.approx(expected, abs=MOST_APART)
