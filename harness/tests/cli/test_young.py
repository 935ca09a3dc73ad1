# SPDX-License-Identifier: Apache-2.0
"""No ratio of young processes is printed without its word, over all sessions that come with the project."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.cli.results_text import cells_of
from harness.evidence import Evidence
from harness.figures.style import describe
from harness.model import Verdict
from harness.rows.equal_speed import beside_neighbours
from harness.rows.session_results import results_of
from harness.rows.text import entry_of
from harness.store import Store
from harness.tests.support.available import some_in_every_run
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.sessions import REPOSITORY

BUNDLED = REPOSITORY / "data/raw/bundled"
EXPERIMENTS = sorted(folder.name for folder in BUNDLED.iterdir() if folder.is_dir())
#: Cold, settling and warm processes, of sessions whose tables other tests need too.
IN_EVERY_RUN = ("clients-hello", "gc-peaks", "strings-rounds", "strings-warm")
START = "time_to_first_response_s"


@pytest.fixture(
    scope="module",
    params=some_in_every_run(EXPERIMENTS, IN_EVERY_RUN, "each bundled session's young processes"),
)
def sessions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Evidence]:
    root = tmp_path_factory.mktemp("young")
    (root / "data/raw/bundled").mkdir(parents=True)
    (root / "harness").mkdir()
    (root / "harness/experiments").symlink_to(BUNDLED.parents[2] / "harness/experiments")
    (root / "data/raw/bundled" / request.param).symlink_to(BUNDLED / request.param)
    (root / "services").symlink_to(REPOSITORY / "services")
    lay_tables(root, request.param)
    found = Store(root).sessions(request.param, bundled=True)
    return [Evidence(root=root, experiment=request.param, sessions=(one,)) for one in found]


def is_young(trials: pd.DataFrame) -> bool:
    """Whether half of an arm's trials or more had not settled, or compiled for over 5 % of the load."""
    loaded = trials["measurement_s"] + trials["search_load_s"].fillna(0.0)
    unsettled = trials["warm_class"].notna() & (trials["warm_class"] != "settled")
    young = unsettled | (trials["compile_s"] > 0.05 * loaded)
    return bool(young[loaded.notna()].mean() >= 0.5)


def counted(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)]


def test_each_ratio_of_a_young_arm_and_no_other_has_the_word(
    sessions: list[Evidence],
) -> None:
    """In the table of the command, and in what is published of the row."""
    for evidence in sessions:
        results = results_of(evidence)
        for metric in results.metrics:
            for cell in results.cells(metric):
                trials = beside_neighbours(evidence.cell(**cell.levels), metric.column)
                arms = counted(trials).groupby("variant")
                young_arms = {str(name) for name, arm in arms if metric.column != START and is_young(arm)}
                verdicts = {line[0]: line[-1] for line in cells_of(cell, metric, conclusive=True)}
                for line in cell.lines:
                    if line.ratio is None:
                        continue
                    entry, verdict = entry_of(line.ratio), verdicts[line.variant]
                    if line.ratio["value"] is None:
                        assert "young" not in verdict + entry["interval_text"]
                        continue
                    place = (evidence.sessions[0].key, metric.name, line.variant)
                    young = bool(young_arms & {line.variant, results.reference})
                    assert line.young == young, place
                    assert [("young" in text) for text in (verdict, entry["interval_text"])] == [young, young]
                    why = str(line.ratio["why"]) if line.has(Verdict.NOT_ABOUT_SERVICES) else ""
                    assert ("young" in entry["words"]) == (young or why.startswith("the ratio depends on"))
                    assert not (young and "warm" in why), place


def test_captions_name_the_young_services(sessions: list[Evidence]) -> None:
    for evidence in sessions:
        trials = evidence.trials[~evidence.trials["excluded"].astype(bool)]
        arms = [is_young(arm) for _, arm in trials.groupby("configuration")]
        assert ("Young processes: " in describe(evidence.trials)) == any(arms)


@pytest.mark.parametrize("sessions", ["strings-warm"], indirect=True)
def test_jersey_that_compiled_too_long_in_3_of_14_trials_has_its_verdict_without_them(
    sessions: list[Evidence],
) -> None:
    (session,) = [one for one in sessions if one.sessions[0].folder.name == "quick-local-9"]
    cell = {"craft": "idiomatic", "load": "saturation"}
    (found,) = [
        one
        for one in session.compared("throughput_per_s")
        if one.variant == "java-jaxrs" and one.levels == cell
    ]
    assert found.verdict is Verdict.DIFFERENT and found.ages is not None and found.beside is not None
    assert (found.ages.variant.age, found.ages.variant.n_left_out, found.n_blocks) == ("warm", 3, 11)
    assert found.ratio.value == pytest.approx(0.4394, abs=5e-5)
    assert found.beside.ratio.value == pytest.approx(0.4356, abs=5e-5)
