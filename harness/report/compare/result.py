# SPDX-License-Identifier: Apache-2.0
"""One run as one number a metric and label; and what a comparison of two arms says, with its form for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from harness.model import Frozen, Verdict
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


Arms = tuple[Sequence[Run], Sequence[Run]]
NAMES = ("A", "B")


class Trap(Frozen):
    """One trap, with what was found. ``withholds``: metrics without a verdict."""

    name: str
    text: str
    withholds: tuple[str, ...] = ()
    totals_only: bool = Field(default=False, description="verdicts of single labels stay")


class Row(Frozen):
    """One metric of all requests, or of one label. ``None``: cannot be said, and ``why`` says it."""

    metric: str
    label: str | None = Field(description="None: all requests")
    a: float | None = Field(
        description="of A: geometric mean over runs; of errors, arithmetic mean of shares"
    )
    b: float | None
    ratio: float | None = Field(default=None, description="B over A")
    low: float | None = Field(default=None, description="95 % interval over runs")
    high: float | None = None
    verdict: Verdict | None = Field(default=None, description="None: there can be none")
    why: str = ""
    difference: float | None = Field(default=None, description="of shares of errors, B less A")
    difference_low: float | None = None
    difference_high: float | None = None
    margin: float | None = Field(
        default=None, description="what counts as equal: a share; of errors, a difference"
    )
    p_adjusted: float | None = Field(default=None, description="over all rows; None below 5 runs an arm")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two arms, what they are compared in, and what to know before it is believed."""

    arms: tuple[tuple[Run, ...], tuple[Run, ...]]
    rows: tuple[Row, ...]
    traps: tuple[Trap, ...]
    warnings: tuple[str, ...]

    def row(self, metric: str, label: str | None = None) -> Row | None:
        """Return the row of a metric; ``None``: there is no such label in every run."""
        return next((row for row in self.rows if (row.metric, row.label) == (metric, label)), None)

    @property
    def labels(self) -> tuple[str | None, ...]:
        """All requests (``None``) and each name that has rows."""
        return tuple(dict.fromkeys(row.label for row in self.rows))

    @property
    def order(self) -> tuple[tuple[str, int], ...] | None:
        """Arm and number of every run in the order in which they began; ``None``: a run does not tell."""
        starts = [
            (run.start_epoch_s, name, number)
            for name, runs in zip(NAMES, self.arms, strict=True)
            for number, run in enumerate(runs)
        ]
        known = sorted((at, name, number) for at, name, number in starts if at is not None)
        return tuple((name, number) for _, name, number in known) if len(known) == len(starts) else None

    def as_json(self) -> dict[str, Any]:
        """The comparison as a program reads it, with null for what cannot be said. Times are in seconds."""
        return {
            "arms": [
                {"name": name, "runs": [_run_as_json(run) for run in runs]}
                for name, runs in zip(NAMES, self.arms, strict=True)
            ],
            "order": None if self.order is None else [name for name, _ in self.order],
            "metrics": [row.model_dump(mode="json") for row in self.rows],
            "traps": [
                {"trap": trap.name, "text": trap.text, "withholds": list(trap.withholds)}
                for trap in self.traps
            ],
            "warnings": list(self.warnings),
        }


def _run_as_json(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "tools": list(run.sources),
        "start_epoch_s": run.start_epoch_s,
        "duration_s": run.duration_s,
        "requests": run.n_requests,
        "errors": run.n_errors,
        "loop": run.loop,
        "users": run.users,
        "values": {metric: run.values.get((None, metric)) for metric in METRICS},
        "warnings": list(run.warnings),
    }
