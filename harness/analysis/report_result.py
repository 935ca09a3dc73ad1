# SPDX-License-Identifier: Apache-2.0
"""What a report on one file of requests says, and its form for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from harness.analysis.report_loop import Loop
from harness.analysis.report_units import UnitFinding
from harness.analysis.resources import Resources
from harness.analysis.slow_periods import Stall
from harness.model import Frozen

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


class Report(Frozen):
    """What can be said of one file. ``None``: cannot be said, and ``warnings`` say why."""

    path: Path
    source: str
    requests: int
    errors: int
    start_epoch_s: float | None
    duration_s: float | None
    throughput_per_s: float | None = Field(description="answers per second, errors included")
    correct_per_s: float | None
    resolution_ms: float
    latency_ms: dict[str, float | None] = Field(
        description="of successful requests: mean, p50 ... p99.9, max"
    )
    intervals: dict[str, tuple[float, float] | None]
    loop: Loop | None = Field(
        default=None, description="which loop all these numbers come from; None: nothing can be said of it"
    )
    units: tuple[UnitFinding, ...] = Field(
        default=(), description="what does not fit the unit that a column was read in"
    )
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    stalls: tuple[Stall, ...] | None = Field(
        description="None: the file has no single requests, or no start times"
    )
    shortest_visible_ms: float | None = Field(
        default=None, description="a shorter stall would not show in these latencies; None: no start times"
    )
    causes: tuple[str | None, ...] = Field(default=(), description="of each stall; None: no log was given")
    attribution: dict[str, Any] | None = None
    resources: dict[str, Resources] | None = Field(
        default=None, description="of each process; None: no samples were given"
    )
    warnings: tuple[str, ...] = ()

    def with_samples(self, path: Path) -> Report:
        """Return the same report with what a file of resource samples says.

        Raises:
            InputError: the file cannot be read, or holds no samples.
        """
        from harness.analysis.report_samples import summarise_samples  # pandas: half a second to load

        window = None
        if self.start_epoch_s is not None and self.duration_s is not None:
            window = (self.start_epoch_s, self.start_epoch_s + self.duration_s)
        found = summarise_samples(path, window)
        said = (*self.warnings, *(f"samples: {warning}" for warning in found.warnings))
        return self.model_copy(update={"resources": found.processes, "warnings": said})

    def as_json(self) -> dict[str, Any]:
        """The report as a program reads it, with null for what cannot be said."""
        plain = self.model_dump(mode="json", exclude={"path", "stalls", "causes"})
        plain["path"] = str(self.path)
        plain["stalls"] = [
            {
                "start_epoch_s": stall.start_s,
                "end_epoch_s": stall.end_s,
                "kind": stall.kind,
                "cause": cause,
                "requests": stall.n_requests,
            }
            for stall, cause in zip(
                self.stalls or (), self.causes or [None] * len(self.stalls or ()), strict=True
            )
        ]
        return plain


def in_ms(seconds: float | None) -> float | None:
    """Return seconds in the unit of a report's latencies."""
    return None if seconds is None else seconds * 1e3
