# SPDX-License-Identifier: Apache-2.0
"""How long a stage will take: as long as it took before, or a guess from what it is."""

from __future__ import annotations

from harness.model import ClosedLoad, Load, OpenLoad, PlannedTrial
from harness.pipeline.fingerprint import Memory
from harness.pipeline.stage import Kind
from harness.store import SessionFolder

#: Seconds, until a stage has ended well here once and is known better.
_FIRST_GUESS_S: dict[str, float] = {"check": 20, "tidy": 20, "analysis": 30, "paper": 20}
#: Starting, checking, stopping and writing of one trial, and requests per second of a closed loop.
_TRIAL_OVERHEAD_S, _CLOSED_PER_S = 6.0, 5_000.0


def expected_s(memory: Memory | None, kind: Kind) -> float:
    """Return how long a stage will take: as long as last time, or a first guess."""
    return memory.took_s if memory else _FIRST_GUESS_S[kind]


def remaining_s(session: SessionFolder, trials: tuple[PlannedTrial, ...]) -> float:
    """Return the time the unfinished trials will take: as long as the finished ones, or by their load."""
    finished = session.finished() if session.exists else frozenset()
    todo = [trial for trial in trials if trial.trial_id not in finished]
    if len(finished) >= 3:
        took = [record.ended.monotonic_s - record.started.monotonic_s for record in session.records()]
        return len(todo) * sum(took) / len(took)
    return sum(_trial_s(trial) for trial in todo)


def _trial_s(trial: PlannedTrial) -> float:
    configuration = trial.configuration
    return (
        _TRIAL_OVERHEAD_S
        + configuration.idle_s
        + _load_s(configuration.load)
        + (configuration.warm_up_requests / 1000)
    )


def _load_s(load: Load | None) -> float:
    profile = load.profile if load else None
    if isinstance(profile, OpenLoad):
        return profile.whole_s
    if isinstance(profile, ClosedLoad):
        requests = profile.users * (profile.loops or 0)
        return profile.whole_s or profile.ramp_up_s + requests / _CLOSED_PER_S
    return 0.0
