# SPDX-License-Identifier: Apache-2.0
"""Does the arithmetic of one measured trial hold together? Totals, ratios, Little's law, and the law of its load.

What is compared was computed in different ways: the row of the table against single requests, the record
against the plan, the plan against both.
"""

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
    near,
    number_of,
)
from harness.analysis.audit.littles_law import load_laws
from harness.analysis.stats.quantiles import rank
from harness.formats.wrk_histogram import LatencyHistogram
from harness.model import OpenLoad

INSTANTS = 100_000
HEAD = "the tool writes no single requests, and the head of the load does not count"


def audit_trial(trial: AuditedTrial) -> tuple[TrialCheck, ...]:
    """Return every check of one trial, those that cannot be made too."""
    return (*_totals(trial), *_ratios(trial), *_little(trial), *load_laws(trial))


def _totals(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Totals equal their parts, and the rows are the requests that the record counts."""
    load, requests, counted = trial.load, trial.requests, trial.n_counted
    name = "the table counts the requests of the record"
    if counted is None:
        yield cannot(name, HEAD)
    else:
        yield exact(name, counted[0], number_of(trial, "n_requests"))
    name = "rows are the requests, wrong ones too"
    if requests is None:
        yield cannot(name, "the tool writes no single requests")
    else:
        right, wrong = int(requests["ok"].sum()), int((~requests["ok"].astype(bool)).sum())
        yield exact(f"{name}: right", load.n_requests - load.n_errors, right)
        yield exact(f"{name}: wrong", load.n_errors, wrong)
    name = "requests by name add up"
    if not load.answers:
        yield cannot(name, "the record has no counts by name")
    else:
        yield exact(f"{name}: sent", load.n_requests, sum(a.n_requests for a in load.answers.values()))
        yield exact(
            f"{name}: right", load.n_requests - load.n_errors, sum(a.n_right for a in load.answers.values())
        )


def _ratios(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """A ratio is what its words say, computed from the parts again."""
    load, profile = trial.load, trial.profile
    paused_s = profile.paused_s if isinstance(profile, OpenLoad) else 0.0
    asked_s, counted = trial.counted_s - paused_s, trial.n_counted
    name = "throughput is right answers over time"
    if counted is None:
        yield cannot(name, HEAD)
    else:
        yield near(name, counted[1] / asked_s, number_of(trial, "throughput_per_s"), SAME)
    cpu_s, cores = number_of(trial, "cpu_s_per_request"), number_of(trial, "service_cores")
    name = "CPU time per request times requests is the service's CPU time"
    if cpu_s is None or cores is None or counted is None:
        yield cannot(name, "the service's CPU time is not known")
    else:
        # the window may be cut at the edges of the measurement's own phase
        yield near(name, cores * trial.counted_s, cpu_s * counted[0], LAW_TOLERANCE)
    headroom, echo = number_of(trial, "headroom_ratio"), number_of(trial, "echo_per_s")
    name = "headroom is the echo's rate over that of the trial"
    if headroom is None or echo is None:
        yield cannot(name, "the generator's own limit is not known")
    else:
        yield near(name, echo / load.achieved_per_s, headroom, SAME)


def _little(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Requests in flight: throughput times latency, counted from the rows at even instants."""
    names = (
        "mean latency is that of the rows",
        "p99 is that of the rows",
        "Little's law, counted in the rows",
    )
    if trial.requests is None and trial.histogram is not None:
        yield from _counted(trial, trial.histogram)
        return
    requests = trial.counted
    if requests is None or not requests["ok"].any():
        yield from (cannot(name, "the tool writes no single requests") for name in names)
        return
    ok = requests[requests["ok"].astype(bool)]
    start, latency = (ok[name].to_numpy(dtype=np.float64) for name in ("start_epoch_s", "latency_s"))
    yield near(names[0], float(latency.mean()), number_of(trial, "latency_mean_s"), SAME)
    p99 = number_of(trial, "latency_p99_s")
    if p99 is None:
        yield cannot(names[1], "too few requests beyond it")
    else:
        yield near(names[1], float(np.sort(latency)[rank(latency.size, 0.99) - 1]), p99, SAME)
    mean_s = number_of(trial, "latency_mean_s")
    if mean_s is None:
        yield cannot(names[2], "no mean latency is known")
        return
    counted = in_flight(start, latency)
    yield near(names[2], counted, ok.shape[0] / trial.counted_s * mean_s, COUNTED_TOLERANCE)


def _counted(trial: AuditedTrial, histogram: LatencyHistogram) -> Iterator[TrialCheck]:
    """What the table says of latencies, against the histogram of every measured answer."""
    names = ("mean latency is that of the histogram", "p99 is that of the histogram")
    yield exact("the histogram holds the latencies of the record", trial.load.n_latencies or 0, histogram.n)
    if not histogram.n:
        yield from (cannot(name, "no latency was measured") for name in names)
        return
    each_s = np.repeat(histogram.value_us, histogram.count) / 1e6
    yield near(names[0], float(each_s.mean()), number_of(trial, "latency_mean_s"), SAME)
    p99 = number_of(trial, "latency_p99_s")
    if p99 is None:
        yield cannot(names[1], "too few requests beyond it")
    else:
        yield near(names[1], float(each_s[rank(histogram.n, 0.99) - 1]), p99, SAME)


def in_flight(start_s: np.ndarray, latency_s: np.ndarray) -> float:
    """Return how many requests overlap on average, counted at ``INSTANTS`` even instants of the load."""
    begins, ends = np.sort(start_s), np.sort(start_s + latency_s)
    step = (ends[-1] - begins[0]) / INSTANTS
    at = begins[0] + step * (np.arange(INSTANTS) + 0.5)
    return float(np.mean(np.searchsorted(begins, at, "right") - np.searchsorted(ends, at, "right")))
