# SPDX-License-Identifier: Apache-2.0
"""Validity of a session: equal arms and cells, curves of warm-up, and a metric that follows the speed of the CPUs."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import numpy as np
import pandas as pd
import pytest

from harness.analysis.audit.session_checks import (
    equal_arms,
    equal_cells,
    leading_metric,
    slope_within,
    speed_response,
)
from harness.analysis.warmup.classify import SteadyState
from harness.analysis.warmup.curves import WINDOWS, warm_up_curve, warm_up_table
from harness.errors import InputError
from harness.tests.support.made_up_trials import uneven_speeds


def session(*, blocks: int = 8, slope: float = 0.0, noise: float = 0.02, seed: int = 1) -> pd.DataFrame:
    """Three equal trials a block, whose values drift by the factor exp(slope) over the session."""
    rng = np.random.default_rng(seed)
    n = 3 * blocks
    position = np.arange(1, n + 1)
    values = 1000 * np.exp(slope * (position - 1) / (n - 1) + noise * rng.standard_normal(n))
    return pd.DataFrame({
        "experiment": "aa", "session_id": "s", "trial_id": [f"{p:04d}" for p in position],
        "block": (position - 1) // 3 + 1, "position": position, "duplicate": position % 3 == 0,
        "variant": "a", "configuration": "a", "excluded": False, "flags": "", "load_name": "users",
        "throughput_per_s": values, "latency_mean_s": 10 / values, "n_requests": 1000.0,
    })  # fmt: skip


def test_equal_trials_rarely_differ_when_dealt_within_blocks() -> None:
    rates = [equal_arms(session(seed=seed), "throughput_per_s").blocked.value for seed in range(12)]
    assert 0.01 < float(np.mean([rate for rate in rates if rate is not None])) < 0.10


def test_measuring_one_arm_after_the_other_makes_a_difference_of_drift_and_too_few_trials_say_so() -> None:
    arms = equal_arms(session(slope=0.3, noise=0.01), "throughput_per_s")
    assert arms.ordered.high is not None and arms.ordered.high < 1
    assert (arms.blocked.value or 0) < 0.2
    few = equal_arms(session(blocks=2), "throughput_per_s")
    assert few.blocked.value is None and few.ordered.value is not None
    with pytest.raises(InputError, match="too few equal trials"):
        equal_arms(session(blocks=1), "throughput_per_s")


def requests(n: int, cold: float, rng: np.random.Generator) -> pd.DataFrame:
    """The first fifth of the requests takes ``cold`` times as long."""
    latency = 0.002 * rng.lognormal(0, 0.2, n) * np.where(np.arange(n) < n / 5, cold, 1.0)
    return pd.DataFrame({"start_epoch_s": 1.7e9 + np.cumsum(latency), "latency_s": latency, "ok": True})


def test_a_cold_start_is_a_warm_up_that_ends_where_the_level_ends() -> None:
    frame = requests(8000, 1.3, np.random.default_rng(1))
    curve = warm_up_curve(frame, trial="e/s/t", variant="v", label="V", block=1)
    assert curve.found.kind == SteadyState.WARM_UP
    assert len(curve.at_s) == WINDOWS
    ends = float(frame["start_epoch_s"].iloc[1600] - frame["start_epoch_s"].iloc[0])
    assert curve.steady_from_s == pytest.approx(ends, rel=0.05)
    assert curve.cold_ratio == pytest.approx(1.3, rel=0.05)
    (row,) = warm_up_table([curve])
    assert row.classes[SteadyState.WARM_UP] == 1
    assert row.steady_from_s.low is None  # one trial


def test_a_short_trial_is_undecidable_and_says_why() -> None:
    curve = warm_up_curve(
        requests(500, 1.0, np.random.default_rng(1)), trial="e/s/t", variant="v", label="V", block=1
    )
    assert curve.found.kind == SteadyState.UNDECIDABLE
    (row,) = warm_up_table([curve])
    assert row.steady_from_s.value is None
    assert "50 windows" in curve.found.warnings[0]


def doubled(*, duplicate_shift: float = 1.0) -> pd.DataFrame:
    """Two variants and the reference's duplicate, with a log line and without."""
    rng = np.random.default_rng(1)
    arms = ("go", False, 1.0), ("go", True, duplicate_shift), ("java", False, 0.8)
    rows = [
        {
            "experiment": "e", "session_id": "s", "trial_id": f"{position:04d}", "block": block, "position": position,
            "duplicate": duplicate, "variant": variant, "logging": logging, "configuration": f"{variant},{logging}",
            "excluded": False, "flags": "", "load_model": "closed", "latency_mean_s": 0.01,
            "throughput_per_s": 1000 * shift * np.exp(0.02 * rng.standard_normal()),
        }
        for position, (block, logging, (variant, duplicate, shift)) in enumerate(product(range(8), ("off", "on"), arms))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_equal_cells_pass_and_a_duplicate_that_differs_is_named_in_its_cells() -> None:
    for shift, inside in ((1.0, True), (1.3, False)):
        cells = equal_cells(doubled(duplicate_shift=shift), ("logging",))
        assert [levels for levels, _ in cells] == [{"logging": "off"}, {"logging": "on"}]
        for _, noise in cells:
            assert noise.n_blocks == 8 and len(noise.ratio.inputs) == 16
            assert noise.ratio.low is not None and noise.ratio.high is not None
            assert (noise.ratio.low <= 1 <= noise.ratio.high) == inside
    assert leading_metric(doubled()) == "throughput_per_s"
    assert leading_metric(doubled().assign(load_model="open")) == "latency_mean_s", "arrivals at a rate"


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


@pytest.mark.parametrize("elasticity", [-1.0, 0.0])
def test_the_interval_of_the_elasticity_holds_the_true_one(elasticity: float) -> None:
    found = speed_response(uneven_speeds(elasticity=elasticity), "throughput_per_s")
    assert found is not None
    told = found.elasticity
    assert told.low is not None and told.high is not None and told.low <= elasticity <= told.high


def test_trials_that_failed_tell_nothing_of_it_and_those_without_a_reading_neither() -> None:
    trials = uneven_speeds()
    failed, unread = trials.index[0], trials.index[1]
    trials.loc[failed, "excluded"], trials.loc[failed, "exclusion_reason"] = True, "failed: it ended"
    trials.loc[unread, "service_step_s"] = np.nan
    found = speed_response(trials, "throughput_per_s")
    assert found is not None and found.elasticity.n_trials == len(trials) - 2
    assert speed_response(trials.assign(service_step_s=np.nan), "throughput_per_s") is None
