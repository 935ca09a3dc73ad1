# SPDX-License-Identifier: Apache-2.0
"""What follows for a trial from the load it was to have: users who wait, or arrivals at a rate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.analysis.audit.checks import (
    COUNTED_TOLERANCE,
    LAW_TOLERANCE,
    SAME,
    AuditedTrial,
    TrialCheck,
    cannot,
    exact,
    judged,
    near,
    number_of,
)
from harness.analysis.audit.plan_audit import audit_plan
from harness.errors import InputError
from harness.model import ClosedLoad, OpenLoad

LAW = "throughput follows from users, loops, ramp, latency and time between"


def load_laws(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Yield every check against the trial's load profile."""
    return _closed(trial) if isinstance(trial.profile, ClosedLoad) else _open(trial)


def _closed(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Users who wait: how many requests, how many in flight, and how fast."""
    profile, load = trial.profile, trial.load
    assert isinstance(profile, ClosedLoad)
    each, why = trial.requests_each
    name = "requests are users times loops"
    if each is None:
        yield cannot(name, why)
    else:
        yield exact(name, profile.users * each, load.n_requests)
    yield _bound(trial, profile)
    if trial.settle_s:
        yield cannot(LAW, "the law is that of a whole load, and its head does not count")
    else:
        yield _law(trial, profile, each)


def _bound(trial: AuditedTrial, profile: ClosedLoad) -> TrialCheck:
    """There are never more requests in flight than users: throughput times latency is at most that."""
    name = "no more requests in flight than users"
    mean_s, throughput = number_of(trial, "latency_mean_s"), number_of(trial, "throughput_per_s")
    if mean_s is None or throughput is None:
        return cannot(name, "no mean latency is known")
    flight = throughput * mean_s
    held = flight <= profile.users * (1 + COUNTED_TOLERANCE)
    return judged(name, float(profile.users), flight, held, "at most ")


def _law(trial: AuditedTrial, profile: ClosedLoad, each: int | None) -> TrialCheck:
    """Throughput from users, loops, ramp, latency, and what users wait inside the generator.

    The law takes users for alike. Those who begin early find an emptier machine and are quicker, so that
    measured throughput may lie above it where the ramp is a large part of the load.
    """
    name = LAW
    mean_s, requests = number_of(trial, "latency_mean_s"), trial.requests
    if profile.stages:
        return cannot(name, "users come and go in stages")
    if requests is None:
        return cannot(name, "the time between requests is not known: the tool writes no single ones")
    if each is None:
        return cannot(name, "the requests of each user are not fixed")
    if mean_s is None or not mean_s > 0:
        return cannot(name, "no mean latency is known")
    try:
        gaps = trial.between
    except InputError as problem:
        return TrialCheck(name=name, result="failed", why=str(problem))
    think_s = 0.0 if gaps is None else min(profile.think_time_s, gaps.between_s)
    audit = audit_plan(
        threads=profile.users,
        loops=each,
        mean_response_s=mean_s,
        ramp_up_s=profile.ramp_up_s,
        think_time_s=think_s,
        between_s=None if gaps is None else gaps.between_s - think_s,
    )
    found = number_of(trial, "throughput_per_s")
    return near(name, audit.expected_throughput_per_s, found, LAW_TOLERANCE)


def _open(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Arrivals: what was to be offered was sent, or is counted as never sent; and at the rate it was to be."""
    profile, load = trial.profile, trial.load
    assert isinstance(profile, OpenLoad)
    whole_s = profile.parts * profile.duration_s
    planned = profile.rate_per_s * whole_s
    sent = load.n_requests if load.n_flows is None else load.n_flows
    name = "arrivals planned are arrivals sent and dropped"
    # Poisson arrivals are themselves random; even ones may lose one at each end of each part
    slack = 4 * np.sqrt(planned) if profile.arrivals == "poisson" else 2.0 * profile.parts
    arrived = sent + (load.n_dropped or 0)
    yield judged(name, planned, float(arrived), abs(arrived - planned) <= slack)
    name = "the rate that was reported is the rate that was asked for"
    if load.offered_per_s is None:
        yield cannot(name, "the tool does not tell")
    elif load.n_flows is None:
        yield near(name, profile.rate_per_s, load.offered_per_s, SAME)
    else:
        yield cannot(name, "of a flow requests are counted, not passes")
    name = "arrivals come within the time of the load"
    requests = trial.requests
    if requests is None or load.n_flows is not None:
        yield cannot(name, "the tool writes no single arrivals")
    else:
        span = float(np.ptp(requests["start_epoch_s"].to_numpy(dtype=np.float64)))
        yield judged(name, profile.whole_s, span, span <= profile.whole_s * (1 + LAW_TOLERANCE), "at most ")
