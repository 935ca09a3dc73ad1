# SPDX-License-Identifier: Apache-2.0
"""Ratios, p-values and interactions over trials: known answers, and statsmodels and SciPy as oracles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.analysis.stats.effects import effect_size_ci, equivalence_interval
from harness.analysis.stats.factor_effects import Interaction, interactions
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.summaries import mean_ci
from harness.analysis.stats.verdicts import adjust_pvalues, sign_flip_p
from harness.errors import PseudoReplicationError
from harness.model import Estimate
from harness.tests.analysis.trial_tables import trial_table

MOST_APART = 1e-10


def sample(k: int = 10, shift: float = 0.1, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(shift, 0.03, k)), np.exp(rng.normal(0, 0.03, k))


def numbers(estimate: Estimate) -> np.ndarray:
    assert estimate.low is not None and estimate.high is not None
    return np.array([estimate.low, estimate.value, estimate.high], dtype=float)


@pytest.mark.parametrize("k", [5, 12, 30])
def test_intervals_of_ratios_are_those_of_the_t_tests_of_statsmodels(k: int) -> None:
    weightstats = import_module("statsmodels.stats.weightstats")  # not above: every worker collects this file
    (a, b), (c, _) = sample(k), sample(k + 3, seed=4)
    la, lb, lc = np.log(a), np.log(b), np.log(c)
    paired = weightstats.DescrStatsW(la - lb).tconfint_mean(0.05)
    means = weightstats.CompareMeans(weightstats.DescrStatsW(la), weightstats.DescrStatsW(lc))
    unpaired = means.tconfint_diff(alpha=0.05, usevar="unequal")
    low, _, high = np.log(numbers(effect_size_ci(a, b, paired=True)))
    assert (low, high) == pytest.approx(tuple(paired), abs=MOST_APART)
    low, _, high = np.log(numbers(effect_size_ci(a, c, paired=False, estimator="welch_log_t")))
    assert (low, high) == pytest.approx(tuple(unpaired), abs=MOST_APART)


def test_the_hodges_lehmann_interval_inverts_the_exact_test_of_scipy() -> None:
    a, b = sample(k=9, shift=0.02)
    low, _, high = numbers(effect_size_ci(a, b, paired=True, estimator="hodges_lehmann"))
    edges = ((low * 1.0001, True), (high * 0.9999, True), (low * 0.9999, False), (high * 1.0001, False))
    for shift, inside in edges:
        p = stats.wilcoxon(np.log(a) - np.log(b) - np.log(shift), method="exact").pvalue
        assert (p > 0.05) == inside


def test_interactions_are_those_of_a_regression_with_errors_clustered_by_block() -> None:
    api, k = import_module("statsmodels.api"), 8
    frame = trials(n_blocks=k, noise=0.1, keep=lambda _, __, warm_up: warm_up == "none", seed=4)
    # sum coding: the coefficient of a level against the mean of both is half of the difference of the two
    v = frame["variant"].map({"go": 1.0, "java": -1.0}).to_numpy()
    g = frame["logging"].map({"off": 1.0, "on": -1.0}).to_numpy()
    x = np.column_stack([np.ones(len(frame)), v, g, v * g])
    fit = api.OLS(np.log(frame["latency_p99_s"].to_numpy()), x).fit(
        cov_type="cluster", cov_kwds={"groups": frame["block"].to_numpy(), "use_correction": False}
    )
    (effect,) = interactions(frame, "latency_p99_s", ("variant", "logging"))
    test = fit.t_test(np.array([0, 0, 0, 4], dtype=np.float64))
    half = float(t_critical(0.95, k - 1)) * float(np.sqrt(k / (k - 1))) * float(np.squeeze(test.sd))
    expected = float(np.squeeze(test.effect)) + np.array([-half, 0.0, half])
    assert np.log(numbers(effect.ratio)) == pytest.approx(expected, abs=MOST_APART)


def test_adjusted_p_values_are_those_of_holm_and_of_benjamini_and_hochberg() -> None:
    multitest, p = import_module("statsmodels.stats.multitest"), np.random.default_rng(2).random(12) ** 2
    for method, name in (("holm", "holm"), ("bh", "fdr_bh")):
        adjusted = adjust_pvalues(p.tolist(), method=method)  # type: ignore[arg-type]  # both are names of methods
        assert adjusted == pytest.approx(multitest.multipletests(p, method=name)[1].tolist(), abs=MOST_APART)


def test_sign_flips_count_every_pattern_and_above_twenty_blocks_agree_with_the_t_test() -> None:
    a, b = np.exp([0.3, 0.2, 0.1, 0.4, -0.05, 0.2]), np.ones(6)
    patterns = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    brute = np.mean(np.abs(patterns @ np.log(a)) >= abs(np.log(a).sum()) - 1e-12)
    assert sign_flip_p(a, b) == pytest.approx(brute)
    a, b = sample(k=25, shift=0.015)
    p = sign_flip_p(a, b)
    assert p == sign_flip_p(a, b) == pytest.approx(stats.ttest_1samp(np.log(a / b), 0).pvalue, abs=0.02)
    assert sign_flip_p(*sample(k=4)) is None, "below five blocks no p is printed"


def test_requests_handed_over_as_trials_are_refused() -> None:
    requests = np.random.default_rng(1).lognormal(0, 1, 5000)
    calls = (
        lambda: mean_ci(requests), lambda: sign_flip_p(requests, requests),
        lambda: effect_size_ci(requests, requests, paired=True),
        lambda: equivalence_interval(requests, requests, paired=True),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(PseudoReplicationError, match="reduce each trial to one number"):
            call()


Keep = Callable[[str, str, str], bool]
FACTORS = ("variant", "logging", "warm_up")


def trials(
    *, n_blocks: int = 10, noise: float = 0.0, keep: Keep = lambda *_: True, seed: int = 1
) -> pd.DataFrame:
    """Go and Java; a log line costs 1.5, Java 2.0, both together 1.2 more; a block shares a factor."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for block in range(n_blocks):
        shared = float(np.exp(rng.normal(0.0, 0.3)))
        for cell in product(("go", "java"), ("off", "on"), ("none", "calls")):
            if not keep(*cell):
                continue
            java, on = cell[0] == "java", cell[1] == "on"
            cost = (2.0 if java else 1.0) * (1.5 if on else 1.0) * (1.2 if java and on else 1.0)
            value = 0.01 * shared * cost * float(np.exp(rng.normal(0.0, noise)))
            rows.append({"block": block, "latency_p99_s": value} | dict(zip(FACTORS, cell, strict=True)))
    return trial_table(rows)


