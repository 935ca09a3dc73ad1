# SPDX-License-Identifier: Apache-2.0
"""Which sessions belong to a notebook's parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.analysis.evidence.parameters import ALL, StageParameters
from harness.definitions import experiment_files, load_study, usual_launcher
from harness.errors import InputError
from harness.store import SessionFolder, Store

#: Measured first: README and abstract answer from it, and a run that is interrupted later has it.
HEADLINE = "strings-warm"


def session_of(root: Path, settings: StageParameters, experiment: str) -> SessionFolder:
    """Return the session that these parameters measure or resume: with the launcher that the experiment names."""
    launcher = usual_launcher(root, experiment)
    place = settings.host if launcher == "process" else f"{settings.host}-{launcher}"
    return Store(root).session(experiment, f"{settings.profile}-{place}-{settings.seed}")


def sessions_read(root: Path, settings: StageParameters, experiment: str) -> tuple[SessionFolder, ...]:
    """Return the session an analysis reads: the measured one; of the profile ``sample`` the newest of those that come
    with the project (:func:`newest_session`), of ``newest`` the newest measured here, else that. Sessions are not
    pooled: what differs between them is no scatter of blocks."""
    if not settings.newest and not settings.bundled:
        session = session_of(root, settings, experiment)
        return (session,) if session.exists else ()
    newest = newest_session(root, experiment) if settings.newest else None
    newest = newest or newest_session(root, experiment, bundled=True)
    # where none of the bundled ones is complete, all of them
    return Store(root).sessions(experiment, bundled=True) if newest is None else (newest,)


def newest_session(
    root: Path, experiment: str, *, bundled: bool = False, without: str | None = None
) -> SessionFolder | None:
    """Return the complete session of any profile, host and seed that was begun last; ``None``: there is none. Of those
    that come with the project the newest undisturbed one, where there is one.

    Args:
        bundled: of those that come with the project, not of those measured here.
        without: a profile whose sessions are left out.
    """
    complete = complete_sessions(Store(root).sessions(experiment, bundled=bundled))
    newest_first = [session for session in complete if session.header.plan.profile != without]
    if bundled and len(newest_first) > 1:
        # What was measured here is what its owner wants to see, whatever the machine did.
        return next((session for session in newest_first if not session.disturbed), newest_first[0])
    return newest_first[0] if newest_first else None


def complete_sessions(sessions: Iterable[SessionFolder]) -> list[SessionFolder]:
    """Return those of the sessions that are complete, the newest first; of a damaged header tidying reports."""
    begun: dict[float, SessionFolder] = {}
    for session in sessions:
        try:
            if session.complete:
                begun[session.header.provenance.started_epoch_s] = session
        except InputError:
            continue
    return [begun[epoch_s] for epoch_s in sorted(begun, reverse=True)]


def named_session(present: Sequence[SessionFolder], name: str, *, place: str) -> SessionFolder:
    """Return the session of this name, with or without ``bundled/`` before it. Raises InputError: there is none."""
    keys = {session.key.replace(f"{session.folder.parent.name}/", ""): session for session in present}
    named = [session for key, session in keys.items() if name in (key, session.folder.name)]
    if not named:
        raise InputError("no such session", place=place, found=name, allowed=", ".join(keys))
    return named[0]


def is_chosen(settings: StageParameters, experiment: str) -> bool:
    """Whether an experiment is among those that were named, or all were."""
    return settings.experiments == ALL or experiment in settings.names


def measured_experiments(root: Path, settings: StageParameters) -> tuple[str, ...]:
    """Return those of the chosen experiments that have a session under these parameters, by name."""
    recorded = _experiments(root, None if settings.newest else settings.bundled)
    chosen = (name for name in recorded if is_chosen(settings, name))
    return tuple(sorted(name for name in chosen if sessions_read(root, settings, name)))


def chosen_experiments(root: Path, settings: StageParameters) -> tuple[str, ...]:
    """Return the named experiments, or all that have a place in the paper. Raises InputError: an unknown name."""
    if settings.bundled:
        return settings.chosen(_experiments(root, bundled=True))
    known = tuple(experiment_files(root))
    if settings.newest:
        return settings.chosen(measured_experiments(root, settings) if settings.experiments == ALL else known)
    if settings.experiments != ALL:
        return settings.chosen(known)
    measured = [
        name for name in known if load_study(root, name).experiment.measured_unasked(settings.profile)
    ]
    return tuple(sorted(measured, key=lambda name: name != HEADLINE))


def _experiments(root: Path, bundled: bool | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s.folder.parent.name for s in Store(root).sessions(bundled=bundled)))
