# SPDX-License-Identifier: Apache-2.0
"""Stages: what is stale and why, parameters, and what a failure says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.evidence.opening import find_evidence
from harness.evidence.sessions import HEADLINE, chosen_experiments
from harness.import_closure import closure
from harness.pipeline import (
    RunAllParameters,
    StageFailed,
    StageParameters,
    check_parameters,
    chosen_profile,
    make_plan,
    run,
)
from harness.pipeline.stage import PlannedStage, StagePlan, analysis_notebooks, table_of
from harness.pipeline.staleness import Remembered, depends, judge, of_files, remember, why_stale
from harness.pipeline.status import LineProgress
from harness.pipeline.steps import missing_tools
from harness.tests.support.synthetic import ROOT, make_project, make_session


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a made-up smoke session of the rounds."""
    return make_project(tmp_path_factory.mktemp("stages"), profile="smoke", experiments=("strings-rounds",))


SETTINGS = StageParameters(profile="smoke", experiments="strings-rounds")


def stages_of(plan: StagePlan) -> dict[str, PlannedStage]:
    return {stage.name: stage for stage in plan.stages}


def test_the_plan_says_what_is_done_what_is_to_do_and_why(project: Path) -> None:
    plan = make_plan(SETTINGS, root=project)
    stages = stages_of(plan)
    assert stages["measure strings-rounds"].state == "done"
    assert "all 6 trials" in stages["measure strings-rounds"].why
    assert stages["check"].state == "done"
    assert stages["tidy"].state == "to do"
    assert stages["31-startup"].state == "skipped"
    assert "strings-startup" in stages["31-startup"].why
    assert stages["paper"].state == "to do"
    assert plan.expected_s > 0
    assert "no successful run yet" in repr(plan)


def test_experiments_outside_the_paper_are_measured_only_when_named(project: Path) -> None:
    usual = stages_of(make_plan(StageParameters(profile="quick"), root=project))
    assert "measure strings-warm" in usual
    assert not {"measure gc-peaks", "measure gc-loops", "measure aa", "measure headroom"} & set(usual)
    assert usual["41-gc-peaks"].state == usual["50-scaling"].state == "skipped"
    assert usual["60-validity"].state == "to do"
    named = stages_of(make_plan(StageParameters(profile="quick", experiments="gc-peaks"), root=project))
    assert named["measure gc-peaks"].state == named["41-gc-peaks"].state == "to do"
    assert named["60-validity"].experiments == ("gc-peaks",)


def test_a_notebook_of_optional_experiments_needs_one_of_them_and_is_told_of_those_chosen(
    project: Path,
) -> None:
    usual = stages_of(make_plan(StageParameters(profile="quick"), root=project))
    assert usual["32-bank"].parameters["experiments"] == "bank-rematch"
    assert usual["33-clients"].parameters["experiments"] == "clients-hello"
    strings = StageParameters(profile="quick", experiments="strings-rounds")
    without = stages_of(make_plan(strings, root=project))
    assert without["32-bank"].state == without["33-clients"].state == "skipped"
    assert without["60-validity"].state == "to do"  # it simulates, whatever was chosen
    assert "none of bank-original, bank-rematch, bank-connections" in without["32-bank"].why
    named = StageParameters(profile="quick", experiments="bank-rematch,strings-rounds")
    stages = stages_of(make_plan(named, root=project))
    assert stages["32-bank"].state == "to do"
    assert stages["32-bank"].parameters["experiments"] == "bank-rematch"
    assert stages["33-clients"].state == "skipped"


def test_a_notebook_that_says_it_needs_no_experiment_is_never_skipped(project: Path) -> None:
    elsewhere = StageParameters(profile="quick", experiments="scaling")
    assert stages_of(make_plan(elsewhere, root=project))["60-validity"].state == "to do"


def test_a_session_with_trials_missing_is_resumed(project: Path) -> None:
    make_session(project, "strings-rounds", "smoke", seed=7, missing=2)
    stages = stages_of(make_plan(SETTINGS.model_copy(update={"seed": 7}), root=project))
    assert stages["measure strings-rounds"].state == "to do"
    assert stages["measure strings-rounds"].why == "4 of 6 trials made; the rest follows"
    assert stages["check"].state == "to do"


def test_what_was_never_begun_is_measured(project: Path) -> None:
    stages = stages_of(make_plan(SETTINGS.model_copy(update={"seed": 8}), root=project))
    assert stages["measure strings-rounds"].why == "6 trials to make"
    assert (stages["measure strings-rounds"].expected_s or 0) > 0


