# SPDX-License-Identifier: Apache-2.0
"""The verifications hold with fewer simulations as well, repeat, and fail when a method is broken."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from harness.analysis.stats import intervals
from harness.errors import InputError
from harness.tests.support.available import only_when_long
from harness.verify.simulated import VERIFICATIONS, Cell, Verification, VerifyResult, run_verify
from harness.verify.simulated import tails as tails_module
from harness.verify.simulated.result import average, f1, frequency, pooled, share

#: Those of a size of their own here.
FEWER = {
    "coverage": 400, "quantile": 400, "compare": 50, "capacity": 10, "duet": 300, "speed": 400, "repeats": 400,
}  # fmt: skip
#: Their short forms are in test_peaks.py and in analysis/warmup/test_classify_simulated.py.
ELSEWHERE = {"attribution", "omission", "warmup"}


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


def test_an_undecided_cell_is_simulated_in_further_rounds_and_a_decided_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds: list[int] = []

    def coin(chance: float) -> Verification:
        def run(sims: int, seed: int) -> VerifyResult:
            seeds.append(seed)
            hits = int(np.random.default_rng(seed).binomial(sims, chance))
            cells = (share(sims, name="heads", value=hits / sims, at_least=0.5),)
            return VerifyResult(name="coin", bar="", control="", cells=cells, sims=sims, seed=seed)

        return Verification(run, 100)

    rows = {"sure": coin(0.9), "near": coin(0.55), "on": coin(0.5)}
    monkeypatch.setattr("harness.verify.simulated.VERIFICATIONS", rows)
    assert run_verify("sure").rounds == 1 and len(seeds) == 1
    seeds.clear()
    near = run_verify("near", 100, seed=3, rounds=50)
    assert near.rounds > 1 and not near.undecided and near.holds
    tally = near.cells[0].tally
    assert tally is not None and tally.sums[1] == 100 * near.rounds
    assert len(set(seeds)) == near.rounds, "each round has random numbers of its own"
    on = run_verify("on", 100, seed=3, rounds=2)
    assert on.rounds == 2 and on.undecided and on.holds, "undecided is neither held nor refuted"


def test_rounds_add_up_to_what_one_long_round_would_say() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.3, 1.0, 40), rng.normal(0.3, 1.0, 60)
    both = pooled([average(x, name="a", at_most=1.0), average(y, name="a", at_most=1.0)])
    whole = average(np.append(x, y), name="a", at_most=1.0)
    assert both.value == pytest.approx(whole.value) and both.high == pytest.approx(whole.high)
    assert both.at_most == 1.0
    assert pooled([share(10, name="s", value=0.5), share(30, name="s", value=0.7)]).value == 0.65
    assert pooled([frequency(1, 5.0, name="f"), frequency(0, 15.0, name="f")]).value == 0.05
    assert pooled([f1(8, 10, 9, name="f"), f1(2, 2, 3, name="f")]).value == 20 / 24
    assert pooled([Cell(name="largest", value=0.1), Cell(name="largest", value=0.3)]).value == 0.1


def test_the_seed_decides_everything() -> None:
    assert run_verify("aa", 100, seed=5) == run_verify("aa", 100, seed=5)
    assert run_verify("aa", 100, seed=5).cells != run_verify("aa", 100, seed=6).cells


def test_a_broken_interval_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    right = intervals.t_critical
    monkeypatch.setattr(intervals, "t_critical", lambda level, df: 0.8 * right(level, df))
    assert refuted(run_verify("coverage", 300).cells)


def test_a_broken_tail_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails_module, "jackknife_variance", lambda without: float(np.var(without)))
    jackknife, _ = tails_module.pooled_coverage(np.random.default_rng(1), 100, k=10, n=5_000, q=0.99)
    assert share(100, name="pooled", value=jackknife, at_least=0.92).refuted


def test_unknown_names_and_too_few_simulations_are_refused() -> None:
    with pytest.raises(InputError, match="allowed: coverage, aa"):
        run_verify("nothing")
    with pytest.raises(InputError, match="--sims"):
        run_verify("aa", 3)
