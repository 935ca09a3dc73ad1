# SPDX-License-Identifier: Apache-2.0
"""The plan of ``run_all``: every stage with its state, why it must run, and the time expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.definitions import experiment_files, load_study
from harness.evidence.parameters import ALL, StageParameters
from harness.evidence.sessions import chosen_experiments, session_of
from harness.model import make_plan as plan_trials
from harness.pipeline.stage import (
    FOLDER,
    Kind,
    NotebookFile,
    PlannedStage,
    StagePlan,
    State,
    analysis_notebooks,
)
from harness.pipeline.staleness import expected_s, judge, memory_path, read_memory, remaining_s
from harness.project import find_root


def make_plan(settings: StageParameters, *, root: Path | None = None) -> StagePlan:
    """Return the stages for these parameters, each compared with what is there already.

    Raises:
        InputError: an unknown experiment, or a definition that is wrong.
    """
    project = root or find_root()
    chosen = chosen_experiments(project, settings)
    stages = [
        *_measuring(project, settings, chosen),
        _stage("tidy", "tidy", project, settings, chosen, "20-tidy"),
    ]
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
    if settings.bundled:
        why = "nothing is measured: the data come with the project"
        kinds: tuple[Kind, ...] = ("check", "measure")
        return [
            PlannedStage(name=kind, kind=kind, state="bundled", why=why, expected_s=0.0) for kind in kinds
        ]
    stages = [_measure(root, settings, name) for name in chosen]
    todo = any(stage.state == "to do" for stage in stages)
    why = "before anything is measured" if todo else "nothing is to be measured"
    expected = expected_s(read_memory(memory_path(root, settings, "check")), "check")
    check = _stage("check", "check", root, settings, chosen, "00-check-this-machine")
    return [replace(check, state="to do" if todo else "done", why=why, expected_s=expected), *stages]


def _stage(
    name: str, kind: Kind, root: Path, settings: StageParameters, experiments: tuple[str, ...], notebook: str
) -> PlannedStage:
    """Return a stage that is to do, with what its notebook is given."""
    parameters = {
        "profile": settings.profile,
        "experiments": ",".join(experiments) or ALL,
        "host": settings.host,
        "seed": settings.seed,
    }
    file = NotebookFile(root / FOLDER / f"{notebook}.ipynb")
    return PlannedStage(
        name=name, kind=kind, state="to do", why="", expected_s=None, notebook=file, parameters=parameters,
        experiments=experiments,
    )  # fmt: skip


def _measure(root: Path, settings: StageParameters, name: str) -> PlannedStage:
    study, session = load_study(root, name), session_of(root, settings, name)
    if session.exists:
        plan = session.header.plan
    else:
        profile = study.profile_name(settings.profile)
        plan = plan_trials(study.experiment, profile, settings.seed, host=settings.host)
    n, expected = len(plan.trials), remaining_s(session, plan.trials)
    state: State = "to do"
    changed = session.exists and session.header.provenance.definition_sha256 != study.definition_sha256
    if not session.exists:
        why = f"{n} trials to make"
    elif session.complete:
        state, why = "done", f"all {n} trials are in data/raw"
        why += " (of an earlier definition: choose another seed to measure the new one)" * changed
    elif changed:
        why = "its definition changed since it was begun"
    else:
        why = f"{len(session.finished())} of {n} trials made; the rest follows"
    stage = _stage(f"measure {name}", "measure", root, settings, (name,), "10-measure")
    return replace(stage, state=state, why=why, expected_s=expected)


def _analysis(
    root: Path, settings: StageParameters, chosen: tuple[str, ...], notebook: NotebookFile
) -> PlannedStage:
    missing = [name for name in notebook.experiments if name not in chosen]
    skipped = f"{', '.join(missing)} not among the experiments" if missing else ""
    wanted = (*notebook.experiments, *(name for name in notebook.optional if name in chosen))
    if notebook.optional and not wanted and not notebook.needs_none:
        missing, skipped = list(notebook.optional), f"none of {', '.join(notebook.optional)} was chosen"
    stage = _stage(notebook.name, "analysis", root, settings, wanted or chosen, notebook.name)
    return replace(stage, state="skipped" if missing else "to do", why=skipped, notebook=notebook)


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
