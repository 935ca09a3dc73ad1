# SPDX-License-Identifier: Apache-2.0
"""Does the arithmetic of one measured trial hold together? Totals, ratios, Little's law, and the law of its load.

A check that cannot be made says why and is neither held nor failed. What is compared was computed in different
ways: the row of the table against single requests, the record against the plan, the plan against both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.audit import audit_plan
from harness.analysis.between import time_between
from harness.analysis.quantiles import rank
from harness.errors import InputError
from harness.model import ClosedLoad, Frozen, LoadProfile, LoadSummary, OpenLoad

#: Of the laws, as a share: users are not alike, and means stand for all of them.
LAW_TOLERANCE = 0.10
#: Of Little's law, counted at even instants.
COUNTED_TOLERANCE = 0.05
INSTANTS = 100_000
LAW = "throughput follows from users, loops, ramp, latency and time between"
#: Of what is one number written twice.
SAME = 1e-6

Result = Literal["held", "failed", "not applicable"]


class TrialCheck(Frozen):
    """One check of one trial. ``expected``, ``found`` None: it could not be made, see ``why``."""

    name: str
    result: Result
    expected: float | None = None
    found: float | None = None
    why: str = Field(default="", description="why it could not be made; of a failure, both numbers")


@dataclass(frozen=True, kw_only=True)
class AuditedTrial:
    """What is known of a trial in three ways: its row in ``trials.parquet``, its record's load, its requests."""

    row: Mapping[str, object]
    load: LoadSummary
    profile: LoadProfile
    requests: pd.DataFrame | None


def audit_trial(trial: AuditedTrial) -> tuple[TrialCheck, ...]:
    """Return every check of one trial, those that cannot be made too."""
    law = _closed(trial) if isinstance(trial.profile, ClosedLoad) else _open(trial)
    return (*_totals(trial), *_ratios(trial), *_little(trial), *law)


