# SPDX-License-Identifier: Apache-2.0
"""The audit of our own sessions: every kept trial of every experiment, and a control that shows it bites."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pandas as pd

from harness.analysis.audit.checks import AuditedTrial
from harness.analysis.audit.generator_gap import time_between
from harness.analysis.audit.littles_law import requests_each
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

#: What is done to a trial, and the trial with it; ``None``: it cannot be done to this one.
Alteration = Callable[[AuditedTrial], AuditedTrial | None]


def audit_sessions(measured: Mapping[str, Evidence | None]) -> pd.DataFrame:
    """Audit every kept trial that had a load, of every experiment that was measured.

    Returns:
        One row per check: ``COLUMNS``; ``result`` is held, failed or not applicable, ``why`` says why not.
    """
    rows = [
        {
            "experiment": name, "session_id": trial.row["session_id"], "source": trial.row["source"],
            "trial_id": trial.row["trial_id"], "variant": trial.row["variant"],
            "generator": trial.row["generator"], "check": check.name, "result": check.result,
            "expected": check.expected, "found": check.found, "why": check.why,
        }
        for name, evidence in measured.items()
        if evidence is not None
        for trial in audited_trials(evidence)
        for check in audit_trial(trial)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


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


def audit_control(measured: Mapping[str, Evidence | None]) -> pd.DataFrame:
    """Alter the first trial of each experiment in every way that applies, and audit it again.

    Returns:
        One row per experiment and alteration: ``experiment``, ``alteration``, ``noticed`` (a check that held
        before fails now), ``by`` (its name).
    """
    rows = []
    for name, evidence in measured.items():
        first = None if evidence is None else next(audited_trials(evidence), None)
        if first is None:
            continue
        held = {check.name for check in audit_trial(first) if check.result == "held"}
        for words, alter in ALTERATIONS.items():
            altered = alter(first)
            if altered is not None:
                failed = [c.name for c in audit_trial(altered) if c.result == "failed" and c.name in held]
                rows.append(
                    {
                        "experiment": name,
                        "alteration": words,
                        "noticed": bool(failed),
                        "by": "; ".join(failed),
                    }
                )
    return pd.DataFrame(rows, columns=["experiment", "alteration", "noticed", "by"])


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


def between_shares(evidence: Evidence | None) -> dict[str, float]:
    """Return trial -> the share of a user's cycle that was spent inside the generator, not with the service.

    Of closed loads whose users send a fixed number of requests and whose tool writes single ones; empty
    where there is none.
    """
    found: dict[str, float] = {}
    for trial in () if evidence is None else audited_trials(evidence):
        each, _ = requests_each(trial)
        if trial.requests is None or each is None or not isinstance(trial.profile, ClosedLoad):
            continue
        start, latency = (trial.requests[name].to_numpy() for name in ("start_epoch_s", "latency_s"))
        users, ramp_up_s = trial.profile.users, trial.profile.ramp_up_s
        try:
            gaps = time_between(start, latency, users=users, requests_each=each, ramp_up_s=ramp_up_s)
        except InputError:
            continue  # more requests than these users send: the audit has said so
        if gaps is not None:
            wait_s = max(gaps.between_s - trial.profile.think_time_s, 0.0)
            (key,) = inputs_of(pd.DataFrame([trial.row]))
            found[key] = wait_s / (wait_s + float(latency.mean()))
    return found
