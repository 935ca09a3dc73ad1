# SPDX-License-Identifier: Apache-2.0
"""What a metric of ``trials.parquet`` is called, the unit it is read in, and which direction is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class MetricWords:
    """A metric in words. ``factor``: from the column's unit to ``unit``; ``better``: which direction is better."""

    name: str
    unit: str
    factor: float
    better: Literal["higher", "lower"]

    @property
    def heading(self) -> str:
        """The metric with its unit and direction: ``mean latency / ms (lower is better)``."""
        return f"{self.name} / {self.unit} ({self.better} is better)"


_METRICS = {
    "throughput_per_s": MetricWords("throughput", "correct answers per second", 1.0, "higher"),
    "latency_mean_s": MetricWords("mean latency", "ms", 1e3, "lower"),
    "latency_p50_s": MetricWords("median latency", "ms", 1e3, "lower"),
    "latency_p90_s": MetricWords("p90 latency", "ms", 1e3, "lower"),
    "latency_p95_s": MetricWords("p95 latency", "ms", 1e3, "lower"),
    "latency_p99_s": MetricWords("p99 latency", "ms", 1e3, "lower"),
    "latency_p999_s": MetricWords("p99.9 latency", "ms", 1e3, "lower"),
    "latency_max_s": MetricWords("longest latency", "ms", 1e3, "lower"),
    "cpu_s_per_request": MetricWords("CPU per request", "µs", 1e6, "lower"),
    "time_to_first_response_s": MetricWords("time to first answer", "ms", 1e3, "lower"),
    "rss_after_bytes": MetricWords("memory after the load", "MiB", 2.0**-20, "lower"),
    "rss_max_bytes": MetricWords("most memory", "MiB", 2.0**-20, "lower"),
    "idle_rss_bytes": MetricWords("idle memory", "MiB", 2.0**-20, "lower"),
}


def metric_words(metric: str) -> MetricWords | None:
    """Return a metric in words; ``None``: a column without an entry here."""
    return _METRICS.get(metric)


def metric_name(metric: str) -> str:
    """Return what a metric is called; a column without an entry is called by its name, with blanks."""
    words = _METRICS.get(metric)
    return metric.replace("_", " ") if words is None else words.name
