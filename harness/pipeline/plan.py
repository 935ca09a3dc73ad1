# SPDX-License-Identifier: Apache-2.0
"""The plan of ``run_all``: every stage with its state, why it must run, and the time expected. A stage is stale when
the content of what it depends on, or left behind, is not as remembered; measuring is judged by the store alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field, ValidationError

from harness.agent.files import file_sha256
from harness.analysis.evidence.parameters import ALL, StageParameters
from harness.analysis.evidence.sessions import chosen_experiments, session_of
from harness.analysis.tables.layout import Source, tables_folder
from harness.definitions import experiment_files, load_study, read_definition
from harness.import_closure import closure, imports, module_path
from harness.model import PlannedTrial
from harness.model import make_plan as plan_trials
from harness.model.base import Frozen
from harness.pipeline.stage import FOLDER, Kind, NotebookFile, PlannedStage, StagePlan, analysis_notebooks
from harness.project import EXPERIMENTS, experiment_paths, find_root
from harness.publish.build import PAPER
from harness.publish.generated import DOCUMENTS, GENERATED, paper_sources, write_json
from harness.store import SessionFolder, Store

LOCK = "requirements.lock"
#: Who imports it reads the ledgers of claims, which name experiments of their own.
LEDGER_READER = "harness.definitions.claims"
#: So many reasons of a stage are printed.
_SHOWN = 2
#: Seconds, until a stage has ended well here once and is known better; of one trial beside its load, and of a load
#: that ends with its requests.
_FIRST_GUESS_S: dict[str, float] = {"check": 20, "tidy": 20, "analysis": 30, "paper": 20}
_AROUND_S, _LOOPS_S = 8.0, 5.0


class StageRecord(Frozen):
    """What a stage looked like when it last ended well: ``results/<profile>/stages/<stage>.json``."""

    depends: dict[str, str] = Field(description="what it depended on -> hash of the content")
    outputs: dict[str, str] = Field(description="what it left behind -> hash of the content")
    took_s: float


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
    judged: list[PlannedStage] = []
    for stage in stages:
        now = judge(project, settings, stage)
        # a stage is to do, too, when something it builds on is still to be made
        blocking = [earlier.name for earlier in judged if earlier.state == "to do" and _feeds(earlier, now)]
        if now.state == "done" and blocking and now.kind not in ("check", "measure"):
            now = replace(now, state="to do", why=f"if {blocking[-1]} brings something new")
        judged.append(now)
    return replace(plan, stages=tuple(judged))


def _feeds(earlier: PlannedStage, later: PlannedStage) -> bool:
    shared = later.kind == "paper" or set(earlier.experiments) & set(later.experiments)
    return earlier.kind != "check" and bool(shared)


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
    if all(stage.state == "done" for stage in stages):
        return [replace(check, state="done", why="nothing is to be measured"), *stages]
    expected_s = _expected_s(_remembered(plan.root, plan.settings, check.name), "check")
    return [replace(check, why="before anything is measured", expected_s=expected_s), *stages]


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
    return replace(stage, why=why, expected_s=_remaining_s(session, trials))


def _remaining_s(session: SessionFolder, trials: tuple[PlannedTrial, ...]) -> float:
    """Return the time that the unfinished trials take, roughly: ``rematch measure --dry-run`` knows better."""
    finished = session.finished() if session.exists else frozenset()
    loads = [trial.configuration.load for trial in trials if trial.trial_id not in finished]
    return sum(_AROUND_S + ((load.profile.whole_s or _LOOPS_S) if load else 0.0) for load in loads)


def _analysis(plan: StagePlan, chosen: tuple[str, ...], notebook: NotebookFile) -> PlannedStage:
    missing = [name for name in notebook.experiments if name not in chosen]
    wanted = (*notebook.experiments, *(name for name in notebook.optional if name in chosen))
    stage = _stage(plan, "analysis", notebook.name, wanted or chosen, notebook.name)
    stage = replace(stage, notebook=notebook)
    if missing:
        return replace(stage, state="skipped", why=f"{', '.join(missing)} not among the experiments")
    if notebook.optional and not wanted and notebook.declared.get("experiments") != []:
        return replace(stage, state="skipped", why=f"none of {', '.join(notebook.optional)} was chosen")
    return stage


def judge(root: Path, settings: StageParameters, stage: PlannedStage) -> PlannedStage:
    """Return the stage with state and reason as things stand now."""
    if stage.kind in ("check", "measure") or stage.state == "skipped":
        return stage
    memory = _remembered(root, settings, stage.name)
    reasons = why_stale(depends(root, stage), memory, _outputs(root, stage))
    why = "; ".join(reasons[:_SHOWN]) or "unchanged"
    if len(reasons) > _SHOWN:
        why += f"; and {len(reasons) - _SHOWN} more"
    expected_s = _expected_s(memory, stage.kind)
    return replace(stage, state="to do" if reasons else "done", why=why, expected_s=expected_s)


def why_stale(now: dict[str, str], before: StageRecord | None, outputs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the reasons to run again, in words; empty: nothing that counts has changed, is new or is gone."""
    if before is None:
        return ("no successful run yet",)
    changed = [name for name in now | before.depends if now.get(name) != before.depends.get(name)]
    lost = [name for name, digest in before.outputs.items() if outputs.get(name) != digest]
    return (*(f"{name} changed" for name in changed), *(f"its output {name} changed" for name in lost))


