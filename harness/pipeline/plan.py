# SPDX-License-Identifier: Apache-2.0
"""The plan of ``run_all``: every stage with its state, why it must run, and the time expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.definitions import experiment_files, load_study
from harness.evidence.parameters import ALL, StageParameters
from harness.evidence.sessions import chosen_experiments, session_of
from harness.model import make_plan as plan_trials
from harness.pipeline.stage import FOLDER, NotebookFile, PlannedStage, StagePlan, State, analysis_notebooks
from harness.pipeline.staleness import expected_s, judge, memory_path, read_memory, remaining_s
from harness.project import find_root


def make_plan(settings: StageParameters, *, root: Path | None = None) -> StagePlan:
    """Return the stages for these parameters, each compared with what is there already.

    Raises:
        InputError: an unknown experiment, or a definition that is wrong.
    """
    project = root or find_root()
    chosen = chosen_experiments(project, settings)
    stages = [*_measuring(project, settings, chosen), _tidy(project, settings, chosen)]
    stages += [_analysis(project, settings, chosen, notebook) for notebook in analysis_notebooks(project)]
    stages.append(PlannedStage(name="paper", kind="paper", state="to do", why="", expected_s=None))
    return StagePlan(
        root=project,
        settings=settings,
        stages=_judged(project, settings, stages),
        left_out=_left_out(project, settings, chosen),
    )


def _left_out(root: Path, settings: StageParameters, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The experiments that this profile measures only when they are named."""
    if settings.bundled or settings.experiments != ALL:
        return ()
    return tuple(sorted(set(experiment_files(root)) - set(chosen)))


def _measuring(root: Path, settings: StageParameters, chosen: tuple[str, ...]) -> list[PlannedStage]:
    check = NotebookFile(root / FOLDER / "00-check-this-machine.ipynb")
    measure = NotebookFile(root / FOLDER / "10-measure.ipynb")
    if settings.bundled:
        why = "nothing is measured: the data come with the project"
        return [
            PlannedStage(name="check", kind="check", state="bundled", why=why, expected_s=0.0),
            PlannedStage(name="measure", kind="measure", state="bundled", why=why, expected_s=0.0),
        ]
    stages = [_measure(root, settings, name, measure) for name in chosen]
    todo = any(stage.state == "to do" for stage in stages)
    first = PlannedStage(
        name="check",
        kind="check",
        state="to do" if todo else "done",
        notebook=check,
        why="before anything is measured" if todo else "nothing is to be measured",
        expected_s=expected_s(read_memory(memory_path(root, settings, "check")), "check"),
        parameters=_parameters(settings, chosen),
        experiments=chosen,
    )
    return [first, *stages]


def _measure(root: Path, settings: StageParameters, name: str, notebook: NotebookFile) -> PlannedStage:
    study = load_study(root, name)
    session = session_of(root, settings, name)
    plan = (
        session.header.plan
        if session.exists
        else plan_trials(
            study.experiment, study.profile_name(settings.profile), settings.seed, host=settings.host
        )
    )
    trials = plan.trials
    expected = remaining_s(session, trials)
    state: State = "to do"
    if not session.exists:
        why = f"{len(trials)} trials to make"
    elif session.header.provenance.definition_sha256 != study.definition_sha256 and not session.complete:
        why = "its definition changed since it was begun"
    elif session.complete:
        state, why = "done", f"all {len(session.header.plan.trials)} trials are in data/raw"
        if session.header.provenance.definition_sha256 != study.definition_sha256:
            why += " (of an earlier definition: choose another seed to measure the new one)"
    else:
        why = f"{len(session.finished())} of {len(session.header.plan.trials)} trials made; the rest follows"
    return PlannedStage(
        name=f"measure {name}",
        kind="measure",
        state=state,
        why=why,
        expected_s=expected,
        notebook=notebook,
        parameters=_parameters(settings, (name,)),
        experiments=(name,),
    )


def _tidy(root: Path, settings: StageParameters, chosen: tuple[str, ...]) -> PlannedStage:
    return PlannedStage(
        name="tidy",
        kind="tidy",
        state="to do",
        why="",
        expected_s=None,
        notebook=NotebookFile(root / FOLDER / "20-tidy.ipynb"),
        parameters=_parameters(settings, chosen),
        experiments=chosen,
    )


def _analysis(
    root: Path, settings: StageParameters, chosen: tuple[str, ...], notebook: NotebookFile
) -> PlannedStage:
    missing = [name for name in notebook.experiments if name not in chosen]
    skipped = f"{', '.join(missing)} not among the experiments" if missing else ""
    wanted = (*notebook.experiments, *(name for name in notebook.optional if name in chosen))
    if notebook.optional and not wanted and not notebook.needs_none:
        missing, skipped = list(notebook.optional), f"none of {', '.join(notebook.optional)} was chosen"
    return PlannedStage(
        name=notebook.name,
        kind="analysis",
        state="skipped" if missing else "to do",
        why=skipped,
        expected_s=None,
        notebook=notebook,
        parameters=_parameters(settings, wanted or chosen),
        experiments=wanted or chosen,
    )


def _judged(root: Path, settings: StageParameters, stages: list[PlannedStage]) -> tuple[PlannedStage, ...]:
    """Judge each stage, and count one as to do when something it builds on is still to be made."""
    judged: list[PlannedStage] = []
    for stage in stages:
        now = judge(root, settings, stage)
        blocking = [s.name for s in judged if s.state == "to do" and _feeds(s, now)]
        if now.state == "done" and blocking and now.kind not in ("check", "measure"):
            now = replace(now, state="to do", why=f"if {blocking[-1]} brings something new")
        judged.append(now)
    return tuple(judged)


def _feeds(earlier: PlannedStage, later: PlannedStage) -> bool:
    if earlier.kind == "check":
        return False
    return later.kind == "paper" or bool(set(earlier.experiments) & set(later.experiments))


def _parameters(settings: StageParameters, experiments: tuple[str, ...]) -> dict[str, object]:
    return {
        "profile": settings.profile,
        "experiments": ",".join(experiments) or ALL,
        "host": settings.host,
        "seed": settings.seed,
    }
