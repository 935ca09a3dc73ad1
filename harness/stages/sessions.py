# SPDX-License-Identifier: Apache-2.0
"""Which sessions belong to a notebook's parameters."""

from __future__ import annotations

from pathlib import Path

from harness.stages.parameters import StageParameters
from harness.store import SessionFolder, Store


def session_of(root: Path, settings: StageParameters, experiment: str) -> SessionFolder:
    """Return the session that these parameters measure or resume."""
    return Store(root).session(experiment, f"{settings.profile}-{settings.host}-{settings.seed}")


def sessions_read(root: Path, settings: StageParameters, experiment: str) -> tuple[SessionFolder, ...]:
    """Return the sessions an analysis reads: the measured one, or those that come with the project."""
    if settings.bundled:
        return Store(root).sessions(experiment, bundled=True)
    session = session_of(root, settings, experiment)
    return (session,) if session.exists else ()
