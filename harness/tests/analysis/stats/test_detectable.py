# SPDX-License-Identifier: Apache-2.0
"""Rules for the smallest ratio that a session tells from 1."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.sample_size import FEWEST_PAIRS, detectable_ratio, effect, power_curve
from harness.errors import InputError
from harness.tests.support.made_up_trials import made_up_trials


@pytest.mark.parametrize("n_blocks", [5, 10, 20])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_with_a_known_spread_the_effect_is_that_of_statsmodels(n_blocks: int, power: float) -> None:
    power_of = import_module(
        "statsmodels.stats.power"
    ).TTestPower()  # not above: every worker collects this file
    theirs = power_of.solve_power(nobs=n_blocks, alpha=0.05, power=power, alternative="two-sided")
    assert effect(None, n_blocks, power) == pytest.approx(theirs, rel=2e-3)


def test_little_knowledge_of_the_spread_asks_for_a_larger_effect() -> None:
    sizes = [effect(df, 10) for df in (2, 4, 9, 19, 1000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == pytest.approx(effect(None, 10), rel=1e-2)


def test_more_blocks_and_less_spread_tell_smaller_ratios() -> None:
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(0, 0.03, 10)), np.exp(rng.normal(0, 0.03, 10))
    by_blocks = [detectable_ratio(a, b, n_blocks=n).value or 0.0 for n in (5, 10, 20)]
    assert by_blocks == sorted(by_blocks, reverse=True) and by_blocks[-1] > 1
    finer = detectable_ratio(np.sqrt(a), np.sqrt(b), n_blocks=10)
    assert finer.value == pytest.approx(np.sqrt(by_blocks[1]))
    told = detectable_ratio(a, b, n_blocks=10)
    assert told.low is not None and told.high is not None and told.value is not None
    assert 1 < told.low < told.value < told.high


def test_too_few_pairs_and_pairs_without_spread_say_so() -> None:
    few = detectable_ratio([1.0, 1.1], [1.0, 1.2], n_blocks=10)
    assert few.value is None and f"fewer than {FEWEST_PAIRS}" in few.warnings[0]
    same = detectable_ratio([1.0] * 5, [2.0] * 5, n_blocks=10)
    assert same.value is None and same.warnings
    with pytest.raises(InputError, match="one block"):
        detectable_ratio([1.0] * 5, [2.0] * 5, n_blocks=1)


def test_every_pair_of_a_session_has_its_curve_and_the_duplicate_is_first() -> None:
    trials = made_up_trials().query("language != 'rust' and logging == 'off'")
    duplicate = trials.query("variant == 'go-nethttp'").assign(duplicate=True)
    both = pd.concat([trials, duplicate])
    first, *others = power_curve(both, "throughput_per_s", reference="go-nethttp", blocks=(10, 20))
    assert first.twice and not any(curve.twice for curve in others)
    assert {curve.variant for curve in others} == set(trials["variant"]) - {"go-nethttp"}
    at_10, at_20 = (point.ratio for point in others[-1].smallest)
    assert (at_10.value or 0) > (at_20.value or 0) > 1 and at_10.inputs
