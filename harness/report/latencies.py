# SPDX-License-Identifier: Apache-2.0
"""The latencies of a report with their intervals over the one trial that the file is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from harness.analysis.stats.assumptions import REFUSED_BELOW_STEPS, judge_resolution
from harness.analysis.stats.quantiles import (
    EXTREME,
    FEWEST_BEYOND,
    FEWEST_BEYOND_EXTREME,
    N_BATCHES,
    n_beyond,
)
from harness.report.numbers import resolution
from harness.report.result import QUANTILES, in_ms
from harness.report.spread import Bounded, EveryLatency

FEWEST_FOR_INTERVALS = 100
ONE_TRIAL = (
    "the intervals are about this one run; another start of the same process may give values outside of them"
)


class Statistics(NamedTuple):
    """Statistic -> value and interval in ms, and why one of them is missing."""

    values: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]
    reasons: dict[str, str]


def summarise_latencies(
    latency: EveryLatency, resolution_s: float, quantiles: Mapping[str, float] = QUANTILES
) -> Statistics:
    """Return mean, percentiles and maximum of successful requests with the intervals of those that have one."""
    names = ["mean", *quantiles, "max"]
    if not latency.n:
        return Statistics(dict.fromkeys(names), dict.fromkeys(names[:-1]), {})
    mean = latency.mean()
    values: dict[str, float | None] = {"mean": in_ms(mean.value)}
    intervals: dict[str, tuple[float, float] | None] = {"mean": None}
    reasons: dict[str, str] = {}
    if latency.n >= FEWEST_FOR_INTERVALS:
        intervals["mean"] = _bounds_ms(mean)
        if intervals["mean"] is None:
            reasons["mean"] = "varies too much for an interval"
    else:
        reasons["mean"] = f"needs {FEWEST_FOR_INTERVALS} requests"
    for name, q in quantiles.items():
        result = latency.quantile(q)
        values[name] = in_ms(result.value)
        intervals[name] = _bounds_ms(result)
        if intervals[name] is None:
            reasons[name] = _why_none(latency, result, q, resolution_s)
    values["max"] = in_ms(float(latency.at(np.array([latency.n]))[0]))
    return Statistics(values, intervals, reasons)


def resolution_warnings(median_s: float, resolution_s: float) -> list[str]:
    """Return what the tool's clock hides of latencies with this median."""
    judged, steps, text = judge_resolution(median_s, resolution_s, "quantile")
    step = resolution(resolution_s * 1e3)
    if judged == "refused":
        below = (
            f"below the tool's clock of {step}: shown as < {step}"
            if median_s < resolution_s
            else (f"less than {REFUSED_BELOW_STEPS:g} steps of the tool's clock of {step}")
        )
        return [f"p50 is {below}; do not compare it with that of another file"]
    if judged == "coarse" and steps is not None:
        return [
            f"p50 is only {steps:.2g} steps of the tool's clock of {step}, "
            "so that its ratio to the p50 of another file is inexact"
        ]
    return list(text)


def _why_none(latency: EveryLatency, bounded: Bounded, q: float, resolution_s: float) -> str:
    """Why a percentile has no interval, or is not said at all."""
    n = latency.n
    tail = min(q, 1 - q)
    if bounded.value is None:
        return f"needs {_needed(FEWEST_BEYOND_EXTREME if q >= EXTREME else 1, tail):,} requests"
    if n_beyond(n, q) < FEWEST_BEYOND - 1e-6:
        return f"needs {_needed(FEWEST_BEYOND, tail):,} requests"
    if n < 10 * N_BATCHES:
        return f"needs {10 * N_BATCHES} requests"
    return f"narrower than {resolution(resolution_s * 1e3)}"


def _needed(beyond: int, tail: float) -> int:
    return round(beyond / tail)


def _bounds_ms(bounded: Bounded) -> tuple[float, float] | None:
    if bounded.low is None or bounded.high is None or bounded.low < 0:
        return None
    return bounded.low * 1e3, bounded.high * 1e3
