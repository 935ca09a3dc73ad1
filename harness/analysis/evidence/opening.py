# SPDX-License-Identifier: Apache-2.0
"""From the parameters of a notebook to the evidence it reads: which sessions of an experiment are meant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.parameters import ALL, StageParameters
from harness.analysis.evidence.sessions import is_chosen, sessions_read
from harness.analysis.tables.layout import Source, load_exclusions
from harness.analysis.tables.tidy import tidy
from harness.definitions import experiment_files
from harness.errors import InputError
from harness.model.formatting import NOT_MEASURED
from harness.project import find_root
from harness.store import SessionFolder, Store


def open_evidence(settings: StageParameters, experiment: str, *, root: Path | None = None) -> Evidence:
    """Open what was measured of an experiment under these parameters, and print which sessions that is. Raises
    InputError: nothing was measured yet. ``sample``: what comes with the project; ``newest``: the newest complete
    session measured here, else the sample. Tables that are not there yet are derived first, so that a notebook can be
    opened alone."""
    project = root or find_root()
    sessions = sessions_read(project, settings, experiment)
    if not sessions:
        raise InputError(
            "nothing measured yet; run notebooks/10-measure.ipynb, or set profile to newest or sample",
            place=experiment,
            found=f"profile {settings.profile}, host {settings.host}, seed {settings.seed}",
        )
    evidence = Evidence(root=project, experiment=experiment, sessions=sessions)
    began = datetime.fromtimestamp(evidence.header.provenance.started_epoch_s, UTC)
    names = ", ".join(session.folder.name for session in evidence.sessions)
    where = "sample data of the project" if evidence.bundled else "measured here"
    print(f"{experiment}: {where}, session {names} of {began:%Y-%m-%d}", flush=True)
    make_tables(evidence)
    return evidence


def tidied(root: Path, session: SessionFolder) -> Evidence:
    """Bring the tables of a session up to date, without a word, and return its evidence."""
    experiment = session.folder.parent.name
    tidy(root, [experiment], sources=["bundled" if session.bundled else "measured"])
    return Evidence(root=root, experiment=experiment, sessions=(session,))


def find_evidence(settings: StageParameters, experiment: str, *, root: Path | None = None) -> Evidence | None:
    """Open what was measured of an experiment; ``None``: nothing was, or it is not among the chosen ones: for notebooks
    that say so instead of failing. Raises InputError: an experiment that was named does not exist."""
    project = root or find_root()
    known = dict.fromkeys(experiment_files(project))
    if settings.experiments != ALL and not set(settings.names) <= set(known):
        recorded = sorted({session.folder.parent.name for session in Store(project).sessions()})
        settings.chosen(tuple(known | dict.fromkeys(recorded)))  # refuses what neither of them has
    if not is_chosen(settings, experiment):
        print(f"{experiment}: not among the experiments that were named", flush=True)
    elif not sessions_read(project, settings, experiment):
        print(f"{experiment}: {NOT_MEASURED}", flush=True)
    else:
        return open_evidence(settings, experiment, root=project)
    return None


def make_tables(evidence: Evidence) -> None:
    """Derive the tables of an experiment when trials were made since they were derived, or they never were."""
    source: Source = "bundled" if evidence.bundled else "measured"
    sessions = Store(evidence.root).sessions(evidence.experiment, bundled=evidence.bundled)
    n_made = sum(_n_finished(session) for session in sessions)
    try:
        if load_exclusions(evidence.root, evidence.experiment, source=source).n_made == n_made:
            return
    except InputError:  # not derived yet
        pass
    print(f"{evidence.experiment}: reading {n_made} trials, once", flush=True)
    tidy(evidence.root, [evidence.experiment], sources=[source])


def _n_finished(session: SessionFolder) -> int:
    try:
        return len(session.finished())
    except InputError:  # its header is damaged: tidying counts nothing of it either
        return 0
