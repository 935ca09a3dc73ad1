# SPDX-License-Identifier: Apache-2.0
"""One run as one number a metric and label, with what has to be known before it is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.stats.quantiles import (
    EXTREME,
    FEWEST_BEYOND_EXTREME,
    quantile_refused,
    rank,
)
from harness.formats.arrays import FloatArray
from harness.report.loop import Kind

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
#: In the order of tables. Times are of correct answers; errors are a share of all requests.
METRICS = ("throughput", "mean", *QUANTILES, "errors")
LATENCIES = ("mean", *QUANTILES)
#: Label (``None``: all requests) and metric.
Key = tuple[str | None, str]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run. ``None``: the files do not say.

    ``values``: correct answers per second, seconds, share of errors. ``reasons``: why a value is missing.
    ``rate_per_s``: of starts, failed requests too. ``fingerprints``: of the content of each file.
    ``labels``: name of request -> requests. ``hosts``: machines that the files name.
    ``failed_median_s``: of requests that failed. ``symptoms``: name of a trap -> what the files show of it.
    """

    name: str
    sources: tuple[str, ...]
    n_requests: int
    n_errors: int
    resolution_s: float
    values: Mapping[Key, float]
    reasons: Mapping[Key, str] = field(default_factory=dict)
    start_epoch_s: float | None = None
    duration_s: float | None = None
    rate_per_s: float | None = None
    loop: Kind = "cannot say"
    users: int | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    fingerprints: tuple[str, ...] = ()
    hosts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    symptoms: Mapping[str, str] = field(default_factory=dict)
    failed_median_s: float | None = None
    warnings: tuple[str, ...] = ()


def request_values(
    latency_s: FloatArray, n_errors: int, duration_s: float | None
) -> tuple[dict[str, float], dict[str, str]]:
    """Return metric -> value of some requests of one run, and why a value is missing.

    Args:
        latency_s: of the correct answers, shape (n,). duration_s: of the whole run; None: unknown.
    """
    n = len(latency_s)
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    if n + n_errors:
        values["errors"] = n_errors / (n + n_errors)
    if duration_s:
        values["throughput"] = n / duration_s
    else:
        reasons["throughput"] = "no start times"
    if not n:
        return values, reasons | dict.fromkeys(LATENCIES, "no request succeeded")
    values["mean"] = float(latency_s.mean())
    wanted = {name: q for name, q in QUANTILES.items() if quantile_refused(n, q) is None}
    places = {name: rank(n, q) - 1 for name, q in wanted.items()}
    ordered = np.partition(latency_s, sorted(set(places.values()))) if places else latency_s
    values |= {name: float(ordered[place]) for name, place in places.items()}
    reasons |= {name: _needs(q) for name, q in QUANTILES.items() if name not in wanted}
    return values, reasons


def _needs(q: float) -> str:
    beyond = FEWEST_BEYOND_EXTREME if q >= EXTREME else 1
    return f"needs {round(beyond / (1 - q)):,} correct answers a run"
