# SPDX-License-Identifier: Apache-2.0
"""No ratio of young processes is printed without its word, over all sessions that come with the project."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from harness.cli.results_text import cells, print_results
from harness.evidence import Evidence
from harness.evidence.results import METRICS, CellResult, MetricResult, results_of
from harness.figures.style import describe
from harness.model import Verdict
from harness.model.formatting import verdict_name
from harness.rows import Session, behind, means, tidy
from harness.rows.results import of_comparison
from harness.rows.schema import records
from harness.rows.text import entry_of
from harness.store import Store
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.sessions import REPOSITORY

BUNDLED = REPOSITORY / "data/raw/bundled"
EXPERIMENTS = sorted(folder.name for folder in BUNDLED.iterdir() if folder.is_dir())
START = "time_to_first_response_s"


@pytest.fixture(scope="module", params=EXPERIMENTS)
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


def compared(evidence: Evidence) -> list[tuple[MetricResult, CellResult, bool]]:
    """Every cell with comparisons, and whether any arm of it is young by its records."""
    told = []
    for one in results_of(evidence, METRICS).metrics:
        for cell in one.cells:
            trials = evidence.cell(**cell.levels)
            arms = trials[~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)]
            told.append((one, cell, any(is_young(arm) for _, arm in arms.groupby("variant"))))
    return told


def test_each_comparison_of_a_young_arm_and_no_other_has_the_word(sessions: list[Evidence]) -> None:
    for evidence in sessions:
        for one, cell, any_young in compared(evidence):
            trials = evidence.cell(**cell.levels)
            arms = trials[~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)]
            rows = {row[0]: row[-1] for row in cells(cell, one.metric, conclusive=True)}
            n_young = 0
            for variant in cell.variants:
                found = variant.comparison
                if found is None or found.ratio.value is None:
                    continue
                pair = [arms[arms["variant"] == name] for name in (found.variant, found.reference)]
                young = one.metric.column != START and any(is_young(arm) for arm in pair)
                assert found.young == young, (evidence.sessions[0].key, one.metric.name, found.variant)
                n_young += young
                said = [rows[found.variant], verdict_name(found)]
                assert [("young" in text) for text in said] == [young, young], said
                assert not (
                    young and found.verdict is Verdict.NOT_ABOUT_SERVICES and "warm" in str(found.not_about)
                )
            if one.metric.column != START:
                assert bool(n_young) <= any_young


def test_the_text_of_the_command_line_has_it(
    sessions: list[Evidence], capsys: pytest.CaptureFixture[str]
) -> None:
    for evidence in sessions:
        found = results_of(evidence)
        first = (
            [row.comparison for cell in found.metrics[0].cells for row in cell.variants]
            if found.metrics
            else []
        )
        n = sum(one is not None and one.young for one in first)
        print_results(found)
        head = capsys.readouterr().out.split("\n\n")[0]
        assert len(re.findall(r"\byoung\b", head)) == n * found.conclusive


def test_what_is_published_of_it_has_it(sessions: list[Evidence]) -> None:
    for evidence in sessions:
        for one, cell, _ in compared(evidence):
            for each in (row.comparison for row in cell.variants if row.comparison is not None):
                (row,) = records(tidy([of_comparison(each, one.metric.name)]))
                value = entry_of(row)
                assert ("young" in value["words"]) == (each.young or "young" in (each.not_about or ""))
                assert ("young" in value["interval_text"]) == (each.young and value["value"] is not None)


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


@pytest.mark.parametrize("sessions", ["strings-warm"], indirect=True)
def test_a_mean_of_rows_is_that_of_the_command_and_neither_compares_rates_that_were_offered(
    sessions: list[Evidence],
) -> None:
    (session,) = [one for one in sessions if one.sessions[0].folder.name == "quick-local-9"]
    rows = Session(root=session.root, experiment="strings-warm", evidence=session)
    full, compared = rows.trials.query("load == 'saturation'"), rows.compare()
    of_command = {one.metric.name: one.cells for one in results_of(session).metrics}
    metrics = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request", "memory": "rss_after_bytes"}
    for name, metric in metrics.items():
        (cell,) = [one for one in of_command[name] if one.levels["load"] == "saturation"]
        mean = means(behind(full, compared[compared["name"] == name]), rate=metric).set_index("variant")
        for row in cell.variants:
            found = mean.loc[row.variant]
            assert found["value"] == pytest.approx(row.estimate.value)
            assert found["n_trials"] == row.estimate.n_trials
    assert {cell.levels["load"] for cell in of_command["throughput"]} == {"saturation"}
    assert {cell.levels["load"] for cell in of_command["cpu"]} == {"saturation", "rate"}


@pytest.mark.parametrize("sessions", ["clients-hello", "clients-db", "k8s-rounds"], indirect=True)
def test_the_coldest_sessions_are_those_of_young_processes(sessions: list[Evidence]) -> None:
    found = [
        one
        for one in sessions[0].compared("latency_mean_s")
        if one.verdict is Verdict.DIFFERENT and "native" not in one.variant
    ]
    assert found and all(one.young for one in found)
