# SPDX-License-Identifier: Apache-2.0
"""Stages: what is stale and why, parameters, and what a failure says."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.evidence.opening import find_evidence
from harness.analysis.evidence.sessions import HEADLINE, chosen_experiments
from harness.errors import InputError
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
from harness.pipeline.execute import Progress, resume_command
from harness.pipeline.plan import depends, judge, remember
from harness.pipeline.stage import NotebookFile, PlannedStage, StageTable, analysis_notebooks
from harness.pipeline.steps import missing_tools
from harness.tests.pipeline.test_execute import notebook_of
from harness.tests.support.synthetic import ROOT, make_project, make_session


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a made-up smoke session of the rounds."""
    return make_project(tmp_path_factory.mktemp("stages"), profile="smoke", experiments=("strings-rounds",))


SETTINGS = StageParameters(profile="smoke", experiments="strings-rounds")


def stages_of(
    project: Path, settings: StageParameters = SETTINGS, **changes: object
) -> dict[str, PlannedStage]:
    plan = make_plan(settings.model_copy(update=changes), root=project)
    return {stage.name: stage for stage in plan.stages}


def test_the_plan_says_what_is_done_what_is_to_do_and_why(project: Path) -> None:
    plan = make_plan(SETTINGS, root=project)
    stages = stages_of(project)
    assert stages["measure strings-rounds"].state == stages["check"].state == "done"
    assert "all 6 trials" in stages["measure strings-rounds"].why
    assert stages["tidy"].state == stages["paper"].state == "to do"
    assert stages["31-startup"].state == "skipped" and "strings-startup" in stages["31-startup"].why
    assert plan.expected_s > 0 and "no successful run yet" in repr(plan)
    table = StageTable([replace(stages["tidy"], why="<b> changed", expected_s=100.0)])
    assert "&lt;b&gt; changed" in table.html()
    assert list(table.lines()) == ["· tidy  to do        ~2 min  <b> changed"]


def test_a_notebook_is_executed_for_the_experiments_that_were_chosen(project: Path) -> None:
    usual = stages_of(project, StageParameters(profile="quick"))
    assert usual["41-gc-peaks"].state == usual["50-scaling"].state == "skipped"
    assert usual["32-bank"].parameters["experiments"] == "bank-rematch"
    named = stages_of(project, StageParameters(profile="quick", experiments="gc-peaks"))
    assert named["measure gc-peaks"].state == named["41-gc-peaks"].state == "to do"
    assert named["60-validity"].state == "to do"  # it simulates, whatever was chosen
    assert named["60-validity"].experiments == ("gc-peaks",)
    assert named["32-bank"].state == named["33-clients"].state == "skipped"
    assert "none of bank-original, bank-rematch, bank-connections" in named["32-bank"].why


@pytest.mark.parametrize(
    ("seed", "missing", "why"),
    [(7, 2, "4 of 6 trials made; the rest follows"), (8, None, "6 trials to make")],
    ids=["interrupted", "never begun"],
)
def test_what_is_incomplete_is_measured(project: Path, seed: int, missing: int | None, why: str) -> None:
    if missing is not None:
        make_session(project, "strings-rounds", "smoke", seed=seed, missing=missing)
    stages = stages_of(project, seed=seed)
    measure = stages["measure strings-rounds"]
    assert (measure.state, measure.why, stages["check"].state) == ("to do", why, "to do")
    assert (measure.expected_s or 0) > 0


def test_with_bundled_data_nothing_is_measured(project: Path) -> None:
    make_session(project, "strings-rounds", "quick", bundled=True, missing=70)
    stages = stages_of(project, StageParameters(profile="sample"))
    assert stages["measure"].state == stages["check"].state == "bundled"
    assert stages["30-strings"].state == "to do"


