# SPDX-License-Identifier: Apache-2.0
"""What a report on one file of requests says, and its form for programs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator

from harness.analysis.attribution.slow_periods import Stall
from harness.errors import InputError
from harness.formats.run_parts import RunPart
from harness.model import Frozen
from harness.report.checks import UnitFinding
from harness.report.loop import Loop

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
#: Tools round percentiles to two digits, and the greatest latency not at all.
_ROUNDED, _ROUNDED_MS = 0.06, 1.0
LABEL_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class LabelRow(Frozen):
    """The requests of one name. ``None``: cannot be said, or too few requests for it."""

    label: str
    requests: int
    errors: int
    throughput_per_s: float | None = Field(
        description="answers over the time of the whole file, errors included"
    )
    latency_ms: dict[str, float | None] = Field(
        description="of successful requests: mean, p50, p90, p99, max"
    )
    intervals: dict[str, tuple[float, float] | None]


class ListedStall(Stall):
    """A stall with what it did."""

    cause: str | None = Field(description="None: no log was given")
    harm_s: float = Field(description="seconds beyond the median that its requests took")

    def as_json(self) -> dict[str, Any]:
        """The stall as a program reads it."""
        return {
            "start_epoch_s": self.start_s,
            "end_epoch_s": self.end_s,
            "kind": self.kind,
            "cause": self.cause,
            "requests": self.n_requests,
            "harm_s": self.harm_s,
        }


class ShortStalls(Frozen):
    """What the detector found below the shortest stall that would surely show: no stalls one by one."""

    number: int
    longest_ms: float
    total_s: float
    share: float = Field(description="of the time of the file")


class Report(Frozen):
    """What can be said of one file. ``None``: cannot be said, and ``warnings`` say why."""

    path: Path
    source: str
    requests: int
    errors: int
    errors_known: bool = Field(default=True, description="False: the file does not say which requests failed")
    unreadable: int = Field(default=0, description="rows that could not be read: any of them may have failed")
    start_epoch_s: float | None
    duration_s: float | None = Field(description="None: unknown, or the file holds several runs")
    runs: tuple[RunPart, ...] = Field(default=(), description="where there are several in the file")
    busy_share: float | None = Field(
        default=None, description="of their time that the users waited for answers; None: unknown"
    )
    throughput_per_s: float | None = Field(description="answers per second, errors included")
    correct_per_s: float | None
    resolution_ms: float
    latency_ms: dict[str, float | None] = Field(
        description="of successful requests: mean, p50 ... p99.9, max"
    )
    intervals: dict[str, tuple[float, float] | None]
    interval_reasons: dict[str, str] = Field(
        default_factory=dict, description="why a statistic has no interval, or no value"
    )
    bounds_ms: dict[str, tuple[float | None, float | None]] = Field(
        default_factory=dict,
        description="of a percentile that a tool's totals leave out: it lies between these; None: open",
    )
    labels: tuple[LabelRow, ...] = Field(
        default=(), description="by name of request; empty: the file has none"
    )
    loop: Loop | None = Field(
        default=None, description="which loop all these numbers come from; None: nothing can be said of it"
    )
    units: tuple[UnitFinding, ...] = Field(
        default=(), description="what does not fit the unit that a column was read in"
    )
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    stalls: tuple[ListedStall, ...] | None = Field(
        description="those of shortest_visible_ms or longer, the most harmful first; None: no single requests, or no "
        "start times"
    )
    shorter_stalls: ShortStalls | None = Field(
        default=None, description="None: there were none, or cannot be said"
    )
    shortest_visible_ms: float | None = Field(
        default=None, description="a shorter stall would not show in these latencies; None: no start times"
    )
    attribution: dict[str, Any] | None = None
    warnings: tuple[str, ...] = Field(default=(), description="what weighs most first")
    background: frozenset[str] = Field(
        default=frozenset(), description="those of the warnings that describe the method, not this file"
    )

    @model_validator(mode="wrap")
    @classmethod
    def _is_possible(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        """Refuse numbers that cannot be: without an end, or in contradiction to others; raises InputError: always one
        of ours, which names the file."""
        try:
            report = build(given)
            path, wrong = report.path, report._impossible()
        except ValidationError as error:
            endless = [each for each in error.errors() if each["type"] == "finite_number"]
            if not endless:
                raise
            path, wrong = given["path"], f"{endless[0]['input']} as {endless[0]['loc'][0]}"
        if wrong is not None:
            raise InputError(
                "contradicts itself, so nothing of it is reported",
                file=path,
                found=wrong,
                allowed="numbers that can all be true: rematch audit names what is wrong",
            )
        return report

    def _impossible(self) -> str | None:
        """What cannot be in these numbers."""
        per_s, span_s = self.throughput_per_s or 0.0, self.duration_s or 0.0
        if not 0 <= self.errors <= self.requests:
            return f"{self.errors:,} errors of {self.requests:,} requests"
        if min(per_s, span_s) < 0:
            return f"{per_s:g} answers/s, {span_s:g} s of duration"
        if per_s * span_s > self.requests * (1 + _ROUNDED) + per_s:
            return f"{per_s:g} answers/s for {span_s:g} s, and {self.requests:,} requests"
        for row in (self.latency_ms, *(label.latency_ms for label in self.labels)):
            known = {name: value for name, value in row.items() if value is not None}
            if min(known.values(), default=0.0) < 0:
                return f"a latency of {min(known.values()):g} ms"
            rising = sorted((float(name[1:]), name) for name in known if name[0] == "p")
            ordered = [*(name for _, name in rising), *(["max"] if "max" in known else [])]
            pairs = [*pairwise(ordered), *([("mean", "max")] if {"mean", "max"} <= set(known) else [])]
            for lower, upper in pairs:
                less, more = known[lower], known[upper]
                if less > more * (1 + _ROUNDED) + _ROUNDED_MS:
                    return f"{lower} of {less:g} ms above {upper} of {more:g} ms"
        return None

    def as_json(self) -> dict[str, Any]:
        """The report as a program reads it, with null for what cannot be said."""
        plain = self.model_dump(mode="json", exclude={"path", "stalls", "background"})
        stalls = [stall.as_json() for stall in self.stalls or ()]
        return plain | {"path": str(self.path), "stalls": stalls}


def in_ms(seconds: float | None) -> float | None:
    """Return seconds in the unit of a report's latencies."""
    return None if seconds is None else seconds * 1e3
