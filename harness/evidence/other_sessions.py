# SPDX-License-Identifier: Apache-2.0
"""The verdicts of one session of an experiment against those of its other sessions."""

from __future__ import annotations

from harness.analysis.stats.session_agreement import SessionAgreement, agreement
from harness.evidence.experiment import Evidence
from harness.evidence.results import verdicts_of


def session_agreement(evidence: Evidence, other: Evidence) -> SessionAgreement:
    """Return every verdict of ``rematch results`` in one session beside that in another.

    A variant is comparable where each of its trials, in both sessions, ran the same program on the same runtime.

    Raises:
        InputError: one of them is not tidied.
    """
    return agreement(verdicts_of(evidence), verdicts_of(other), changed=changed_programs(evidence, other))


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
    here, there = evidence.programs, other.programs
    return tuple(name for name in here if name in there and here[name] != there[name])
