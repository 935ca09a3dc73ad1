# SPDX-License-Identifier: Apache-2.0
"""The verifications hold with fewer simulations as well, repeat, and fail when a method is broken."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.stats import intervals
from harness.errors import InputError
from harness.verify.simulated import VERIFICATIONS, quantile_shares, run_verify
from harness.verify.simulated import tails as tails_module

pytestmark = pytest.mark.computes

#: Enough for the bars to hold by a margin with seed 1; the command runs more.
FEWER = {
    "coverage": 400, "quantile": 400, "pooled-quantile": 400, "multiplicity": 800, "cross-check": 10,
    "omission": 10, "warmup": 60,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(VERIFICATIONS))
def test_the_bar_holds_and_the_control_bites(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile_shares, "SESSIONS", ())  # in its short form in test_verify_peaks
    found = run_verify(name, FEWER.get(name))
    broken = [f"{cell.name}: {cell.value:.4g}" for cell in found.cells if not cell.holds]
    assert found.holds, broken
    assert any(cell.control for cell in found.cells)


def test_the_seed_decides_everything() -> None:
    assert run_verify("aa", 100, seed=5) == run_verify("aa", 100, seed=5)
    assert run_verify("aa", 100, seed=5).cells != run_verify("aa", 100, seed=6).cells


def test_a_broken_interval_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    right = intervals.t_critical
    monkeypatch.setattr(intervals, "t_critical", lambda level, df: 0.8 * right(level, df))
    assert not run_verify("coverage", 300).holds


def test_a_broken_tail_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails_module, "jackknife_variance", lambda without: float(np.var(without)))
    assert not run_verify("pooled-quantile", 100).holds


def test_unknown_names_and_too_few_simulations_are_refused() -> None:
    with pytest.raises(InputError, match="allowed: coverage, aa"):
        run_verify("nothing")
    with pytest.raises(InputError, match="--sims"):
        run_verify("aa", 3)
