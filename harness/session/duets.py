# SPDX-License-Identifier: Apache-2.0
"""Where a duet cannot be measured, and what becomes of a trial whose partner was recorded before an interruption."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import InputError
from harness.hosts.base import now
from harness.model import Experiment, Outcome, PlannedTrial, ProfileName, SessionHeader, TrialRecord
from harness.runner.duet_arm import failed_with
from harness.runner.pinning import place_two
from harness.session.wiring import Assembly


def refuse_duets_here(
    assembly: Assembly, experiment: Experiment, profile: ProfileName, launcher: str
) -> None:
    """Refuse a duet on far hosts, in containers and clusters, and on a machine that is too small.

    Raises:
        InputError: says why, and what is allowed.
    """
    if experiment.design_of(profile) != "duet":
        return
    place = f"{experiment.name}: design = 'duet'"
    if launcher != "process":
        raise InputError(
            "the threads of a container are not ours to move", place=place, found=f"--launcher {launcher}",
            allowed="--launcher process",
        )  # fmt: skip
    far = [
        item.name
        for item in (assembly.load_host, assembly.database_host)
        if item not in (None, assembly.host)
    ]
    if not assembly.host.here or far:
        raise InputError(
            "CPUs are exchanged on this machine only", place=place, found=far[0] if far else assembly.host.name,
            allowed="--host local, without other hosts",
        )  # fmt: skip
    placed, _ = place_two(assembly.cpus, experiment.exchange_s, assembly.cores)
    n_cpus = len(placed.service or ())
    for name, variant in experiment.variants.items():
        if variant.runtime.cpus not in (None, n_cpus):
            raise InputError(
                "each arm of a duet has half of the CPUs", place=f"{experiment.name}: variants.{name}.runtime.cpus",
                found=variant.runtime.cpus, allowed=f"{n_cpus} on this machine, or leave it out",
            )  # fmt: skip


def by_start(trials: Iterable[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Return the trials by what is started together: those that share a process, and the two of a duet."""
    groups: dict[str, list[PlannedTrial]] = {}
    for trial in trials:
        groups.setdefault(trial.process_of or trial.pair, []).append(trial)
    return list(groups.values())


def lost_partner(trial: PlannedTrial, header: SessionHeader) -> TrialRecord:
    """Return the record of a trial that was lost by an interruption after its partner was recorded.

    It cannot be made again: a duet is two loads over the same seconds.
    """
    when = now()
    seat = trial.duet
    partner = seat.partner if seat is not None else ""
    return TrialRecord(
        experiment=header.experiment.name,
        session_id=header.session_id,
        planned=trial,
        outcome=Outcome.FAILED,
        reason=failed_with(partner, "recorded before the session was interrupted"),
        started=when,
        ended=when,
    )


__all__ = ["by_start", "lost_partner", "refuse_duets_here"]
