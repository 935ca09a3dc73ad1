# SPDX-License-Identifier: Apache-2.0
"""The warm-up verification, reduced: the bars, the control that bites, and ruptures as a second opinion."""

from __future__ import annotations

import numpy as np

from harness.analysis.warmup.classify import SteadyState, classify_warmup
from harness.verify.simulated import VERIFICATIONS
from harness.verify.simulated.changepoints import compare_with_ruptures
from harness.verify.simulated.warmup import (
    STRONG,
    fixed_penalty_spurious,
    gaussian,
    held_out_series,
    log_normal,
    score_class,
)

SIMS = 12


def test_pelt_equals_ruptures_or_finds_a_cheaper_cut() -> None:
    found = compare_with_ruptures(30, np.random.default_rng(5))
    assert found.differently == 0
    assert found.alike >= 27


def test_a_fixed_penalty_makes_up_changes_where_windows_follow_each_other() -> None:
    assert fixed_penalty_spurious(STRONG, 40, 1) > 0.3


def test_a_flat_series_stays_flat_at_strong_correlation() -> None:
    score = score_class(SteadyState.FLAT, STRONG, 20, 1)
    assert score.right >= 0.90
    assert score.spurious <= 0.10


def test_a_series_without_steady_state_is_recognised_at_strong_correlation() -> None:
    assert score_class(SteadyState.NO_STEADY_STATE, STRONG, SIMS, 1).right >= 0.7


def test_every_class_is_recognised_at_moderate_correlation() -> None:
    for kind in (SteadyState.WARM_UP, SteadyState.SLOWDOWN, SteadyState.NO_STEADY_STATE):
        assert score_class(kind, 0.6, 7, 2, gaussian).right >= 6 / 7


def test_simulated_series_have_the_length_and_the_noise_they_claim() -> None:
    rng = np.random.default_rng(0)
    for kind in SteadyState:
        if kind is not SteadyState.UNDECIDABLE:
            assert min(len(held_out_series(rng, kind, 0.9, gaussian)) for _ in range(50)) >= 300
    drawn = log_normal(rng, 200_000)
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.var() - 1) < 0.05


def test_noise_that_the_regression_does_not_fit_is_undecidable() -> None:
    """A moving average of five windows is no autoregression of order 1: the class must say so."""
    rng = np.random.default_rng(8)
    for _ in range(4):
        series = 100 + np.convolve(rng.standard_normal(504), np.ones(5), "valid")
        found = classify_warmup(series)
        assert found.kind is SteadyState.UNDECIDABLE
        assert "autoregressive" in found.warnings[0]


def test_the_warmup_row_stands_in_the_table() -> None:
    assert VERIFICATIONS["warmup"].run.__name__ == "simulate_warmup"
