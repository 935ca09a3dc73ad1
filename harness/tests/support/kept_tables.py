# SPDX-License-Identifier: Apache-2.0
"""Tables of the sessions that come with the project, derived once a run and laid into the project of a test."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from harness.analysis.tables.layout import tables_folder
from harness.analysis.tables.tidy import tidy
from harness.tests.support.sessions import REPOSITORY
from harness.tests.support.shared import made_once


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
