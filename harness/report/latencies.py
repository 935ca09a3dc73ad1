# SPDX-License-Identifier: Apache-2.0
"""The latencies of a report with their intervals over the one trial that the file is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.analysis.stats.assumptions import REFUSED_BELOW_STEPS, judge_resolution
from harness.analysis.stats.quantiles import (
    EXTREME,
    FEWEST_BEYOND,
    FEWEST_BEYOND_EXTREME,
    N_BATCHES,
    n_beyond,
    quantile_ci,
)
from harness.analysis.stats.within_trial import batch_means_ci
from harness.model import Estimate
from harness.report.numbers import resolution
from harness.report.result import QUANTILES, in_ms

FloatArray = npt.NDArray[np.float64]
FEWEST_FOR_INTERVALS = 100
ONE_TRIAL = "intervals speak of this one trial only; another start of the same process may lie outside them"


class Latencies(NamedTuple):
    """Statistic -> value and interval in ms, and why one of them is missing."""

    values: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]
    reasons: dict[str, str]


def summarise_latencies(
    latency: FloatArray, resolution_s: float, quantiles: Mapping[str, float] = QUANTILES
) -> Latencies:
    """Return mean, percentiles and maximum with the intervals of those that have one.

    Args:
        latency: of every successful request, in the order of their starts, shape (n,), seconds.
    """
    names = ["mean", *quantiles, "max"]
    if not len(latency):
        return Latencies(dict.fromkeys(names), dict.fromkeys(names[:-1]), {})
    values: dict[str, float | None] = {"mean": float(latency.mean()) * 1e3}
    intervals: dict[str, tuple[float, float] | None] = {"mean": None}
    reasons: dict[str, str] = {}
    if len(latency) >= FEWEST_FOR_INTERVALS:
        intervals["mean"] = _bounds_ms(batch_means_ci(latency))
        if intervals["mean"] is None:
            reasons["mean"] = "too few requests for their spread"
    else:
        reasons["mean"] = f"needs {FEWEST_FOR_INTERVALS} requests"
    for name, q in quantiles.items():
        estimate = quantile_ci(latency, q)
        values[name] = in_ms(estimate.value)
        intervals[name] = _bounds_ms(estimate)
        if intervals[name] is None:
            reasons[name] = _why_none(estimate, q, resolution_s)
    values["max"] = float(latency.max()) * 1e3
    return Latencies(values, intervals, reasons)


def resolution_warnings(latency: FloatArray, resolution_s: float) -> list[str]:
    """Return what the tool's clock hides of these latencies.

    Args:
        latency: shape (n,), n > 0, seconds.
    """
    median_s = float(np.median(latency))
    judged, steps, said = judge_resolution(median_s, resolution_s, "quantile")
    step = resolution(resolution_s * 1e3)
    if judged == "refused":
        below = (
            f"below the tool's clock of {step}: shown as < {step}"
            if median_s < resolution_s
            else (f"fewer than {REFUSED_BELOW_STEPS:g} steps of the tool's clock of {step}")
        )
        return [f"p50 is {below}; do not compare it"]
    if judged == "coarse" and steps is not None:
        return [
            f"p50 is {steps:.2g} steps of the tool's clock of {step}: ratios of percentiles of two files may be off"
        ]
    return list(said)


def _why_none(estimate: Estimate, q: float, resolution_s: float) -> str:
    """Why a percentile has no interval, or is not said at all."""
    n = estimate.n_requests or 0
    tail = min(q, 1 - q)
    if estimate.value is None:
        return f"needs {_needed(FEWEST_BEYOND_EXTREME if q >= EXTREME else 1, tail):,} requests"
    if n_beyond(n, q) < FEWEST_BEYOND - 1e-6:
        return f"needs {_needed(FEWEST_BEYOND, tail):,} requests"
    if n < 10 * N_BATCHES:
        return f"needs {10 * N_BATCHES} requests"
    return f"both ends in one step of {resolution(resolution_s * 1e3)}"


def _needed(beyond: int, tail: float) -> int:
    return round(beyond / tail)


def _bounds_ms(estimate: Estimate) -> tuple[float, float] | None:
    if estimate.low is None or estimate.high is None or estimate.low < 0:
        return None
    return estimate.low * 1e3, estimate.high * 1e3
