# SPDX-License-Identifier: Apache-2.0
"""Blocks to the undecided: what is decided is left out by the registered rule, noted, and never made later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.next_blocks import wants_more
from harness.analysis.stats.registration import changed_since
from harness.definitions import load_study
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model import make_plan
from harness.session import for_the_undecided, measure, measuring, with_blocks, within_minutes
from harness.session.undecided import FIRST_BLOCKS, STOPPING, wanted_trials
from harness.store import LEFT_OUT, Store
from harness.tests.support.sessions import LIMITS, calm_alone, make_session_project, tiny_session
from harness.tests.support.synthetic import ROOT, make_project


@pytest.fixture
def two_first_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have sessions take two blocks for the first ones, and return that number: all of them take longer."""
    assert vars(measuring)["FIRST_BLOCKS"] == FIRST_BLOCKS > 2, "those that are registered"
    monkeypatch.setattr(measuring, "FIRST_BLOCKS", 2)
    return 2


def test_when_the_time_is_over_the_rest_is_left_out_and_the_session_is_complete(
    tmp_path: Path, two_first_blocks: int
) -> None:
    root = calm_alone(make_session_project(tmp_path, blocks=two_first_blocks + 2, loops=1))
    assembly, prepared = tiny_session(root)
    prepared = replace(prepared, budget_s=0.0)
    folder = measure(assembly, prepared, limits=LIMITS)
    assert {record.planned.block for record in folder.records()} == set(range(1, two_first_blocks + 1))
    (event,) = [one for one in folder.events() if one["event"] == LEFT_OUT]
    assert event["why"] == "the time is over" and set(event["trials"]) == folder.left_out()
    assert folder.complete and len(folder.finished()) + len(folder.left_out()) == len(prepared.plan.trials)
    assert folder.header.registration is not None and folder.header.registration.stopping == STOPPING
    assert changed_since(folder.stored_header(), folder.header.provenance.definition_sha256) == ()
    again = measure(assembly, prepared, limits=LIMITS)
    assert again.finished() == folder.finished(), "what was left out is not made later"


def test_a_session_without_a_budget_makes_every_trial(tmp_path: Path, two_first_blocks: int) -> None:
    root = calm_alone(make_session_project(tmp_path, blocks=two_first_blocks + 1, loops=1))
    assembly, prepared = tiny_session(root)
    folder = measure(assembly, prepared, limits=LIMITS)
    assert folder.complete and not folder.left_out()


def test_of_the_next_block_only_what_is_undecided_is_wanted_with_its_reference(tmp_path: Path) -> None:
    name = "strings-rounds"
    root = make_project(tmp_path, experiments=(name,))
    (folder,) = Store(root).sessions(name)
    block = [trial for trial in folder.header.plan.trials if trial.block == 1]
    wanted = wanted_trials(root, folder, block)
    evidence = Evidence(root=root, experiment=name, sessions=(folder,))
    found = compare(evidence.trials, "throughput_per_s", reference=evidence.reference, by=evidence.factors)
    open_cells = {(one.variant, tuple(sorted(one.levels.values()))) for one in found if wants_more(one)}
    for trial in block:
        name, cell = trial.configuration.variant_name, tuple(sorted(trial.configuration.levels.values()))
        of_cell = {variant for variant, levels in open_cells if levels == cell}
        expected = bool(of_cell) if name == evidence.reference else name in of_cell
        assert (trial in wanted) == expected, trial.configuration.key
    assert 0 < len(wanted) < len(block)


def test_of_duets_whole_pairs_are_wanted_each_for_its_own_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = load_study(ROOT, "strings-rounds").experiment.model_copy(update={"design": "duet"})
    plan = make_plan(experiment, "quick", 1)
    block = [trial for trial in plan.trials if trial.block == 1]
    cell = block[0].configuration.levels
    wanted_here = next(name for name in experiment.variants if name != experiment.reference)
    open_cells = {frozenset(cell.items()): {wanted_here}}
    monkeypatch.setattr("harness.session.undecided._undecided", lambda *_: open_cells)
    (folder,) = Store(make_project(tmp_path, experiments=("strings-rounds",))).sessions("strings-rounds")
    wanted = wanted_trials(tmp_path, folder, block)
    of_cell = [trial for trial in block if trial.configuration.levels == cell]
    names = sorted(trial.configuration.variant_name for trial in wanted)
    assert names == sorted([wanted_here, *[experiment.reference] * 3]), (
        "its pair, and the A/A pair of the cell"
    )
    assert all(trial in of_cell for trial in wanted)
    assert {trial.pair for trial in wanted} == {
        trial.trial_id for trial in wanted if trial.pair == trial.trial_id
    }
    monkeypatch.setattr("harness.session.undecided._undecided", lambda *_: {})
    assert wanted_trials(tmp_path, folder, block) == ()


def test_the_first_blocks_must_fit_and_the_plan_has_room_for_more_than_whole_ones(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    assembly, prepared = tiny_session(root)
    with pytest.raises(InputError, match="--minutes"):
        for_the_undecided(assembly, prepared, 0.01)
    whole = within_minutes(assembly, prepared, 30).plan.n_blocks
    planned = for_the_undecided(assembly, prepared, 30)
    assert planned.plan.n_blocks > whole and planned.budget_s == 1800
    assert with_blocks(prepared, whole).budget_s is None
