# SPDX-License-Identifier: Apache-2.0
"""What a stage depends on, as content hashes, and the words for what has changed. Never by time stamp."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from harness.import_closure import module_path
from harness.model import ClosedLoad, Load, OpenLoad, PlannedTrial
from harness.model.base import Frozen
from harness.pipeline.notebook_file import NotebookFile
from harness.pipeline.stage import Kind
from harness.store import SessionFolder

LOCK = "requirements.lock"


class Remembered(Frozen):
    """What a stage looked like when it last ended well: ``results/<profile>/stages/<stage>.json``."""

    depends: dict[str, str] = Field(description="what it depended on -> hash of the content")
    outputs: dict[str, str] = Field(description="what it left behind -> hash of the content")
    took_s: float


def read_memory(path: Path) -> Remembered | None:
    """Return what is remembered; ``None`` when there is nothing, or nothing readable."""
    try:
        return Remembered.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_memory(path: Path, memory: Remembered) -> None:
    """Replace a stage's memory atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(memory.model_dump_json(indent=1), "utf-8")
    os.replace(fresh, path)


def of_notebook(root: Path, notebook: NotebookFile) -> dict[str, str]:
    """Return the hashes of a notebook's code cells and of all modules it leans on."""
    depends = {f"the code cells of {notebook.path.name}": notebook.code_sha256}
    for module in notebook.imported(root):
        path = module_path(root, module)
        if path is not None:
            depends[path.relative_to(root).as_posix()] = file_hash(path)
    return depends


def of_files(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return path -> content hash of files; a folder stands for all files below it, hidden ones left out."""
    results: dict[str, str] = {}
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            relative = file.relative_to(root)
            hidden = any(part.startswith(".") for part in relative.parts)
            if file.is_file() and not hidden:
                results[relative.as_posix()] = file_hash(file)
    return results


def of_parameters(parameters: Mapping[str, object]) -> dict[str, str]:
    """Return parameter -> value as text."""
    return {f"parameter {name}": json.dumps(value, sort_keys=True) for name, value in parameters.items()}


def of_lock(root: Path) -> dict[str, str]:
    """Return the hash of the locked environment."""
    return of_files(root, [root / LOCK])


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
        if name not in outputs:
            reasons.append(f"its output {name} is missing")
        elif outputs[name] != digest:
            reasons.append(f"its output {name} was replaced")
    return tuple(reasons)


def in_short(reasons: tuple[str, ...], limit: int = 2) -> str:
    """Return reasons as one line: the first ones, and how many more."""
    more = len(reasons) - limit
    return "; ".join(reasons[:limit]) + (f"; and {more} more" if more > 0 else "")


#: Seconds, until a stage has ended well here once and is known better.
_FIRST_GUESS_S: dict[str, float] = {"check": 20, "tidy": 20, "analysis": 30, "paper": 20}
#: Starting, checking, stopping and writing of one trial, and requests per second of a closed loop.
_TRIAL_OVERHEAD_S, _CLOSED_PER_S = 6.0, 5_000.0


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
    return sum(_trial_s(trial) for trial in todo)


def _trial_s(trial: PlannedTrial) -> float:
    configuration = trial.configuration
    return (
        _TRIAL_OVERHEAD_S
        + configuration.idle_s
        + _load_s(configuration.load)
        + (configuration.warm_up_requests / 1000)
    )


def _load_s(load: Load | None) -> float:
    profile = load.profile if load else None
    if isinstance(profile, OpenLoad):
        return profile.whole_s
    if isinstance(profile, ClosedLoad):
        requests = profile.users * (profile.loops or 0)
        return profile.whole_s or profile.ramp_up_s + requests / _CLOSED_PER_S
    return 0.0
