# SPDX-License-Identifier: Apache-2.0
"""A known cell before and after a session is held against its history on the same machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.cli.known_cell import cells, words_of
from harness.evidence.known_cell import EXPERIMENT, CellValues, against_history
from harness.evidence.passport import EXPERIMENT as PASSPORT
from harness.tests.support.available import only_when_long
from harness.tests.support.command import run_here
from harness.tests.support.synthetic import make_project


def cell(value: float, at_s: float, *, machine: str = "m", profile: str = "quick") -> CellValues:
    return CellValues(
        session=f"{EXPERIMENT}/{at_s:g}", started_epoch_s=at_s, machine_id=machine, profile=profile,
        values={"throughput": value, "cpu": 1 / value},
    )  # fmt: skip


HISTORY = [cell(1000 * float(np.exp(0.02 * z)), at) for at, z in enumerate((-1.0, 0.5, 1.0, -0.5, 0.0))]


def test_a_cell_within_what_is_usual_is_as_before_and_a_slow_one_is_not() -> None:
    as_before, slow = (against_history(cell(value, 10), HISTORY) for value in (1010, 800))
    assert [one.unusual for one in as_before] == [False, False]
    assert [one.unusual for one in slow] == [True, True]
    assert [one.ratio for one in slow] == pytest.approx([0.8, 1 / 0.8])
    assert all("NOT as before" in line for line in words_of(cell(800, 10), HISTORY, "after"))


def test_of_unchanged_machines_about_as_few_are_unusual_as_the_level_says() -> None:
    rng = np.random.default_rng(1)
    unusual = 0
    for _ in range(1000):
        values = 1000 * np.exp(rng.normal(0, 0.05, 6))
        history = [cell(float(value), at) for at, value in enumerate(values[:5])]
        unusual += bool(against_history(cell(float(values[5]), 10), history)[0].unusual)
    assert 2 <= unusual <= 25


def test_only_earlier_cells_of_the_same_machine_and_profile_count_and_few_judge_nothing() -> None:
    others = [cell(10, 1, machine="another"), cell(10, 2, profile="smoke"), cell(10, 99)]
    assert against_history(cell(1000, 10), others) == ()
    assert "nothing earlier" in words_of(cell(1000, 10), others, "before")[0]
    found = against_history(cell(1000, 10), [*HISTORY[:2], *others])
    assert [(one.n_earlier, one.unusual) for one in found] == [(2, None)] * 2
    assert "too few" in words_of(cell(1000, 10), HISTORY[:2], "before")[0]


def test_passports_are_part_of_the_history(tmp_path: Path) -> None:
    root = make_project(tmp_path, experiments=(EXPERIMENT, PASSPORT))
    found = cells(root, "quick")
    assert {one.session.split("/")[0] for one in found} == {EXPERIMENT, PASSPORT}
    assert all(set(one.values) == {"throughput", "cpu"} for one in found)
    assert cells(root, "full") == []


def test_a_cell_of_another_machine_is_refused(tmp_path: Path) -> None:
    code, _, err = run_here(tmp_path, "measure", "smoke", "--host", "far", "--known-cell")
    assert code == 2 and "one of this machine" in err


@only_when_long("a session of real processes between two known cells")
def test_a_real_session_is_measured_between_two_known_cells(tmp_path: Path) -> None:
    root = make_project(tmp_path, experiments=())
    (root / ".tools").symlink_to(Path(__file__).resolve().parents[3] / ".tools")
    code, _, err = run_here(root, "measure", "passport", "--profile", "smoke", "--known-cell")
    assert code == 0, err
    assert "known cell before" in err and "known cell after" in err
    assert len(cells(root, "quick")) == 2
