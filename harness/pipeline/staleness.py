# SPDX-License-Identifier: Apache-2.0
"""Whether a stage must run: what it depends on and leaves behind, held against what is remembered of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field, ValidationError

from harness.agent.files import file_sha256
from harness.analysis.tables.layout import Source, tables_folder
from harness.definitions import read_definition
from harness.evidence.parameters import StageParameters
from harness.import_closure import closure, module_path
from harness.model import ClosedLoad, Load, OpenLoad, PlannedTrial
from harness.model.base import Frozen
from harness.pipeline.stage import Kind, PlannedStage, State
from harness.project import EXPERIMENTS, experiment_paths
from harness.publish.build import PAPER
from harness.publish.generated import DOCUMENTS, GENERATED, paper_sources
from harness.store import SessionFolder, Store

LOCK = "requirements.lock"
#: Who imports it reads the ledgers of claims, which name experiments of their own.
LEDGER_READER = "harness.definitions.claims"
#: So many reasons of a stage are printed.
_SHOWN = 2
#: Seconds, until a stage has ended well here once and is known better.
_FIRST_GUESS_S: dict[str, float] = {"check": 20, "tidy": 20, "analysis": 30, "paper": 20}
#: Starting, checking, stopping and writing of one trial, and requests per second of a closed loop and of a warm-up.
_TRIAL_OVERHEAD_S, _CLOSED_PER_S, _WARM_UP_PER_S = 6.0, 5_000.0, 1_000.0


class Remembered(Frozen):
    """What a stage looked like when it last ended well: ``results/<profile>/stages/<stage>.json``."""

    depends: dict[str, str] = Field(description="what it depended on -> hash of the content")
    outputs: dict[str, str] = Field(description="what it left behind -> hash of the content")
    took_s: float


def memory_path(root: Path, settings: StageParameters, name: str) -> Path:
    """Return where a stage's memory lies."""
    return root / "results" / settings.profile / "stages" / f"{name.replace(' ', '-')}.json"


