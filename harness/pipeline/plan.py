# SPDX-License-Identifier: Apache-2.0
"""The plan of ``run_all``: every stage with its state, why it must run, and the time expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.definitions import experiment_files, load_study
from harness.evidence.parameters import ALL, StageParameters
from harness.evidence.sessions import chosen_experiments, session_of
from harness.model import make_plan as plan_trials
from harness.pipeline.stage import FOLDER, Kind, NotebookFile, PlannedStage, StagePlan, analysis_notebooks
from harness.pipeline.staleness import expected_s, judge, memory_path, read_memory, remaining_s
from harness.project import find_root


def make_plan(settings: StageParameters, *, root: Path | None = None) -> StagePlan:
    """Return the stages for these parameters, each compared with what is there already.

    Raises:
        InputError: an unknown experiment, or a definition that is wrong.
    """
    project = root or find_root()
    chosen = chosen_experiments(project, settings)
    unasked = not settings.bundled and settings.experiments == ALL
    left_out = sorted(set(experiment_files(project)) - set(chosen)) if unasked else ()
    plan = StagePlan(root=project, settings=settings, stages=(), left_out=tuple(left_out))
    stages = [*_measuring(plan, chosen), _stage(plan, "tidy", "20-tidy", chosen)]
    stages += [_analysis(plan, chosen, notebook) for notebook in analysis_notebooks(project)]
    stages.append(PlannedStage(name="paper", kind="paper", state="to do", why="", expected_s=None))
    return replace(plan, stages=_judged(plan, stages))


def _stage(
    plan: StagePlan, kind: Kind, notebook: str, experiments: tuple[str, ...], name: str = ""
) -> PlannedStage:
    """Return a stage that is to do, with what its notebook is given."""
    parameters = plan.settings.model_dump() | {"experiments": ",".join(experiments) or ALL}
    return PlannedStage(
        name=name or kind, kind=kind, state="to do", why="", expected_s=None, experiments=experiments,
        notebook=NotebookFile(plan.root / FOLDER / f"{notebook}.ipynb"), parameters=parameters,
    )  # fmt: skip


def _measuring(plan: StagePlan, chosen: tuple[str, ...]) -> list[PlannedStage]:
    if plan.settings.bundled:
        why = "nothing is measured: the data come with the project"
        kinds: tuple[Kind, ...] = ("check", "measure")
        return [
            PlannedStage(name=kind, kind=kind, state="bundled", why=why, expected_s=0.0) for kind in kinds
        ]
    stages = [_measure(plan, name) for name in chosen]
    check = _stage(plan, "check", "00-check-this-machine", chosen)
    memory = read_memory(memory_path(plan.root, plan.settings, check.name))
    check = replace(check, why="before anything is measured", expected_s=expected_s(memory, "check"))
    if not any(stage.state == "to do" for stage in stages):
        check = replace(check, state="done", why="nothing is to be measured")
    return [check, *stages]


def _measure(plan: StagePlan, name: str) -> PlannedStage:
    study, session = load_study(plan.root, name), session_of(plan.root, plan.settings, name)
    stage = _stage(plan, "measure", "10-measure", (name,), f"measure {name}")
    if not session.exists:
        profile = study.profile_name(plan.settings.profile)
        planned = plan_trials(study.experiment, profile, plan.settings.seed, host=plan.settings.host)
        trials, why = planned.trials, f"{len(planned.trials)} trials to make"
    else:
        trials = session.header.plan.trials
        changed = session.header.provenance.definition_sha256 != study.definition_sha256
        why = f"{len(session.finished())} of {len(trials)} trials made; the rest follows"
        if session.complete:
            of_then = " (of an earlier definition: choose another seed to measure the new one)" * changed
            stage = replace(stage, state="done")
            why = f"all {len(trials)} trials are in data/raw{of_then}"
        elif changed:
            why = "its definition changed since it was begun"
    return replace(stage, why=why, expected_s=remaining_s(session, trials))


def _analysis(plan: StagePlan, chosen: tuple[str, ...], notebook: NotebookFile) -> PlannedStage:
    missing = [name for name in notebook.experiments if name not in chosen]
    wanted = (*notebook.experiments, *(name for name in notebook.optional if name in chosen))
    stage = _stage(plan, "analysis", notebook.name, wanted or chosen, notebook.name)
    stage = replace(stage, notebook=notebook)
    if missing:
        return replace(stage, state="skipped", why=f"{', '.join(missing)} not among the experiments")
    if notebook.optional and not wanted and not notebook.needs_none:
        return replace(stage, state="skipped", why=f"none of {', '.join(notebook.optional)} was chosen")
    return stage


def _judged(plan: StagePlan, stages: list[PlannedStage]) -> tuple[PlannedStage, ...]:
    """Judge each stage, and count one as to do when something it builds on is still to be made."""
    judged: list[PlannedStage] = []
    for stage in stages:
        now = judge(plan.root, plan.settings, stage)
        blocking = [s.name for s in judged if s.state == "to do" and _feeds(s, now)]
        if now.state == "done" and blocking and now.kind not in ("check", "measure"):
            now = replace(now, state="to do", why=f"if {blocking[-1]} brings something new")
        judged.append(now)
    return tuple(judged)


def _feeds(earlier: PlannedStage, later: PlannedStage) -> bool:
    shared = later.kind == "paper" or set(earlier.experiments) & set(later.experiments)
    return earlier.kind != "check" and bool(shared)
