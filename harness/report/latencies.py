# SPDX-License-Identifier: Apache-2.0
"""The latencies of a report, of all requests and of each name, with their intervals over the one trial that it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from harness.analysis.stats.inputs import REFUSED_BELOW_STEPS, judge_resolution
from harness.analysis.stats.quantiles import (
    EXTREME,
    FEWEST_BEYOND,
    FEWEST_BEYOND_EXTREME,
    N_BATCHES,
    batch_means_ci,
    n_beyond,
    quantile_refused,
    rank,
    woodruff_ranks,
)
from harness.formats.arrays import FloatArray, IntArray
from harness.formats.table import AggregateRow, RequestTable
from harness.report.result import LABEL_QUANTILES, QUANTILES, LabelRow, in_ms
from harness.report.words import resolution

LEVEL = 0.95
#: Names with a row of their own, those with the most requests first.
MOST_LABELS = 100
FEWEST_FOR_INTERVALS = 100
ONE_TRIAL = (
    "the intervals are about this one run; another start of the same process may give values outside of them"
)


class Bounded(NamedTuple):
    """A statistic in seconds with its 95 % interval within this trial; ``None``: it cannot be said."""

    value: float | None
    low: float | None = None
    high: float | None = None


class EveryLatency:
    """Latencies in the order of their starts, shape (n,), seconds; order statistics need n > 0."""

    def __init__(self, latency_s: FloatArray) -> None:
        self.latency_s, self.n = latency_s, len(latency_s)

    @cached_property
    def _sorted(self) -> FloatArray:
        return np.sort(self.latency_s)

    def at(self, ranks: IntArray) -> FloatArray:
        """Return the latencies of these ranks, counted from 1, in seconds, shape of ``ranks``."""
        return np.asarray(self._sorted[ranks - 1])

    def median(self) -> float:
        """Return the median, of an even number the mean of the two in the middle."""
        return float(self.at(np.array([(self.n + 1) // 2, self.n // 2 + 1])).mean())

    def mean(self) -> Bounded:
        """Return the mean with its interval from batch means."""
        return Bounded(float(self.latency_s.mean()), *(batch_means_ci(self.latency_s) or ()))

    def quantile(self, q: float) -> Bounded:
        """Return the order statistic with Woodruff's interval; none where too few requests lie beyond it."""
        n = self.n
        if quantile_refused(n, q) is not None:
            return Bounded(None)
        value = float(self.at(np.array([rank(n, q)]))[0])
        if n_beyond(n, q) < FEWEST_BEYOND - 1e-6 or n < 10 * N_BATCHES:
            return Bounded(value)
        lower, upper = woodruff_ranks(self.latency_s[None, :], np.array([value]), q, LEVEL)
        low, high = self.at(np.append(lower, upper)).tolist()
        return Bounded(value) if low == high else Bounded(value, low, high)


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
    results = {"mean": latency.mean(), **{name: latency.quantile(q) for name, q in quantiles.items()}}
    values = {name: in_ms(result.value) for name, result in results.items()}
    values["max"] = in_ms(float(latency.at(np.array([latency.n]))[0]))
    intervals = {name: _bounds_ms(result) for name, result in results.items()}
    reasons = {
        name: _why_none(latency, result, quantiles[name], resolution_s)
        for name, result in results.items()
        if name != "mean" and intervals[name] is None
    }
    if latency.n < FEWEST_FOR_INTERVALS:
        intervals["mean"], reasons["mean"] = None, f"needs {FEWEST_FOR_INTERVALS} requests"
    elif intervals["mean"] is None:
        reasons["mean"] = "varies too much for an interval"
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
    n, tail = latency.n, min(q, 1 - q)
    if bounded.value is None:
        return f"needs {round((FEWEST_BEYOND_EXTREME if q >= EXTREME else 1) / tail):,} requests"
    if n_beyond(n, q) < FEWEST_BEYOND - 1e-6:
        return f"needs {round(FEWEST_BEYOND / tail):,} requests"
    if n < 10 * N_BATCHES:
        return f"needs {10 * N_BATCHES} requests"
    return f"narrower than {resolution(resolution_s * 1e3)}"


def _bounds_ms(bounded: Bounded) -> tuple[float, float] | None:
    if bounded.low is None or bounded.high is None or bounded.low < 0:
        return None
    return bounded.low * 1e3, bounded.high * 1e3


def label_rows(
    requests: RequestTable, latency: EveryLatency, duration_s: float | None, text: list[str]
) -> tuple[LabelRow, ...]:
    """Return a row for each name, the most frequent first; none where the file names nothing.

    ``requests``: by start. ``latency``: of the successful ones. ``duration_s``: of the whole file; ``None``: unknown.
    ``text``: what is to be known about the rows is added here.
    """
    names = requests.labels
    n_each = np.bincount(requests.label_codes, minlength=len(names))
    right = requests.label_codes[requests.ok]
    n_right = np.bincount(right, minlength=len(names))
    frequent = [code for code in np.argsort(-n_each, kind="stable").tolist() if n_each[code]]
    if [names[code] for code in frequent] in ([], [""]):
        return ()
    if len(frequent) > MOST_LABELS:
        text.append(
            f"{len(frequent):,} different names of requests: the {MOST_LABELS} with most requests are shown"
        )
    rows = []
    for code in frequent[:MOST_LABELS]:
        some = latency if len(frequent) == 1 else EveryLatency(latency.latency_s[right == code])
        result = summarise_latencies(some, requests.resolution_s, LABEL_QUANTILES)
        n = int(n_each[code])
        rows.append(
            LabelRow(
                label=names[code],
                requests=n,
                errors=n - int(n_right[code]),
                throughput_per_s=n / duration_s if duration_s else None,
                latency_ms=result.values,
                intervals=result.intervals,
            )
        )
    return tuple(rows)


def of_aggregate(row: AggregateRow) -> LabelRow:
    """Return the row of a name in a tool's own totals: without intervals."""
    known = row.latency_quantiles_s
    return LabelRow(
        label=" ".join(filter(None, (row.method, row.name))),
        requests=row.n_requests,
        errors=row.n_errors,
        throughput_per_s=row.answers_per_s,
        latency_ms={
            "mean": in_ms(row.latency_mean_s),
            **{name: in_ms(known.get(name)) for name in LABEL_QUANTILES},
            "max": in_ms(row.latency_max_s),
        },
        intervals=dict.fromkeys(["mean", *LABEL_QUANTILES]),
    )
