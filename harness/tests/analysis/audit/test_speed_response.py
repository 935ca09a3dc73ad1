# SPDX-License-Identifier: Apache-2.0
"""One slope within groups, and a metric that follows the speed of the CPUs."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from harness.analysis.audit.session_checks import slope_within, speed_response
from harness.analysis.stats.comparisons import compare
from harness.analysis.tables.resource_columns import exclude_other_speeds

PER_S = {"go-nethttp": 60_000.0, "java-helidon": 90_000.0}


def uneven_speeds(*, elasticity: float = -1.0, noise: float = 0.01, seed: int = 1) -> pd.DataFrame:
    """Return trials of two variants in 20 blocks; in one of ten the CPUs take 35 % longer, for whichever variant."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for block in range(1, 21):
        for variant, per_s in PER_S.items():
            slower = (1.35 if rng.random() < 0.1 else 1.0) * float(np.exp(0.02 * rng.standard_normal()))
            rate = per_s * slower**elasticity * float(np.exp(noise * rng.standard_normal()))
            rows.append({
                "experiment": "e", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                "position": len(rows) + 1, "duplicate": False, "variant": variant, "label": variant,
                "implementation": variant, "language": variant.partition("-")[0], "configuration": variant,
                "load_name": "saturation", "excluded": False, "exclusion_reason": None, "flags": "",
                "bound_by": "service", "bound_why": "", "service_step_s": 64e-9 * slower, "throughput_per_s": rate,
            })  # fmt: skip
    exclude_other_speeds(rows)
    return pd.DataFrame(rows)


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