def test_a_stage_is_stale_by_content_never_by_time_stamp(project: Path) -> None:
    stage = stages_of(project)["30-strings"]
    remember(project, SETTINGS, stage, 1.0)
    notebook = project / "notebooks/30-strings.ipynb"
    os.utime(notebook, (1, 1))
    assert judge(project, SETTINGS, stage).state == "done"
    content = json.loads(notebook.read_text())
    content["cells"][0]["source"] = "other prose"
    notebook.write_text(json.dumps(content))
    fresh = stages_of(project)["30-strings"]
    assert judge(project, SETTINGS, fresh).state == "done"  # prose is no reason
    content["cells"][-2]["source"] = "x = 1"
    notebook.write_text(json.dumps(content))
    fresh = stages_of(project)["30-strings"]
    assert judge(project, SETTINGS, fresh).why == "the code cells of 30-strings.ipynb changed"
    moved = replace(stage, parameters={**stage.parameters, "seed": 9})
    assert "parameter seed changed" in judge(project, SETTINGS, moved).why
    (project / "requirements.lock").write_text("numpy==1\n")
    assert "requirements.lock changed" in judge(project, SETTINGS, moved).why


def test_a_notebook_depends_on_modules_that_it_reaches_and_on_its_definitions(project: Path) -> None:
    modules = set(closure(ROOT, {"harness.rows"}))
    assert {
        "harness.publish.figures.style",
        "harness.analysis.stats.comparisons",
        "harness.model.estimate",
    } <= modules
    assert not any(module.startswith("harness.measure.session") for module in modules)
    stages = stages_of(project)
    named = {name: set(depends(project, stages[name])) for name in ("31-startup", "30-strings")}
    own, base = "harness/experiments/strings-startup.toml", "harness/experiments/bases/startup.toml"
    assert {own, base} <= named["31-startup"]
    assert own not in named["30-strings"]


@pytest.mark.parametrize(
    ("cells", "values", "message"),
    [
        (["profil = 'quick'"], {"profil": "quick"}, r"unknown parameter \(did you mean profile\?\)"),
        (["seed = 1", "sede = 2"], {"seed": 1, "sede": 2}, "did you mean seed"),
        *(
            ([f"{name} = {value!r}"], {name: value}, f"parameter {name}: not an allowed value")
            for name, value in (
                ("profile", "fast"), ("seed", "true"), ("seed", True), ("seed", 1.5), ("host", "true"),
                ("host", "a b"), ("experiments", "True"),
            )
        ),
    ],
)  # fmt: skip
def test_wrong_parameters_are_one_line(cells: list[str], values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_parameters(
            RunAllParameters, {"In": ["", *(f"# Parameters\n{cell}" for cell in cells)], **values}
        )
    assert "\n" not in str(caught.value)


def test_only_the_last_parameters_cells_count_and_no_later_variables() -> None:
    first, mended = "# Parameters\nprofil = 'smoke'", "# Parameters\nprofile = 'smoke'"
    history = ["", first, "check()", mended, "x = 1", "frame = 2"]
    names = {"In": history, "profile": "smoke", "profil": "smoke", "x": 1}
    assert check_parameters(RunAllParameters, names).profile == "smoke"


def test_a_name_that_nothing_has_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"no such experiment.*found 'strings-round'.*strings-rounds"):
        make_plan(StageParameters(profile="smoke", experiments="strings-round"), root=project)
    with pytest.raises(InputError, match=r"no such experiment.*found 'nosuch'"):
        find_evidence(StageParameters(profile="smoke", experiments="nosuch"), "strings-rounds", root=project)
    assert find_evidence(SETTINGS, "strings-startup", root=project) is None
    assert "strings-startup: not among the experiments that were named" in capsys.readouterr().out
    assert find_evidence(StageParameters(profile="full"), "strings-rounds", root=project) is None
    assert "strings-rounds: not measured in this profile" in capsys.readouterr().out


