# SPDX-License-Identifier: Apache-2.0
"""Which session of an experiment judges claims: the one that the paper reads, if conclusions may be drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.analysis.tables.tidy import tidy
from harness.evidence import Evidence
from harness.evidence.sessions import newest_session
from harness.store import SessionFolder

#: Checks that everything works; nothing is concluded from it.
SMOKE = "smoke"


def newest_evidence(root: Path, *, bundled_only: bool = False) -> Callable[[str], Evidence | None]:
    """Return what opens an experiment's newest complete session measured here, else the newest bundled one.

    Sessions of the profile ``smoke`` are left out. Tables are brought up to date first, once an experiment.

    Args:
        bundled_only: leave out what was measured here.
    """
    opened: dict[str, Evidence | None] = {}

    def open_evidence(experiment: str) -> Evidence | None:
        if experiment not in opened:
            session = None if bundled_only else newest_session(root, experiment, without=SMOKE)
            session = session or newest_session(root, experiment, bundled=True, without=SMOKE)
            opened[experiment] = None if session is None else _evidence(root, experiment, session)
        return opened[experiment]

    return open_evidence


def _evidence(root: Path, experiment: str, session: SessionFolder) -> Evidence:
    tidy(root, [experiment], sources=["bundled" if session.bundled else "measured"])
    return Evidence(root=root, experiment=experiment, sessions=(session,))
