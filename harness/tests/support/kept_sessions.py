# SPDX-License-Identifier: Apache-2.0
"""Made-up sessions and their tables, made once a run and laid into the project of a test."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from harness.analysis.tables.tidy import tidy
from harness.measure.session.planning import session_name
from harness.model import ProfileName, Unavailable
from harness.store import SessionFolder, Store
from harness.tests.support.shared import made_once
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
