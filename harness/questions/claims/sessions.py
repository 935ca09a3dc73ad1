# SPDX-License-Identifier: Apache-2.0
"""Which session of an experiment judges a claim: the newest complete one that conclusions may be drawn from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.analysis.tables.tidy import tidy
from harness.errors import InputError
from harness.evidence import Evidence
from harness.store import SessionFolder, Store

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
            session = None if bundled_only else _newest(root, experiment, bundled=False)
            session = session or _newest(root, experiment, bundled=True)
            opened[experiment] = None if session is None else _evidence(root, experiment, session)
        return opened[experiment]

    return open_evidence


def _newest(root: Path, experiment: str, *, bundled: bool) -> SessionFolder | None:
    begun: dict[float, SessionFolder] = {}
    for session in Store(root).sessions(experiment, bundled=bundled):
        try:
            if session.header.plan.profile != SMOKE and session.complete:
                begun[session.header.provenance.started_epoch_s] = session
        except InputError:  # its header is damaged: tidying reports that
            continue
    return begun[max(begun)] if begun else None


def _evidence(root: Path, experiment: str, session: SessionFolder) -> Evidence:
    tidy(root, [experiment], sources=["bundled" if session.bundled else "measured"])
    return Evidence(root=root, experiment=experiment, sessions=(session,))