def _totals(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Totals equal their parts, and the rows are the requests that the record counts."""
    load, requests = trial.load, trial.requests
    yield _exact("the table counts the requests of the record", load.n_requests, _of(trial, "n_requests"))
    name = "rows are the requests, wrong ones too"
    if requests is None:
        yield _cannot(name, "the tool writes no single requests")
    else:
        right, wrong = int(requests["ok"].sum()), int((~requests["ok"].astype(bool)).sum())
        yield _exact(f"{name}: right", load.n_requests - load.n_errors, right)
        yield _exact(f"{name}: wrong", load.n_errors, wrong)
    name = "requests by name add up"
    if not load.answers:
        yield _cannot(name, "the record has no counts by name")
    else:
        yield _exact(f"{name}: sent", load.n_requests, sum(a.n_requests for a in load.answers.values()))
        yield _exact(
            f"{name}: right", load.n_requests - load.n_errors, sum(a.n_right for a in load.answers.values())
        )


def _ratios(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """A ratio is what its words say, computed from the parts again."""
    load, profile = trial.load, trial.profile
    paused_s = profile.paused_s if isinstance(profile, OpenLoad) else 0.0
    asked_s = load.duration_s - paused_s
    n_right = load.n_requests - load.n_errors
    yield _near(
        "throughput is right answers over time", n_right / asked_s, _of(trial, "throughput_per_s"), SAME
    )
    cpu_s, cores = _of(trial, "cpu_s_per_request"), _of(trial, "service_cores")
    name = "CPU time per request times requests is the service's CPU time"
    if cpu_s is None or cores is None:
        yield _cannot(name, "the service's CPU time is not known")
    else:
        # the window may be cut at the edges of the measurement's own phase
        yield _near(name, cores * load.duration_s, cpu_s * load.n_requests, LAW_TOLERANCE)
    headroom, echo = _of(trial, "headroom_ratio"), _of(trial, "echo_per_s")
    name = "headroom is the echo's rate over that of the trial"
    if headroom is None or echo is None:
        yield _cannot(name, "the generator's own limit is not known")
    else:
        yield _near(name, echo / load.achieved_per_s, headroom, SAME)


def _little(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Requests in flight: throughput times latency, counted from the rows at even instants."""
    names = (
        "mean latency is that of the rows",
        "p99 is that of the rows",
        "Little's law, counted in the rows",
    )
    if trial.requests is None or not trial.requests["ok"].any():
        yield from (_cannot(name, "the tool writes no single requests") for name in names)
        return
    ok = trial.requests[trial.requests["ok"].astype(bool)]
    start, latency = (ok[name].to_numpy(dtype=np.float64) for name in ("start_epoch_s", "latency_s"))
    yield _near(names[0], float(latency.mean()), _of(trial, "latency_mean_s"), SAME)
    p99 = _of(trial, "latency_p99_s")
    if p99 is None:
        yield _cannot(names[1], "too few requests beyond it")
    else:
        yield _near(names[1], float(np.sort(latency)[rank(latency.size, 0.99) - 1]), p99, SAME)
    mean_s = _of(trial, "latency_mean_s")
    if mean_s is None:
        yield _cannot(names[2], "no mean latency is known")
        return
    counted = in_flight(start, latency)
    yield _near(names[2], counted, ok.shape[0] / trial.load.duration_s * mean_s, COUNTED_TOLERANCE)


def in_flight(start_s: np.ndarray, latency_s: np.ndarray) -> float:
    """Return how many requests overlap on average, counted at ``INSTANTS`` even instants of the load."""
    begins, ends = np.sort(start_s), np.sort(start_s + latency_s)
    step = (ends[-1] - begins[0]) / INSTANTS
    at = begins[0] + step * (np.arange(INSTANTS) + 0.5)
    return float(np.mean(np.searchsorted(begins, at, "right") - np.searchsorted(ends, at, "right")))


def _closed(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Users who wait: how many requests, how many in flight, and how fast."""
    profile, load = trial.profile, trial.load
    assert isinstance(profile, ClosedLoad)
    each, why = requests_each(trial)
    name = "requests are users times loops"
    if each is None:
        yield _cannot(name, why)
    else:
        yield _exact(name, profile.users * each, load.n_requests)
    yield _bound(trial, profile)
    yield _law(trial, profile, each)


def requests_each(trial: AuditedTrial) -> tuple[int | None, str]:
    """Return how many requests each user sends; ``None`` with the reason where that is not fixed."""
    profile, load = trial.profile, trial.load
    if not isinstance(profile, ClosedLoad) or profile.loops is None:
        return None, "the load ends after a time, not after loops"
    if load.n_flows is None:
        return profile.loops, ""
    if load.n_flows_right != load.n_flows or load.n_errors:
        return None, "passes ended at their first wrong answer"
    if not load.n_flows or load.n_requests % load.n_flows:
        return None, "passes differ in length"
    return profile.loops * (load.n_requests // load.n_flows), ""


def _bound(trial: AuditedTrial, profile: ClosedLoad) -> TrialCheck:
    """There are never more requests in flight than users: throughput times latency is at most that."""
    name = "no more requests in flight than users"
    mean_s, throughput = _of(trial, "latency_mean_s"), _of(trial, "throughput_per_s")
    if mean_s is None or throughput is None:
        return _cannot(name, "no mean latency is known")
    flight = throughput * mean_s
    held = flight <= profile.users * (1 + COUNTED_TOLERANCE)
    return _said(name, float(profile.users), flight, held, "at most ")


def _law(trial: AuditedTrial, profile: ClosedLoad, each: int | None) -> TrialCheck:
    """Throughput from users, loops, ramp, latency, and what users wait inside the generator.

    The law takes users for alike. Those who begin early find an emptier machine and are quicker, so that
    measured throughput may lie above it where the ramp is a large part of the load.
    """
    name = LAW
    mean_s, requests = _of(trial, "latency_mean_s"), trial.requests
    if profile.stages:
        return _cannot(name, "users come and go in stages")
    if requests is None:
        return _cannot(name, "the time between requests is not known: the tool writes no single ones")
    if each is None:
        return _cannot(name, "the requests of each user are not fixed")
    if mean_s is None or not mean_s > 0:
        return _cannot(name, "no mean latency is known")
    try:
        gaps = time_between(
            requests["start_epoch_s"].to_numpy(),
            requests["latency_s"].to_numpy(),
            users=profile.users,
            requests_each=each,
            ramp_up_s=profile.ramp_up_s,
            resolution_s=trial.load.resolution_s,
        )
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
    found = _of(trial, "throughput_per_s")
    return _near(name, audit.expected_throughput_per_s, found, LAW_TOLERANCE)


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
    yield _said(name, planned, float(arrived), abs(arrived - planned) <= slack)
    name = "the rate that was reported is the rate that was asked for"
    if load.offered_per_s is None:
        yield _cannot(name, "the tool does not tell")
    elif load.n_flows is None:
        yield _near(name, profile.rate_per_s, load.offered_per_s, SAME)
    else:
        yield _cannot(name, "of a flow requests are counted, not passes")
    name = "arrivals come within the time of the load"
    requests = trial.requests
    if requests is None or load.n_flows is not None:
        yield _cannot(name, "the tool writes no single arrivals")
    else:
        span = float(np.ptp(requests["start_epoch_s"].to_numpy(dtype=np.float64)))
        yield _said(name, profile.whole_s, span, span <= profile.whole_s * (1 + LAW_TOLERANCE), "at most ")


def _of(trial: AuditedTrial, column: str) -> float | None:
    value = trial.row.get(column)
    return None if value is None or pd.isna(value) else float(value)  # type: ignore[arg-type, call-overload]  # a cell of a table: a number or NaN


def _near(name: str, expected: float, found: float | None, tolerance: float) -> TrialCheck:
    if found is None:
        return _cannot(name, "it is not in the table")
    return _said(name, expected, found, abs(found - expected) <= tolerance * abs(expected))


def _exact(name: str, expected: int, found: float | None) -> TrialCheck:
    return _near(name, float(expected), found, 0.0)


def _said(name: str, expected: float, found: float, held: bool, bound: str = "") -> TrialCheck:
    why = "" if held else f"expected {bound}{expected:.6g}, found {found:.6g}"
    return TrialCheck(name=name, result="held" if held else "failed", expected=expected, found=found, why=why)


def _cannot(name: str, why: str) -> TrialCheck:
    return TrialCheck(name=name, result="not applicable", why=why)
