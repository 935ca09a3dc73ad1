# SPDX-License-Identifier: Apache-2.0
"""Rows of warm-up: the ratio of the first requests to the later ones, and the trials of each class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.warmup.curves import warm_up_curve
from harness.rows import warm_up, warm_up_windows


def requests(cold: float, n: int = 4000) -> pd.DataFrame:
    """Requests of which the first third takes ``cold`` times as long as the others."""
    latency = np.where(np.arange(n) < n // 3, cold, 1.0) * 1e-3 * np.random.default_rng(1).normal(1, 0.01, n)
    return pd.DataFrame({"start_epoch_s": np.arange(n) / 400, "latency_s": latency, "ok": True})


def test_cold_is_the_ratio_of_the_first_tenth_and_every_trial_has_one_class() -> None:
    curves = [
        warm_up_curve(requests(3.0), trial=f"e/s/{block}", variant="java-x", label="X", block=block)
        for block in (1, 2, 3)
    ]
    rows = warm_up(curves)
    cold = rows.query("name == 'cold'").iloc[0]
    assert cold["value"] == pytest.approx(3.0, rel=0.02) and cold["n_trials"] == 3
    assert rows.query("name == 'classes'")["value"].sum() == 3
    windows = warm_up_windows(curves)
    assert windows["block"].nunique() == 3 and windows["level_s"].iloc[0] == pytest.approx(3e-3, rel=0.05)
    assert warm_up([]).empty and warm_up_windows([]).empty
