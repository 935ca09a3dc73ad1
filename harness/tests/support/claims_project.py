# SPDX-License-Identifier: Apache-2.0
"""A project with this one's ledgers, published tables and definitions, and bundled sessions where they are named."""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.sessions import REPOSITORY


def make_claims_project(root: Path, *sessions: str) -> Path:
    """Lay it out in an empty folder and return that. ``sessions``: experiments whose bundled sessions are copied."""
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
