# SPDX-License-Identifier: Apache-2.0
"""Made-up sessions, bundled ones, and their tables: made once a run and laid into the project of a test."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from harness.analysis.tables.layout import tables_folder
from harness.analysis.tables.tidy import tidy
from harness.measure.session.planning import session_name
from harness.model import ProfileName, Unavailable
from harness.store import SessionFolder, Store
from harness.tests.support.available import made_once
from harness.tests.support.sessions import REPOSITORY
from harness.tests.support.synthetic import BOTH, make_project, make_session


class Options(TypedDict, total=False):
    """Arguments of ``make_session`` beside experiment, profile and seed."""

    missing: int
    unavailable: Sequence[Unavailable]
    launcher: Literal["process", "kubernetes"]
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
    root: Path, experiment: str, profile: ProfileName, seed: int = 1, **options: Unpack[Options]
) -> SessionFolder:
    """Lay a session as ``make_session`` makes it into a project, with its tables."""

    def make(made: Path) -> None:
        make_session(made, experiment, profile, seed, **options)
        tidy(made, [experiment])

    words = hashlib.sha256(repr(sorted(options.items())).encode()).hexdigest()[:8]
    made = made_once(f"{experiment}-{profile}-{seed}-{words}", make)
    shutil.copytree(made / "data", root / "data", dirs_exist_ok=True)
    return Store(root).session(
        experiment, session_name(profile, "local", options.get("launcher", "process"), seed)
    )


def lay_tables(root: Path, *experiments: str) -> None:
    """Lay the tables of these experiments' bundled sessions into a project that has none of them yet."""
    for experiment in experiments:
        derived = made_once(f"tables-{experiment}", partial(_derive, experiment=experiment))
        shutil.copytree(
            tables_folder(derived, experiment, "bundled"), tables_folder(root, experiment, "bundled")
        )


def _derive(folder: Path, experiment: str) -> None:
    (folder / "data" / "raw").mkdir(parents=True)
    (folder / "data" / "raw" / "bundled").symlink_to(REPOSITORY / "data" / "raw" / "bundled")
    tidy(folder, [experiment], sources=["bundled"])


def make_claims_project(root: Path, *sessions: str) -> Path:
    """Lay out this project's ledgers, published tables and definitions; ``sessions``: bundled sessions by experiment."""
    (root / "harness/model").mkdir(parents=True)
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    for folder in ("harness/experiments", "data/published"):
        shutil.copytree(REPOSITORY / folder, root / folder)
    (root / "paper").mkdir()
    shutil.copy(REPOSITORY / "paper/references.bib", root / "paper")
    for name in sessions:
        shutil.copytree(REPOSITORY / "data/raw/bundled" / name, root / "data/raw/bundled" / name)
    lay_tables(root, *sessions)
    return root