def remember(root: Path, settings: StageParameters, stage: PlannedStage, took_s: float) -> None:
    """Store, at once or not at all, what a stage that ended well depended on and left behind."""
    memory = StageRecord(depends=depends(root, stage), outputs=_outputs(root, stage), took_s=took_s)
    path = _memory_path(root, settings, stage.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, memory.model_dump())


def _memory_path(root: Path, settings: StageParameters, name: str) -> Path:
    return root / "results" / settings.profile / "stages" / f"{name.replace(' ', '-')}.json"


def _remembered(root: Path, settings: StageParameters, name: str) -> StageRecord | None:
    """What is remembered; ``None`` when there is nothing, or nothing readable."""
    try:
        return StageRecord.model_validate_json(_memory_path(root, settings, name).read_bytes())
    except (OSError, ValidationError):
        return None


def _expected_s(memory: StageRecord | None, kind: Kind) -> float:
    """How long a stage will take: as long as last time, or a first guess."""
    return memory.took_s if memory else _FIRST_GUESS_S[kind]


def depends(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Return content hashes of everything a stage depends on: code, data, parameters, environment."""
    results = {
        f"parameter {name}": json.dumps(value, sort_keys=True) for name, value in stage.parameters.items()
    }
    files, modules = [root / LOCK], tuple[str, ...]()
    if stage.notebook is not None:
        cells = stage.notebook.code_cells  # prose may be mended without measuring anything again
        digest = hashlib.sha256("\0".join(cells).encode()).hexdigest()
        results[f"the code cells of {stage.notebook.path.name}"] = digest
        modules = closure(root, {name for source in cells for name in imports(source)})
    if stage.kind == "tidy":
        store = Store(root)
        for name in stage.experiments:
            for session in store.sessions(name, bundled=_bundled(stage)):
                files += session.sources()
    elif stage.kind == "analysis":
        files += [*_tables(root, stage), root / "data" / "published"]
        known = experiment_paths(root)
        if LEDGER_READER in modules:
            files.append(root / EXPERIMENTS)
        else:
            named = [known[name] for name in stage.experiments if name in known]
            files += [file for path in named for file in read_definition(root, path).files]
    elif stage.kind == "paper":
        modules = closure(root, {"harness.publish.build"})
        paper = root / PAPER
        files += [*paper_sources(paper), *paper.glob("*.sty"), *paper.glob("*.bib"), root / GENERATED]
    files += [path for module in modules if (path := module_path(root, module)) is not None]
    return results | of_files(root, files)


def _outputs(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Content hashes of what a stage leaves behind for later ones."""
    if stage.kind == "tidy":
        return of_files(root, _tables(root, stage))
    if stage.kind == "analysis":
        return of_files(root, [root / GENERATED / f"{stage.name}.json"])
    documents = DOCUMENTS if stage.kind == "paper" else ()
    return of_files(root, [root / PAPER / f"{name}.pdf" for name in documents])


def of_files(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return path -> content hash of files; a folder stands for all files below it, hidden ones left out."""
    results: dict[str, str] = {}
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            relative = file.relative_to(root)
            if file.is_file() and not any(part.startswith(".") for part in relative.parts):
                results[relative.as_posix()] = file_sha256(file)
    return results


def _bundled(stage: PlannedStage) -> bool:
    """Whether a stage reads the sessions that come with the project: what is measured here is nothing to it."""
    return stage.parameters.get("profile") == "sample"


def _tables(root: Path, stage: PlannedStage) -> list[Path]:
    source: Source = "bundled" if _bundled(stage) else "measured"
    return [tables_folder(root, name, source) for name in stage.experiments]
