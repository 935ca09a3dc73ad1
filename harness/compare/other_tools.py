# SPDX-License-Identifier: Apache-2.0
"""The numbers that JMeter and Locust show of the same requests, beside ours, so that a reader can reconcile them.

Sources: JMeter's Aggregate Report (``StatCalculator.getPercentPoint``: the value of rank ``round(n q)``; all samples,
failed ones too); Locust's statistics (``locust.stats``: times rounded to two digits above 100 ms, percentiles counted
from the slowest on, failed requests too). Both divide all requests by the time, which ours does with correct ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from harness.compare.result import Comparison
from harness.compare.run import Run
from harness.compare.traps import NAMES
from harness.formats.arrays import FloatArray
from harness.formats.table import RequestTable
from harness.model.digits import percent, plain
from harness.report.numbers import NOT_SAID

ToolName = Literal["jmeter", "locust"]
SHOWN = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, kw_only=True)
class ToolNumbers:
    """A table: two rows a run, what the tool says and what stands here."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def numbers_as(tool: ToolName, table: RequestTable) -> dict[str, float]:
    """Return requests, mean and percentiles (seconds), share of errors and rate as the tool shows them.

    Args:
        table: the requests of one run, at least one.
    """
    results = {"requests": float(table.n_requests), "errors": table.n_errors / table.n_requests}
    results |= _TOOLS[tool].latencies(table.latency_s)
    if table.duration_s:
        results["throughput"] = table.n_requests / table.duration_s
    return results


def tool_tables(comparison: Comparison) -> tuple[ToolNumbers, ...]:
    """Return one table a tool that was asked for."""
    tools = dict.fromkeys(tool for runs in comparison.arms for run in runs for tool in run.as_tools)
    return tuple(_table(comparison, tool) for tool in tools)


@dataclass(frozen=True, kw_only=True)
class _Tool:
    title: str
    latencies: Callable[[FloatArray], dict[str, float]]


def _as_jmeter(latency_s: FloatArray) -> dict[str, float]:
    ordered = np.sort(np.floor(latency_s * 1e3 + 1e-6)) / 1e3  # JMeter keeps whole milliseconds
    n = len(ordered)
    results = {"mean": float(ordered.mean())}
    return results | {
        name: float(ordered[max(1, int(np.floor(n * q + 0.5))) - 1]) for name, q in SHOWN.items()
    }


def _as_locust(latency_s: FloatArray) -> dict[str, float]:
    ms = latency_s * 1e3
    step = 10.0 ** np.clip(np.floor(np.log10(np.maximum(ms, 1.0))) - 1, 0, 3)
    rounded = np.sort(np.round(ms / step) * step)
    n = len(rounded)
    results = {"mean": float(latency_s.mean())}
    for name, q in SHOWN.items():
        # From the slowest on, until no more than int(n q) are left: the largest value with so few below it.
        below = np.searchsorted(rounded, rounded, side="left")
        results[name] = float(rounded[below <= int(n * q)].max()) / 1e3
    return results


_TOOLS: Mapping[str, _Tool] = MappingProxyType(
    {
        "jmeter": _Tool(
            title="As JMeter's Aggregate Report: failed requests count in mean, percentiles and rate",
            latencies=_as_jmeter,
        ),
        "locust": _Tool(
            title="As Locust's statistics: failed requests count in mean, percentiles and rate; times above 100 ms "
            "have two digits",
            latencies=_as_locust,
        ),
    }
)


def _table(comparison: Comparison, tool: str) -> ToolNumbers:
    rows: list[tuple[str, ...]] = []
    for name, runs in zip(NAMES, comparison.arms, strict=True):
        for number, run in enumerate(runs, start=1):
            rows.append((f"{name}{number} {tool}", *_cells(run.as_tools.get(tool, {}))))
            rows.append((f"{name}{number} here", *_cells(_values_here(run))))
    return ToolNumbers(
        title=f"{_TOOLS[tool].title}; times in ms.",
        heads=("run", "requests", "mean", *SHOWN, "errors", "1/s"),
        rows=tuple(rows),
    )


def _values_here(run: Run) -> dict[str, float]:
    results = {metric: value for (label, metric), value in run.values.items() if label is None}
    return results | {"requests": float(run.n_requests - run.n_errors)}


def _cells(numbers: Mapping[str, float]) -> Sequence[str]:
    def cell(name: str, form: Callable[[float], str]) -> str:
        return form(numbers[name]) if name in numbers else NOT_SAID

    times = [cell(name, lambda value: plain(1e3 * value)) for name in ("mean", *SHOWN)]
    return [
        cell("requests", lambda value: f"{value:,.0f}"),
        *times,
        cell("errors", percent),
        cell("throughput", plain),
    ]