def test_with_bundled_data_nothing_is_measured(project: Path) -> None:
    make_session(project, "strings-rounds", "quick", bundled=True, missing=70)
    stages = stages_of(make_plan(StageParameters(profile="sample"), root=project))
    assert stages["measure"].state == "bundled"
    assert stages["check"].state == "bundled"
    assert stages["30-strings"].state == "to do"


def test_a_stage_is_stale_by_content_never_by_time_stamp(project: Path) -> None:
    stage = stages_of(make_plan(SETTINGS, root=project))["30-strings"]
    remember(project, SETTINGS, stage, 1.0)
    notebook = project / "notebooks/30-strings.ipynb"
    os.utime(notebook, (1, 1))
    assert judge(project, SETTINGS, stage).state == "done"
    content = json.loads(notebook.read_text())
    content["cells"][0]["source"] = "other prose"
    notebook.write_text(json.dumps(content))
    fresh = stages_of(make_plan(SETTINGS, root=project))["30-strings"]
    assert judge(project, SETTINGS, fresh).state == "done"  # prose is no reason
    content["cells"][-2]["source"] = "x = 1"
    notebook.write_text(json.dumps(content))
    fresh = stages_of(make_plan(SETTINGS, root=project))["30-strings"]
    assert judge(project, SETTINGS, fresh).why == "the code cells of 30-strings.ipynb changed"
    moved = replace(stage, parameters={**stage.parameters, "seed": 9})
    assert "parameter seed changed" in judge(project, SETTINGS, moved).why
    (project / "requirements.lock").write_text("numpy==1\n")
    assert "requirements.lock changed" in judge(project, SETTINGS, moved).why


def test_reasons_name_what_changed_what_is_new_gone_missing_or_replaced() -> None:
    before = Remembered(depends={"a": "1", "b": "1", "c": "1"}, outputs={"x": "1", "y": "1"}, took_s=1.0)
    assert why_stale({"a": "1", "b": "2", "d": "1"}, before, {"x": "2"}) == (
        "b changed", "d is new", "c is gone", "its output x was replaced", "its output y is missing",
    )  # fmt: skip
    assert why_stale({"a": "1"}, None, {}) == ("no successful run yet",)


def test_a_notebook_depends_on_modules_it_only_reaches_through_others() -> None:
    modules = closure(ROOT, {"harness.rows"})
    assert {"harness.figures.style", "harness.analysis.stats.comparisons", "harness.model.estimate"} <= set(
        modules
    )
    assert not any(module.startswith("harness.session") for module in modules)
    assert "harness.figures.trials" not in closure(ROOT, {"harness.pipeline.steps"})  # tidying draws nothing


def test_a_notebook_that_compares_what_definitions_declare_depends_on_them(project: Path) -> None:
    stages = stages_of(make_plan(SETTINGS, root=project))
    named = {name: set(depends(project, stages[name])) for name in ("31-startup", "30-strings")}
    own, base = "harness/experiments/strings-startup.toml", "harness/experiments/bases/startup.toml"
    assert {own, base} <= named["31-startup"]
    assert own not in named["30-strings"]


def test_a_file_gone_from_a_folder_changes_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / ".b").write_text("1")
    assert set(of_files(tmp_path, [tmp_path])) == {"a"}


