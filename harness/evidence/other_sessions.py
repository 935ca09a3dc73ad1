# SPDX-License-Identifier: Apache-2.0
"""The verdicts of one session of an experiment against those of its other sessions."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.session_agreement import SessionAgreement, agreement
from harness.errors import InputError
from harness.evidence.experiment import Evidence
from harness.evidence.results import results_of
from harness.store import SessionFolder, Store


def other_sessions(evidence: Evidence) -> tuple[Evidence, ...]:
    """Return the other complete sessions of the experiment with the same profile and host, the newest first.

    Sessions that come with the project are compared with each other, and measured ones with measured ones.
    """
    mine = {session.key for session in evidence.sessions}
    found: dict[float, SessionFolder] = {}
    for session in Store(evidence.root).sessions(evidence.experiment, bundled=evidence.bundled):
        try:
            plan = session.header.plan
            same = (plan.profile, plan.host) == (evidence.profile, evidence.header.plan.host)
            if session.key not in mine and same and session.complete:
                found[session.header.provenance.started_epoch_s] = session
        except InputError:  # its header is damaged: tidying reports that
            continue
    return tuple(_evidence(evidence.root, evidence.experiment, found[began]) for began in sorted(found)[::-1])


def session_agreement(evidence: Evidence, other: Evidence) -> SessionAgreement:
    """Return every verdict of ``rematch results`` in one session beside that in another.

    A variant is comparable where each of its trials, in both sessions, ran the same program on the same runtime.

    Raises:
        InputError: one of them is not tidied.
    """
    return agreement(_verdicts(evidence), _verdicts(other), changed=changed_programs(evidence, other))


def other_machine(evidence: Evidence, other: Evidence) -> str | None:
    """Return the processor and kernel of another session and of this one, in words; ``None``: they are the same.

    A virtual machine may get another processor, or another host, each time it is started: absolute times of the two
    sessions are then not comparable, and agreement of their verdicts says more. Settings of the kernel are told where
    both sessions have them and they differ.
    """
    mine, theirs = evidence.header.provenance.machine, other.header.provenance.machine
    differ = sorted(
        name
        for name in mine.settings.keys() & theirs.settings
        if mine.settings[name] != theirs.settings[name]
    )
    here, there = (
        ", ".join(
            (f"{one.cpu_model}, Linux {one.kernel}", *(f"{name} {one.settings[name]}" for name in differ))
        )
        for one in (mine, theirs)
    )
    return None if here == there else f"{there}; this one: {here}"


def changed_programs(evidence: Evidence, other: Evidence) -> tuple[str, ...]:
    """Return the variants of both sessions whose program or runtime is not the same in both."""
    here, there = _programs(evidence), _programs(other)
    return tuple(name for name in here if name in there and here[name] != there[name])


def _programs(evidence: Evidence) -> dict[str, set[tuple[str, str]]]:
    """Variant -> (SHA-256 of the artifact, version of the runtime) of its trials."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row, _, record in evidence.with_records():
        if record.instance is not None:
            found[str(row["variant"])].add(
                (record.instance.artifact_sha256, str(record.instance.runtime_version))
            )
    return dict(found)


def _verdicts(evidence: Evidence) -> list[Comparison]:
    return [
        row.comparison
        for one in results_of(evidence).metrics
        for cell in one.cells
        for row in cell.variants
        if row.comparison is not None
    ]


def _evidence(root: Path, experiment: str, session: SessionFolder) -> Evidence:
    return Evidence(root=root, experiment=experiment, sessions=(session,))
