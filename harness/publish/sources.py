# SPDX-License-Identifier: Apache-2.0
"""Which sessions a paper rests on: when each was measured, and from which source as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from harness.analysis.stats.registration import ALTERED, changed_since
from harness.definitions import load_study
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model.formatting import NOT_MEASURED
from harness.project import has_commit
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher, slug
from harness.store import SessionFolder

#: As many signs of a commit as tell it apart for a reader.
SHORT = 12


def sources_table(publisher: Publisher, opened: Sequence[Evidence]) -> Published:
    """Publish the table ``session.sources`` (a row per session) and ``session.{count,days,sources,registered}``.

    Also ``<experiment>.day``, the day of each experiment's newest session. A commit that is not in this
    repository is named so: nobody can check it out.
    """
    rows: list[Mapping[str, Cell] | None] = []
    definitions = {one.experiment: _definition_now(publisher.root, one.experiment) for one in opened}
    states: dict[str, list[str]] = {}
    registered: list[tuple[str, tuple[str, ...] | None]] = []
    days = []
    for evidence in opened:
        for session in evidence.sessions:
            provenance = session.header.provenance
            days.append(day_of(session))
            commit = (provenance.commit or "not recorded")[:SHORT]
            changed = _changed(session, definitions[evidence.experiment])
            registered.append((evidence.experiment, changed))
            said = _doubt(publisher.root, provenance.commit, provenance.dirty)
            rows.append(
                {
                    "experiment": evidence.experiment,
                    "title": session.header.experiment.title,
                    "day": days[-1],
                    "commit": commit,
                    "changes": _CHANGES[provenance.dirty],
                    "found": _FOUND[_known(publisher.root, provenance.commit)],
                    "registered": _registered(changed),
                }
            )
            if said:
                states.setdefault(said, []).append(evidence.experiment)
    doubtful = [f"{', '.join(dict.fromkeys(names))}: {state}" for state, names in states.items()]
    with publisher.together():
        publisher.text("session.count", str(len(days)))
        publisher.text("session.days", " to ".join(dict.fromkeys((min(days), max(days)))))
        publisher.text("session.sources", "; ".join(doubtful) or NOT_MEASURED)
        publisher.text("session.registered", _registrations(registered))
        for evidence in opened:
            newest = max(evidence.sessions, key=lambda s: s.header.provenance.started_epoch_s)
            publisher.text(f"{slug(evidence.experiment)}.day", day_of(newest))
    return publisher.table(
        "session.sources",
        {"experiment": "experiment", "title": "what it is about", "day": "measured", "commit": "source",
         "changes": "changes", "found": "commit found",
         "registered": "registered"},
        rows,
        caption="Sessions, with the commit of the source that each was measured with, as recorded when it began. "
        "Changes: whether tracked files differed from the commit then. Commit found: whether this repository has it. "
        "Registered: whether plan, margins and rule of stopping were fixed with a hash before the first trial, which "
        "what is stored still has, and what has changed since.",
        wide=True,
        widths={"title": 0.28, "registered": 0.16},
    )  # fmt: skip


def day_of(session: SessionFolder) -> str:
    """Return the day (UTC) on which a session began."""
    started = datetime.fromtimestamp(session.header.provenance.started_epoch_s, UTC)
    return started.strftime("%Y-%m-%d")


_CHANGES = {None: "not recorded", True: "yes", False: "none"}
_FOUND = {None: "not known", True: "yes", False: "no"}


def _definition_now(root: Path, experiment: str) -> str | None:
    """The hash of an experiment's definition; None: there is none that can be read."""
    try:
        return load_study(root, experiment).definition_sha256
    except InputError:
        return None


def _changed(session: SessionFolder, definition_sha256: str | None) -> tuple[str, ...] | None:
    """What is no longer as a session registered it; None: it registered nothing."""
    if session.header.registration is None:
        return None
    return changed_since(session.stored_header(), definition_sha256)


def _registered(changed: tuple[str, ...] | None) -> str:
    return "no" if changed is None else "; changed since: ".join(filter(None, ("yes", "; ".join(changed))))


def _registrations(sessions: Sequence[tuple[str, tuple[str, ...] | None]]) -> str:
    """How many sessions registered their plan, in how many it is still what was hashed, and what changed since.

    Args:
        sessions: the experiment of each, with what is no longer as it was registered; None: nothing was.
    """
    registered = [(experiment, changed) for experiment, changed in sessions if changed is not None]
    if not registered:
        return "No session registered its plan before its first trial"
    n, same = len(registered), sum(ALTERED not in changed for _, changed in registered)
    since: dict[str, None] = {}
    for experiment, changed in registered:
        since |= dict.fromkeys([f"{experiment} ({'; '.join(changed)})"] if changed else [])
    return (
        f"{n} of {len(sessions)} sessions registered plan, margins and rule of stopping before the first trial; the "
        f"stored ones have the hash of then in {'all' if same == n else same} of them"
        f"{'; changed since: ' if since else ''}{', '.join(since)}"
    )


def _known(root: Path, commit: str | None) -> bool | None:
    return None if commit is None else has_commit(root, commit)


def _doubt(root: Path, commit: str | None, dirty: bool | None) -> str:
    """Say why the source of a session cannot be had again as it was; empty: nothing is known against it."""
    words = [
        {None: "not recorded whether it had changes", True: "measured with uncommitted changes"}.get(
            dirty, ""
        )
    ]
    words += ["of a commit that is not in this repository"] if _known(root, commit) is False else []
    return ", ".join(word for word in words if word)