def test_a_failure_names_notebook_cell_and_the_command_that_resumes(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "90-broken.ipynb"
    parameters = "# Parameters\nprofile = experiments = host = 'x'\nseed = 1"
    path.write_text(notebook_of(parameters, "number = 0\n1 / number"))
    whole = make_plan(SETTINGS.model_copy(update={"seed": 3}), root=project)
    stage = next(stage for stage in whole.stages if stage.name == "30-strings")
    moved = replace(stage, name=path.stem, notebook=NotebookFile(path))
    plan = replace(whole, stages=(moved, whole.stages[-1]))
    with pytest.raises(StageFailed) as caught:
        run(plan, progress=Progress(in_kernel=False))
    message = str(caught.value)
    assert "90-broken.ipynb, cell 3 (1 / number): ZeroDivisionError: division by zero" in message
    assert "see results/smoke/90-broken.ipynb" in message
    assert message.endswith(
        "resume: papermill notebooks/run_all.ipynb -p profile smoke -p seed 3 -p experiments strings-rounds"
    )
    shown = capsys.readouterr().err
    assert "✗ 90-broken" in shown
    assert "▶ paper" not in shown  # nothing after it is begun
    monkeypatch.setenv("REMATCH_COMMAND", "make site")
    assert resume_command(plan) == "make site"


@pytest.mark.parametrize(
    ("papermill", "missing", "profile", "printed"),
    [
        ("", (), "sample", "profile: sample, because the notebook was opened to be read; to measure, set"),
        ("1", (), "quick", "profile: quick, because the measuring tools are installed"),
        ("1", ("go", "docker"), "sample", "profile: sample, because measuring needs go, docker, not installed here"),
    ],
    ids=["in JupyterLab", "papermill, tools installed", "papermill, without tools"],
)  # fmt: skip
def test_who_asks_for_no_profile_measures_only_under_papermill_where_the_tools_are_installed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    papermill: str, missing: tuple[str, ...], profile: str, printed: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("REMATCH_PAPERMILL", papermill)
    monkeypatch.setattr("harness.pipeline.steps.missing_tools", lambda root: missing)
    (parameters, *_) = NotebookFile(project / "notebooks/run_all.ipynb").code_cells
    namespace: dict[str, object] = {"In": []}
    exec(parameters, namespace)
    settings = check_parameters(RunAllParameters, namespace)
    assert chosen_profile(settings, root=project).profile == profile
    out = capsys.readouterr().out
    assert out.startswith(printed) and out.count("\n") == 1
    assert chosen_profile(RunAllParameters(profile="quick"), root=project).profile == "quick"
    assert capsys.readouterr().out == ""  # what is asked for is taken without a word


def test_a_bare_machine_lacks_programs_by_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.pipeline.steps.lacking_packages", lambda: {"docker": "containers"})
    monkeypatch.setenv("PATH", "")
    missing = missing_tools(project)
    assert "maven" in missing and "docker" in missing and "locust" not in missing


def test_the_headline_is_measured_first_and_what_is_left_out_is_named(project: Path) -> None:
    plan = make_plan(StageParameters(profile="quick"), root=project)
    measured = [stage.name for stage in plan.stages if stage.kind == "measure"]
    assert measured[0] == "measure strings-warm"
    assert {"bank-original", "clients-branch", "gc-peaks", "aa", "headroom"} <= set(plan.left_out)
    assert not {name.removeprefix("measure ") for name in measured} & set(plan.left_out)
    for shown in (repr(plan), plan._repr_html_()):
        assert "Not measured unless named" in shown and "bank-original" in shown
    assert make_plan(StageParameters(profile="quick", experiments="bank-rematch"), root=project).note == ""


@pytest.mark.parametrize(("profile", "rare"), [("smoke", False), ("quick", False), ("full", True)])
def test_what_is_measured_unasked_under_a_profile_is_analysed_too(profile: str, rare: bool) -> None:
    """A notebook that needs an experiment which is measured only when it is named would leave the others out."""
    chosen = set(chosen_experiments(ROOT, StageParameters.model_validate({"profile": profile})))
    assert {"bank-rematch", "clients-hello"} <= chosen
    assert ({"bank-original", "clients-branch"} <= chosen) is rare
    run_here = [notebook for notebook in analysis_notebooks(ROOT) if set(notebook.experiments) <= chosen]
    read = {name for notebook in run_here for name in (*notebook.experiments, *notebook.optional)}
    assert HEADLINE in chosen and chosen - read == set()
