# SPDX-License-Identifier: Apache-2.0
"""Made-up sessions and their tables, made once for all tests, workers and runs, and laid into the project of a test.

They are kept below ``.cache`` by a hash of all that they follow from: the code that makes and tidies them, and what
their experiment and its services are defined as. A test tidies its project as ever, and finds every trial unchanged.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from harness.analysis.tables.tidy import tidy
from harness.definitions import load_study
from harness.import_closure import SOURCES, closure_sha256
from harness.model import ProfileName, Unavailable
from harness.session.planning import session_name
from harness.store import SessionFolder, Store
from harness.tests.support.synthetic import BOTH, ROOT, make_project, make_session

KEPT = ROOT / ".cache" / "tests" / "made-up"


class Told(TypedDict, total=False):
    """What ``make_session`` may be told beside experiment, profile and seed."""

    missing: int
    unavailable: Sequence[Unavailable]
    launcher: Literal["process", "container", "kubernetes"]
    settle_s: float


def lay_project(
    folder: Path, *, profile: ProfileName = "quick", experiments: tuple[str, ...] = BOTH, seed: int = 1
) -> Path:
    """Return the root of a project as ``make_project`` makes it; what tidying derives of its sessions is there too."""
    root = make_project(folder, profile=profile, experiments=())
    for experiment in experiments:
        lay_session(root, experiment, profile, seed)
    return root


def lay_session(
    root: Path, experiment: str, profile: ProfileName, seed: int = 1, **told: Unpack[Told]
) -> SessionFolder:
    """Lay a session as ``make_session`` makes it into a project, with its tables.

    The table of trials is that of this session alone: where the project has more of the experiment, tidying puts
    their rows together.
    """
    kept = _made(experiment, profile, seed, told)
    shutil.copytree(kept / "data", root / "data", dirs_exist_ok=True)
    return Store(root).session(
        experiment, session_name(profile, "local", told.get("launcher", "process"), seed)
    )


def _made(experiment: str, profile: ProfileName, seed: int, told: Told) -> Path:
    """The root of a project that has this one session, tidied."""
    words = repr(sorted(told.items()))
    name = f"{experiment}-{profile}-{seed}" + (f"-{_sha256(words)[:8]}" if told else "")
    root, made, of = KEPT / name, KEPT / f"{name}.made", _sha256(words, _code(), _definition(experiment))
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_file() or made.read_text() != of:
            made.unlink(missing_ok=True)
            shutil.rmtree(root, ignore_errors=True)
            make_session(root, experiment, profile, seed, **told)
            tidy(root, [experiment])
            made.write_text(of)
    return root


@cache
def _code() -> str:
    """A hash of the code that makes a session, and of that which derives its tables."""
    return closure_sha256(SOURCES, {make_session.__module__, tidy.__module__})


@cache
def _definition(experiment: str) -> str:
    return load_study(ROOT, experiment).model_dump_json()


def _sha256(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
