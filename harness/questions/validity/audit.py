# SPDX-License-Identifier: Apache-2.0
"""The audit of our own sessions: every kept trial of every experiment, and a control that must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from harness.analysis.audit.checks import AuditedTrial, TrialCheck
from harness.analysis.audit.trial_checks import audit_trial
from harness.analysis.stats.pairing import inputs_of
from harness.analysis.tables.trial_files import read_restored
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model import ClosedLoad

COLUMNS = (
    "experiment", "session_id", "source", "trial_id", "variant", "generator", "check", "result", "expected", "found",
    "why",
)  # fmt: skip
_OF_TRIAL = ("session_id", "source", "trial_id", "variant", "generator")

#: part of a key -> the word in the table of checks
PARTS = {"held": "held", "failed": "failed", "not_applicable": "not applicable"}
#: The experiments whose sessions are audited, where they were measured.
AUDITED = (
    "strings-rounds", "strings-payload", "bank-rematch", "clients-hello", "aa", "headroom", "gc-peaks",
)  # fmt: skip
NONE_FAILED = "none"

#: What is done to a trial, and the trial with it; ``None``: it cannot be done to this one.
Alteration = Callable[[AuditedTrial], AuditedTrial | None]


class Audit(NamedTuple):
    """What the audit found. Each trial is read once for all three.

    Attributes:
        checks: one row per check: ``COLUMNS``; ``result`` is held, failed or not applicable, ``why`` says why not.
        control: the first trial of each experiment, altered in every way that applies: ``experiment``,
            ``alteration``, ``noticed`` (a check that held before fails now), ``by`` (its name).
        between: experiment -> trial -> the share of a user's cycle that was spent inside the generator, not with
            the service; of closed loads whose users send a fixed number of requests and whose tool writes single
            ones.
    """

    checks: pd.DataFrame
    control: pd.DataFrame
    between: dict[str, dict[str, float]]


def audit_sessions(measured: Mapping[str, Evidence | None]) -> Audit:
    """Audit every kept trial that had a load, of every experiment that was measured."""
    checks: list[dict[str, object]] = []
    control: list[dict[str, object]] = []
    between: dict[str, dict[str, float]] = {name: {} for name in measured}
    for name, evidence in measured.items():
        for number, trial in enumerate(() if evidence is None else audited_trials(evidence)):
            found = audit_trial(trial)
            of_trial = {"experiment": name} | {column: trial.row[column] for column in _OF_TRIAL}
            checks += [
                of_trial
                | {"check": one.name}
                | one.model_dump(include={"result", "expected", "found", "why"})
                for one in found
            ]
            if number == 0:
                control += [{"experiment": name} | row for row in _altered(trial, found)]
            share = _share_between(trial)
            if share is not None:
                (key,) = inputs_of(pd.DataFrame([trial.row]))
                between[name][key] = share
    return Audit(
        pd.DataFrame(checks, columns=list(COLUMNS)),
        pd.DataFrame(control, columns=["experiment", "alteration", "noticed", "by"]),
        between,
    )


def _altered(trial: AuditedTrial, checks: tuple[TrialCheck, ...]) -> Iterator[dict[str, object]]:
    held = {check.name for check in checks if check.result == "held"}
    for words, alter in ALTERATIONS.items():
        altered = alter(trial)
        if altered is not None:
            failed = [c.name for c in audit_trial(altered) if c.result == "failed" and c.name in held]
            yield {"alteration": words, "noticed": bool(failed), "by": "; ".join(failed)}


def _share_between(trial: AuditedTrial) -> float | None:
    try:
        gaps = trial.between
    except InputError:  # more requests than these users send: the audit has said so
        return None
    if gaps is None or trial.requests is None or not isinstance(trial.profile, ClosedLoad):
        return None
    wait_s = max(gaps.between_s - trial.profile.think_time_s, 0.0)
    return wait_s / (wait_s + float(trial.requests["latency_s"].to_numpy().mean()))


def audited_trials(evidence: Evidence) -> Iterator[AuditedTrial]:
    """Yield every kept trial that had a load, duplicates too, with its record and its requests."""
    sessions = {session.folder.name: session for session in evidence.sessions}
    for row in evidence.trials.to_dict("records"):
        if row["excluded"]:
            continue
        session_id, trial_id = str(row["session_id"]), str(row["trial_id"])
        record = sessions[session_id].record(trial_id)
        planned = record.planned.configuration.load
        if record.load is None or planned is None or record.load.duration_s <= 0:
            continue
        yield AuditedTrial(
            row={str(name): value for name, value in row.items()},
            load=record.load,
            profile=planned.profile,
            requests=evidence.whole_requests(session_id, trial_id),
            settle_s=sessions[session_id].header.settle_s,
            histogram=read_restored(sessions[session_id], record),
        )


def _faster(trial: AuditedTrial) -> AuditedTrial:
    return replace(
        trial, row={**trial.row, "throughput_per_s": 1.2 * float(str(trial.row["throughput_per_s"]))}
    )


def _wrong_unit(trial: AuditedTrial) -> AuditedTrial | None:
    histogram = trial.histogram
    if histogram is not None:
        return replace(trial, histogram=replace(histogram, value_us=1000 * histogram.value_us))
    if trial.requests is None:
        return None
    return replace(trial, requests=trial.requests.assign(latency_s=trial.requests["latency_s"] * 1e3))


def _lost(trial: AuditedTrial) -> AuditedTrial | None:
    histogram = trial.histogram
    if histogram is not None:
        count = histogram.count.copy()
        count[0] -= 1
        return replace(trial, histogram=replace(histogram, count=count))
    return None if trial.requests is None else replace(trial, requests=trial.requests.iloc[1:])


def _untold(trial: AuditedTrial) -> AuditedTrial:
    return replace(trial, load=trial.load.model_copy(update={"n_errors": trial.load.n_errors + 1}))


def _other_plan(trial: AuditedTrial) -> AuditedTrial | None:
    profile = trial.profile
    if not isinstance(profile, ClosedLoad):
        return replace(trial, profile=profile.model_copy(update={"rate_per_s": 1.2 * profile.rate_per_s}))
    if profile.loops is None:
        return None
    return replace(trial, profile=profile.model_copy(update={"users": profile.users + 1}))


ALTERATIONS: Mapping[str, Alteration] = {
    "throughput a fifth too high": _faster,
    "single latencies in another unit": _wrong_unit,
    "one request lost": _lost,
    "one wrong answer not told": _untold,
    "another plan: one user more, or a fifth more arrivals": _other_plan,
}
