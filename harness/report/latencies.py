# SPDX-License-Identifier: Apache-2.0
"""The latencies of a report, of all requests and of each name, with their intervals over the one trial that it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.analysis.stats.inputs import REFUSED_BELOW_STEPS, judge_resolution
from harness.analysis.stats.quantiles import (
    EXTREME,
    FEWEST_BEYOND,
    FEWEST_BEYOND_EXTREME,
    N_BATCHES,
    n_beyond,
)
from harness.formats.table import AggregateRow, RequestTable
from harness.report.numbers import resolution
from harness.report.result import LABEL_QUANTILES, QUANTILES, LabelRow, in_ms
from harness.report.spread import Bounded, EveryLatency

#: Names with a row of their own, those with the most requests first.
MOST_LABELS = 100
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


class Labels:
    """How many requests of each label have been seen so far, and how many of them failed."""

    def __init__(self, resolution_s: float) -> None:
        self._resolution_s = resolution_s
        self._names: tuple[str, ...] = ()
        self._requests = self._errors = np.zeros(0, dtype=np.int64)
        # Of each successful request, in as few bytes as there are names.
        self._codes: list[npt.NDArray[np.unsignedinteger]] = []

    def take(self, table: RequestTable, successful: npt.NDArray[np.intp]) -> None:
        """Add the next stretch.

        Args:
            successful: which rows succeeded, as an index in the order of their latencies.
        """
        self._names = table.labels  # of one file: a stretch knows the names of those before it
        n = len(self._names)
        self._requests = _sum(self._requests, np.bincount(table.label_codes, minlength=n))
        failed = table.label_codes[~table.ok] if table.n_errors else table.label_codes[:0]
        self._errors = _sum(self._errors, np.bincount(failed, minlength=n))
        self._codes.append(table.label_codes[successful].astype(np.uint8 if n <= 256 else np.uint32))

    def rows(self, latency: EveryLatency, duration_s: float | None, text: list[str]) -> tuple[LabelRow, ...]:
        """Return a row for each name, the most frequent first; none where the file names nothing.

        Args:
            latency: of all successful requests that were taken.
            duration_s: of the whole file; ``None``: unknown.
            text: what is to be known about them is added here.
        """
        frequent = np.argsort(-self._requests, kind="stable")
        frequent = frequent[self._requests[frequent] > 0]
        if not len(frequent) or [self._names[i] for i in frequent] == [""]:
            return ()
        if len(frequent) > MOST_LABELS:
            text.append(
                f"{len(frequent):,} different names of requests: the {MOST_LABELS} with most requests are shown"
            )
        if len(frequent) == 1:
            return (self._row(int(frequent[0]), latency, duration_s),)
        codes = np.concatenate(self._codes)
        return tuple(
            self._row(int(i), EveryLatency(latency.latency_s[codes == i]), duration_s)
            for i in frequent[:MOST_LABELS]
        )

    def _row(self, code: int, latency: EveryLatency, duration_s: float | None) -> LabelRow:
        result = summarise_latencies(latency, self._resolution_s, LABEL_QUANTILES)
        n = int(self._requests[code])
        return LabelRow(
            label=self._names[code],
            requests=n,
            errors=int(self._errors[code]),
            throughput_per_s=n / duration_s if duration_s else None,
            latency_ms=result.values,
            intervals=result.intervals,
        )


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


def _sum(some: npt.NDArray[np.int64], more: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    total = np.zeros(max(len(some), len(more)), dtype=np.int64)
    total[: len(some)] += some
    total[: len(more)] += more
    return total