@pytest.mark.parametrize(
    ("cells", "values", "message"),
    [
        (
            ["# Parameters\nprofil = 'quick'"],
            {"profil": "quick"},
            r"unknown parameter \(did you mean profile\?\)",
        ),
        (["# Parameters\nprofile = 'fast'"], {"profile": "fast"}, "parameter profile: not an allowed value"),
        (["# Parameters\nseed = 'true'"], {"seed": "true"}, "parameter seed"),
        (["# Parameters\nseed = True"], {"seed": True}, "parameter seed"),
        (["# Parameters\nseed = 1.5"], {"seed": 1.5}, "parameter seed"),
        (["# Parameters\nhost = 'true'"], {"host": "true"}, "parameter host"),
        (["# Parameters\nexperiments = 'True'"], {"experiments": "True"}, "parameter experiments"),
        (["# Parameters\nhost = 'a b'"], {"host": "a b"}, "parameter host"),
        (["# Parameters\nseed = 1", "# Parameters\nsede = 2"], {"seed": 1, "sede": 2}, "did you mean seed"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(
    cells: list[str], values: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_parameters(RunAllParameters, {"In": ["", *cells], **values})
    assert "\n" not in str(caught.value)


def test_variables_of_later_cells_are_no_parameters() -> None:
    history = ["", "# Parameters\nprofile = 'smoke'", "x = 1", "frame = 2"]
    assert check_parameters(RunAllParameters, {"In": history, "profile": "smoke", "x": 1}).profile == "smoke"


def test_a_mended_parameters_cell_is_believed() -> None:
    history = ["", "# Parameters\nprofil = 'smoke'", "check()", "# Parameters\nprofile = 'smoke'"]
    assert (
        check_parameters(RunAllParameters, {"In": history, "profile": "smoke", "profil": "smoke"}).seed == 1
    )


def test_an_unknown_experiment_is_named_with_the_known_ones(project: Path) -> None:
    with pytest.raises(InputError, match=r"no such experiment.*found 'strings-round'.*strings-rounds"):
        make_plan(StageParameters(profile="smoke", experiments="strings-round"), root=project)


def broken(project: Path, tmp_path: Path) -> StagePlan:
    path = project / "notebooks" / "90-broken.ipynb"
    path.write_text(json.dumps({
        "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            {"cell_type": "code", "id": "a", "metadata": {"tags": ["parameters"]}, "outputs": [],
             "execution_count": None, "source": "# Parameters\nprofile = experiments = host = 'x'\nseed = 1"},
            {"cell_type": "code", "id": "b", "metadata": {}, "outputs": [], "execution_count": None,
             "source": "number = 0\n1 / number"},
        ],
    }))  # fmt: skip
    try:
        plan = make_plan(SETTINGS.model_copy(update={"seed": 3}), root=project)
    finally:
        path.rename(tmp_path / path.name)
    stage = stages_of(plan)["90-broken"]
    assert stage.notebook is not None
    moved = replace(stage, notebook=replace(stage.notebook, path=tmp_path / path.name))
    return replace(plan, stages=(moved, stages_of(plan)["paper"]))


def test_a_failure_names_notebook_cell_and_the_command_that_resumes(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StageFailed) as caught:
        run(broken(project, tmp_path), progress=LineProgress())
    said = str(caught.value)
    assert "90-broken.ipynb, cell 3 (1 / number): ZeroDivisionError: division by zero" in said
    assert "see results/smoke/90-broken.ipynb" in said
    assert said.endswith(
        "resume: papermill notebooks/run_all.ipynb -p profile smoke -p seed 3 -p experiments strings-rounds"
    )
    shown = capsys.readouterr().err
    assert "✗ 90-broken" in shown
    assert "▶ paper" not in shown  # nothing after it is begun


def test_the_command_that_resumes_is_the_one_that_was_given(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMATCH_COMMAND", "make site")
    with pytest.raises(StageFailed, match="; resume: make site$"):
        run(broken(project, tmp_path), progress=LineProgress())


def installed(monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...] = ()) -> None:
    monkeypatch.setattr("harness.pipeline.steps.missing_tools", lambda root: missing)


@pytest.mark.parametrize(
    ("papermill", "missing", "profile", "said"),
    [
        ("", (), "sample", "profile: sample, because the notebook was opened to be read; to measure, set"),
        ("1", (), "quick", "profile: quick, because the measuring tools are installed"),
        (
            "1",
            ("go", "docker"),
            "sample",
            "profile: sample, because measuring needs go, docker, not installed here",
        ),
    ],
    ids=["in JupyterLab", "papermill, tools installed", "papermill, without tools"],
)
def test_who_asks_for_no_profile_measures_only_under_papermill_where_the_tools_are_installed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    papermill: str, missing: tuple[str, ...], profile: str, said: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("REMATCH_PAPERMILL", papermill)
    installed(monkeypatch, missing)
    settings = check_parameters(RunAllParameters, {"In": [], **parameters_of(project)})
    assert chosen_profile(settings, root=project).profile == profile
    printed = capsys.readouterr().out
    assert printed.startswith(said)
    assert printed.count("\n") == 1


def test_a_profile_that_is_asked_for_is_taken_without_a_word(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(monkeypatch, ("go",))
    assert chosen_profile(RunAllParameters(profile="quick"), root=project).profile == "quick"
    assert capsys.readouterr().out == ""


def parameters_of(project: Path) -> dict[str, object]:
    """Return the parameters that stand in the notebook ``run_all``."""
    cells = json.loads((project / "notebooks" / "run_all.ipynb").read_text("utf-8"))["cells"]
    source = next("".join(c["source"]) for c in cells if "parameters" in c["metadata"].get("tags", ()))
    namespace: dict[str, object] = {}
    exec(source, namespace)
    return {name: namespace[name] for name in RunAllParameters.model_fields}


def test_a_machine_without_programs_lacks_them_by_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.pipeline.steps.lacking_packages", lambda: {"docker": "containers"})
    monkeypatch.setenv("PATH", "")
    missing = missing_tools(project)
    assert "maven" in missing and "docker" in missing and "locust" not in missing


def test_the_table_has_one_row_a_stage_and_escapes_what_it_shows() -> None:
    stage = PlannedStage(name="a", kind="tidy", state="to do", why="<b> changed", expected_s=100.0)
    table = table_of([stage])
    assert "&lt;b&gt; changed" in table.html()
    assert list(table.lines()) == ["· a  to do        ~2 min  <b> changed"]


def test_analysing_needs_nothing_of_the_measuring_side() -> None:
    code = (
        "import sys, harness.notebook, harness.questions as all\n"
        "from importlib import import_module\n"
        "from pkgutil import iter_modules\n"
        "for one in iter_modules(all.__path__): import_module(f'harness.questions.{one.name}')\n"
        "heavy = {'locust', 'docker', 'paramiko', 'gevent', 'harness.session', 'harness.runner', 'harness.hosts.base', 'harness.hosts.measuring', 'harness.hosts.local'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=path)
    assert done.stdout.strip() == "[]"


def test_an_experiment_may_be_measured_unasked_under_some_profiles_only(project: Path) -> None:
    by_profile = {
        profile: {
            name.removeprefix("measure ")
            for name in stages_of(make_plan(StageParameters(profile=profile), root=project))
        }
        for profile in ("smoke", "quick", "full")
    }
    some = {"bank-rematch", "clients-hello"}
    assert some <= by_profile["smoke"]
    assert not {"bank-original", "clients-branch"} & by_profile["smoke"]
    assert some <= by_profile["quick"]
    assert not {"bank-original", "clients-branch"} & by_profile["quick"]
    assert {*some, "bank-original", "bank-connections", "clients-db", "clients-branch"} <= by_profile["full"]


def test_the_headline_is_measured_first_and_what_is_left_out_is_named(project: Path) -> None:
    plan = make_plan(StageParameters(profile="quick"), root=project)
    measured = [stage.name for stage in plan.stages if stage.kind == "measure"]
    assert measured[0] == "measure strings-warm"
    assert {"bank-original", "clients-branch"} <= set(plan.left_out)
    assert not {name.removeprefix("measure ") for name in measured} & set(plan.left_out)
    for shown in (repr(plan), plan._repr_html_()):
        assert "Not measured unless named" in shown and "bank-original" in shown
    assert make_plan(StageParameters(profile="quick", experiments="bank-rematch"), root=project).note == ""


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_what_is_measured_unasked_is_analysed_too(profile: str) -> None:
    """A notebook that needs an experiment which is measured only when it is named would leave the others out."""
    chosen = set(chosen_experiments(ROOT, StageParameters.model_validate({"profile": profile})))
    run_here = [notebook for notebook in analysis_notebooks(ROOT) if set(notebook.experiments) <= chosen]
    read = {name for notebook in run_here for name in (*notebook.experiments, *notebook.optional)}
    assert HEADLINE in chosen and chosen - read == set()


def test_an_experiment_that_a_notebook_does_not_read_is_refused_unless_it_speaks_of_any() -> None:
    committed, injected = (
        '# Parameters\nexperiments = "gc-peaks,gc-loops"',
        '# Parameters\nexperiments = "aa"',
    )
    names = {"In": ["", committed, injected], "experiments": "aa"}
    with pytest.raises(InputError, match="reads no such experiment; found 'aa'; allowed: gc-peaks, gc-loops"):
        check_parameters(StageParameters, names)
    assert check_parameters(StageParameters, names, any_experiment=True).names == ("aa",)
    one = {"In": ["", committed, '# Parameters\nexperiments = "gc-loops"'], "experiments": "gc-loops"}
    assert check_parameters(StageParameters, one).names == ("gc-loops",)
    every = {"In": ["", '# Parameters\nexperiments = "all"', injected], "experiments": "aa"}
    assert check_parameters(StageParameters, every).names == ("aa",)


def test_a_name_that_no_definition_and_no_session_has_is_an_error_and_not_unmeasured(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"no such experiment.*found 'nosuch'"):
        find_evidence(StageParameters(profile="smoke", experiments="nosuch"), "strings-rounds", root=project)
    chosen = StageParameters(profile="smoke", experiments="strings-rounds")
    assert find_evidence(chosen, "strings-startup", root=project) is None
    assert "strings-startup: not among the experiments that were named" in capsys.readouterr().out
    assert find_evidence(StageParameters(profile="full"), "strings-rounds", root=project) is None
    assert "strings-rounds: not measured in this profile" in capsys.readouterr().out