def read_memory(path: Path) -> Remembered | None:
    """Return what is remembered; ``None`` when there is nothing, or nothing readable."""
    try:
        return Remembered.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def remember(root: Path, settings: StageParameters, stage: PlannedStage, took_s: float) -> None:
    """Store, at once or not at all, what a stage that ended well depended on and left behind."""
    memory = Remembered(depends=depends(root, stage), outputs=outputs(root, stage), took_s=took_s)
    path = memory_path(root, settings, stage.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(memory.model_dump_json(indent=1), "utf-8")
    os.replace(fresh, path)


def of_files(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return path -> content hash of files; a folder stands for all files below it, hidden ones left out."""
    results: dict[str, str] = {}
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            relative = file.relative_to(root)
            if file.is_file() and not any(part.startswith(".") for part in relative.parts):
                results[relative.as_posix()] = file_sha256(file)
    return results


def why_stale(
    now: Mapping[str, str], before: Remembered | None, outputs: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the reasons to run again, in words; empty: nothing that counts has changed."""
    if before is None:
        return ("no successful run yet",)
    reasons = [
        f"{name} changed" for name in now if name in before.depends and now[name] != before.depends[name]
    ]
    reasons += [f"{name} is new" for name in now if name not in before.depends]
    reasons += [f"{name} is gone" for name in before.depends if name not in now]
    for name, digest in before.outputs.items():
        if outputs.get(name) != digest:
            reasons.append(f"its output {name} {'was replaced' if name in outputs else 'is missing'}")
    return tuple(reasons)


def judge(root: Path, settings: StageParameters, stage: PlannedStage) -> PlannedStage:
    """Return the stage with state and reason as things stand now. Measuring is judged by the store alone."""
    if stage.kind in ("check", "measure") or stage.state == "skipped":
        return stage
    memory = read_memory(memory_path(root, settings, stage.name))
    reasons = why_stale(depends(root, stage), memory, outputs(root, stage))
    why = "; ".join(reasons[:_SHOWN]) or "unchanged"
    if len(reasons) > _SHOWN:
        why += f"; and {len(reasons) - _SHOWN} more"
    state: State = "to do" if reasons else "done"
    return replace(stage, state=state, why=why, expected_s=expected_s(memory, stage.kind))


def depends(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Return content hashes of everything a stage depends on: code, data, parameters, environment."""
    results = {
        f"parameter {name}": json.dumps(value, sort_keys=True) for name, value in stage.parameters.items()
    }
    files, modules = [root / LOCK], tuple[str, ...]()
    if stage.notebook is not None:
        results[f"the code cells of {stage.notebook.path.name}"] = stage.notebook.code_sha256
        modules = stage.notebook.imported(root)
    if stage.kind == "tidy":
        files += _raw_files(root, stage)
    elif stage.kind == "analysis":
        files += [*_tables(root, stage), root / "data" / "published", *_definitions(root, stage, modules)]
    elif stage.kind == "paper":
        modules = closure(root, {"harness.publish.build"})
        paper = root / PAPER
        files += [*paper_sources(paper), *paper.glob("*.sty"), *paper.glob("*.bib"), root / GENERATED]
    files += [path for module in modules if (path := module_path(root, module)) is not None]
    return results | of_files(root, files)


def _definitions(root: Path, stage: PlannedStage, modules: tuple[str, ...]) -> list[Path]:
    """Return the definitions of the stage's experiments with their bases; all where it reads the ledgers."""
    if LEDGER_READER in modules:
        return [root / EXPERIMENTS]
    known = experiment_paths(root)
    named = [known[name] for name in stage.experiments if name in known]
    return [file for path in named for file in read_definition(root, path).files]


def outputs(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Return content hashes of what a stage leaves behind for later ones."""
    if stage.kind == "tidy":
        return of_files(root, _tables(root, stage))
    if stage.kind == "analysis":
        return of_files(root, [root / GENERATED / f"{stage.name}.json"])
    documents = DOCUMENTS if stage.kind == "paper" else ()
    return of_files(root, [root / PAPER / f"{name}.pdf" for name in documents])


def _bundled(stage: PlannedStage) -> bool:
    """Whether a stage reads the sessions that come with the project: what is measured here is nothing to it."""
    return stage.parameters.get("profile") == "sample"


def _tables(root: Path, stage: PlannedStage) -> list[Path]:
    source: Source = "bundled" if _bundled(stage) else "measured"
    return [tables_folder(root, name, source) for name in stage.experiments]


def _raw_files(root: Path, stage: PlannedStage) -> list[Path]:
    """The files that decide what the sessions of the stage's experiments hold."""
    store = Store(root)
    return [
        file
        for name in stage.experiments
        for session in store.sessions(name, bundled=_bundled(stage))
        for file in session.sources()
    ]


def expected_s(memory: Remembered | None, kind: Kind) -> float:
    """Return how long a stage will take: as long as last time, or a first guess."""
    return memory.took_s if memory else _FIRST_GUESS_S[kind]


def remaining_s(session: SessionFolder, trials: tuple[PlannedTrial, ...]) -> float:
    """Return the time the unfinished trials will take: as long as the finished ones, or by their load."""
    finished = session.finished() if session.exists else frozenset()
    todo = [trial for trial in trials if trial.trial_id not in finished]
    if len(finished) >= 3:
        took = [record.ended.monotonic_s - record.started.monotonic_s for record in session.records()]
        return len(todo) * sum(took) / len(took)
    cells = [trial.configuration for trial in todo]
    around_s = (_TRIAL_OVERHEAD_S + cell.idle_s + cell.warm_up_requests / _WARM_UP_PER_S for cell in cells)
    return sum(around_s) + sum(_load_s(cell.load) for cell in cells)


def _load_s(load: Load | None) -> float:
    profile = load.profile if load else None
    if isinstance(profile, OpenLoad):
        return profile.whole_s
    if isinstance(profile, ClosedLoad):
        requests = profile.users * (profile.loops or 0)
        return profile.whole_s or profile.ramp_up_s + requests / _CLOSED_PER_S
    return 0.0