def named(effects: Sequence[Interaction]) -> dict[tuple[str, ...], Interaction]:
    return {tuple(effect.levels.values()): effect for effect in effects}


def value(effect: Interaction) -> float:
    assert effect.ratio.value is not None, effect.ratio.warnings
    return effect.ratio.value


def test_an_interaction_is_a_ratio_of_ratios_without_what_the_trials_of_a_block_share() -> None:
    found = named(interactions(trials(), "latency_p99_s", FACTORS))
    assert list(found) == [("java", "on"), ("java", "calls"), ("on", "calls")]
    assert value(found["java", "on"]) == pytest.approx(1.2)
    assert value(found["java", "calls"]) == pytest.approx(1.0)
    assert found["java", "on"].against == {"variant": "go", "logging": "off"}
    found = named(interactions(trials(noise=0.01), "latency_p99_s", FACTORS))
    ratio = found["java", "on"].ratio
    assert ratio.low is not None and ratio.high is not None
    assert ratio.low < 1.2 < ratio.high < 1.25, "the blocks differ by a third, their trials by a hundredth"
    assert found["java", "on"].shown is True and found["java", "calls"].shown is False


def test_an_interaction_of_cells_that_were_not_measured_is_refused_by_their_name() -> None:
    some = trials(noise=0.01, keep=lambda _, logging, warm_up: logging == "off" or warm_up == "none")
    found = named(interactions(some, "latency_p99_s", FACTORS))
    assert found["on", "calls"].ratio.value is None
    assert found["on", "calls"].ratio.warnings == ("not measured: variant go, logging on, warm_up calls",)
    assert value(found["java", "on"]) == pytest.approx(1.2, rel=0.05)


def test_a_block_that_lacks_a_cell_counts_for_the_interactions_without_it() -> None:
    table = trials(noise=0.01)
    gone = (table["block"] == 0) & (table["variant"] == "java") & (table["logging"] == "on")
    found = named(interactions(table.assign(excluded=gone), "latency_p99_s", FACTORS))["java", "on"]
    assert found.n_blocks == 9
    assert "1 blocks left out: they lack a cell of it" in found.ratio.warnings
    (two,) = interactions(table[table["variant"] == "go"], "latency_p99_s", FACTORS)
    assert tuple(two.levels) == ("logging", "warm_up")


def test_an_interaction_between_trials_that_the_generator_bounded_shows_nothing_and_says_so() -> None:
    bound = trials(noise=0.01).assign(bound_by="generator", throughput_per_s=100.0)
    for effect in interactions(bound, "latency_p99_s", FACTORS):
        assert effect.shown is None and effect.not_about is not None and "generator" in effect.not_about
        assert effect.ratio.value is not None, "the ratio itself is that of the trials"
