# SPDX-License-Identifier: Apache-2.0
"""The usual metrics of a session, and what its flags are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from harness.analysis.evidence.experiment import Evidence
from harness.errors import InputError
from harness.model import Flag
from harness.project import experiment_paths

Better = Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """``name``: on the command line; ``words``: in a sentence; ``better``: which direction is the better one."""

    name: str
    column: str
    words: str
    better: Better


#: In this order; the first that a session has is what its winner is named by.
METRICS = (
    Metric(name="throughput", column="throughput_per_s", words="throughput", better="higher"),
    Metric(name="mean", column="latency_mean_s", words="mean latency", better="lower"),
    Metric(name="p99", column="latency_p99_s", words="99th percentile of latency", better="lower"),
    Metric(name="cpu", column="cpu_s_per_request", words="CPU time per request", better="lower"),
    Metric(name="memory", column="rss_after_bytes", words="memory after the load (RSS)", better="lower"),
    Metric(name="start", column="time_to_first_response_s", words="time to first response", better="lower"),
)
#: In the place of resident memory for services of one's own, which may be several processes: a page that they share
#: counts once.
PROPORTIONAL = Metric(
    name="memory",
    column="pss_after_bytes",
    words="memory after the load (PSS of all its processes)",
    better="lower",
)

#: What a flag is called at the head of a column; when it is set stands in ``harness.measure.runner.outcome``.
FLAG_WORDS: dict[Flag, str] = {
    "generator_bottleneck": "generator at its limit",
    "generator_late": "generator late",
    "headroom_unknown": "generator's limit unknown",
    "errors_seen": "errors",
    "arrivals_dropped": "arrivals dropped",
    "throttled": "throttled",
    "service_waited": "service waited for CPUs",
    "noisy_machine": "machine noisy",
    "shared_cores": "cores shared",
    "killed_on_stop": "killed at the end",
    "limits_not_enforced": "limits not enforced",
    "sampling_gap": "gap in the samples",
    "few_requests": "under 1,000 requests",
    "clock_skew": "clocks apart",
    "still_compiling": "JVM still compiling",
}


def metrics_named(names: Sequence[str]) -> tuple[Metric, ...]:
    """Return these metrics, all where none is named. Raises InputError: there is no such metric."""
    known = {metric.name: metric for metric in METRICS}
    for name in names:
        if name not in known:
            raise InputError("no such metric", place="--metric", found=name, allowed=", ".join(known))
    return tuple(known[name] for name in names) if names else METRICS


def metrics_of(evidence: Evidence, metrics: Sequence[Metric] = METRICS) -> tuple[Metric, ...]:
    """Return those of the metrics that any kept trial has."""
    trials = evidence.trials
    if (
        evidence.experiment not in experiment_paths(evidence.root)
        and trials[PROPORTIONAL.column].notna().any()
    ):
        metrics = [PROPORTIONAL if metric.name == PROPORTIONAL.name else metric for metric in metrics]
    return tuple(metric for metric in metrics if not with_metric(trials, metric).empty)


def with_metric(trials: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """Return the kept trials that have the metric as a result: under an open load throughput is given, and is none."""
    measured = ~trials["excluded"].astype(bool) & trials[metric.column].notna()
    if metric.name == "throughput":
        measured &= trials["load_model"].fillna("") != "open"
    return trials[measured]
