# SPDX-License-Identifier: Apache-2.0
"""The verifications hold with fewer simulations as well, repeat, and fail when a method is broken."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from harness.analysis.stats import intervals
from harness.errors import InputError
from harness.tests.support.available import only_when_long
from harness.verify.simulated import VERIFICATIONS, Cell, VerifyResult, run_verify

#: Those of a size of their own here.
FEWER = {"coverage": 400, "quantile": 400, "duet": 300, "speed": 400}
#: Its short form is in test_peaks.py.
ELSEWHERE = {"attribution"}


def refuted(cells: Iterable[Cell]) -> list[str]:
    """Return the cells that miss their limit by more than so few simulations leave open."""
    return [f"{cell.name}: {cell.value:.4g}" for cell in cells if cell.refuted]


def judge(result: VerifyResult) -> None:
    assert refuted(result.cells) == []
    assert any(cell.control for cell in result.cells)


@pytest.mark.parametrize("name", sorted(set(VERIFICATIONS) - ELSEWHERE))
def test_the_bar_holds_and_the_control_bites(name: str) -> None:
    judge(run_verify(name, FEWER.get(name)))


@only_when_long("verifications at full size, five seeds")
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", sorted(VERIFICATIONS))
def test_every_row_holds_at_full_size(name: str, seed: int) -> None:
    result = run_verify(name, seed=seed)
    judge(result)
    assert result.holds


def test_a_cell_is_refuted_when_its_limit_lies_outside_what_the_simulations_leave_open() -> None:
    inside = Cell(name="inside", value=0.9, low=0.8, high=0.95, at_least=0.93)
    outside = Cell(name="outside", value=0.8, low=0.7, high=0.9, at_least=0.93)
    largest = Cell(name="largest", value=0.03, at_most=0.02)
    assert refuted([inside, outside, largest]) == ["outside: 0.8", "largest: 0.03"]


def test_the_seed_decides_everything() -> None:
    assert run_verify("aa", 100, seed=5) == run_verify("aa", 100, seed=5)
    assert run_verify("aa", 100, seed=5).cells != run_verify("aa", 100, seed=6).cells


def test_a_broken_interval_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    right = intervals.t_critical
    monkeypatch.setattr(intervals, "t_critical", lambda level, df: 0.8 * right(level, df))
    assert refuted(run_verify("coverage", 300).cells)


def test_too_few_simulations_are_refused() -> None:
    with pytest.raises(InputError, match="--sims"):
        run_verify("aa", 3)
