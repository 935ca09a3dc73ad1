# SPDX-License-Identifier: Apache-2.0
"""Validity of a session: equal arms; and curves of warm-up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.audit.session_checks import equal_arms
from harness.analysis.warmup.classify import SteadyState
from harness.analysis.warmup.curves import FEWEST_A_WINDOW, WINDOWS, warm_up_curve, warm_up_table
from harness.errors import InputError


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


def test_measuring_one_arm_after_the_other_makes_a_difference_of_drift() -> None:
    found = equal_arms(session(slope=0.3, noise=0.01), "throughput_per_s")
    assert found.ordered.high is not None
    assert found.ordered.high < 1
    assert (found.blocked.value or 0) < 0.2


def test_too_few_blocks_or_trials_are_said() -> None:
    found = equal_arms(session(blocks=2), "throughput_per_s")
    assert found.blocked.value is None
    assert found.ordered.value is not None
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
    assert curve.requests_a_window == FEWEST_A_WINDOW
    assert curve.found.kind == SteadyState.UNDECIDABLE
    (row,) = warm_up_table([curve])
    assert row.steady_from_s.value is None
    assert "50 windows" in curve.found.warnings[0]


def test_a_trial_that_answered_nothing_has_no_curve() -> None:
    frame = requests(50, 1.0, np.random.default_rng(1)).assign(ok=False)
    with pytest.raises(InputError, match="no request was answered correctly"):
        warm_up_curve(frame, trial="e/s/t", variant="v", label="V", block=1)
