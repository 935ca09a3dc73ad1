# SPDX-License-Identifier: Apache-2.0
"""A check of one measured trial: what it is made on, what it may say, and how it is held.

A check that cannot be made says why and is neither held nor failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pandas as pd
from pydantic import Field

from harness.analysis.audit.generator_gap import TimeBetween, time_between
from harness.analysis.tables.settled import settled_requests
from harness.formats.wrk_histogram import LatencyHistogram
from harness.model import ClosedLoad, Frozen, LoadProfile, LoadSummary

#: Of the laws, as a share: users are not alike, and means stand for all of them.
LAW_TOLERANCE = 0.10
#: Of Little's law, counted at even instants.
COUNTED_TOLERANCE = 0.05
#: Of what is one number written twice.
SAME = 1e-6

Result = Literal["held", "failed", "not applicable"]


class TrialCheck(Frozen):
    """One check of one trial. ``expected``, ``found`` None: it could not be made, see ``why``."""

    name: str
    result: Result
    expected: float | None = None
    found: float | None = None
    why: str = Field(default="", description="why it could not be made; of a failure, both numbers")


@dataclass(frozen=True, kw_only=True)
class AuditedTrial:
    """What is known of a trial in three ways: its row in ``trials.parquet``, its record's load, its requests."""

    row: Mapping[str, object]
    load: LoadSummary
    profile: LoadProfile
    requests: pd.DataFrame | None
    """From the first one on, those begun while programs still settled too."""
    settle_s: float = 0.0
    """The head of the load that its row does not count."""
    histogram: LatencyHistogram | None = None
    """Where the tool counts latencies and writes no single requests: what was restored of it from its file."""

    @cached_property
    def counted(self) -> pd.DataFrame | None:
        """The requests that the row speaks of; ``None``: the tool writes no single ones."""
        return None if self.requests is None else settled_requests(self.requests, self.settle_s)

    @property
    def counted_s(self) -> float:
        """For how long they were under way: from the end of the head to the last answer."""
        return self.load.duration_s - self.settle_s

    @property
    def n_counted(self) -> tuple[int, int] | None:
        """How many requests count, and how many of them were answered rightly; ``None``: it cannot be told."""
        if self.settle_s == 0:
            return self.load.n_requests, self.load.n_requests - self.load.n_errors
        counted = self.counted
        return None if counted is None else (len(counted), int(counted["ok"].sum()))

    @property
    def requests_each(self) -> tuple[int | None, str]:
        """How many requests each user sends; ``None`` with the reason where that is not fixed."""
        profile, load = self.profile, self.load
        if not isinstance(profile, ClosedLoad) or profile.loops is None:
            return None, "the load ends after a time, not after loops"
        if load.n_flows is None:
            return profile.loops, ""
        if load.n_flows_right != load.n_flows or load.n_errors:
            return None, "passes ended at their first wrong answer"
        if not load.n_flows or load.n_requests % load.n_flows:
            return None, "passes differ in length"
        return profile.loops * (load.n_requests // load.n_flows), ""

    @cached_property
    def between(self) -> TimeBetween | None:
        """What users waited inside the generator; ``None``: it cannot be told, or nobody sent a second request.

        Raises:
            InputError: more requests than these users send.
        """
        each, _ = self.requests_each
        if self.requests is None or each is None or not isinstance(self.profile, ClosedLoad):
            return None
        return time_between(
            self.requests["start_epoch_s"].to_numpy(),
            self.requests["latency_s"].to_numpy(),
            users=self.profile.users,
            requests_each=each,
            ramp_up_s=self.profile.ramp_up_s,
            resolution_s=self.load.resolution_s,
        )


def number_of(trial: AuditedTrial, column: str) -> float | None:
    """Return a cell of the trial's row; ``None``: the table has no such column, or no number there."""
    value = trial.row.get(column)
    return None if value is None or pd.isna(value) else float(value)  # type: ignore[arg-type, call-overload]  # a cell of a table: a number or NaN


def near(name: str, expected: float, found: float | None, tolerance: float) -> TrialCheck:
    """Hold a number against the expected one; ``tolerance``: a share of that."""
    if found is None:
        return cannot(name, "it is not in the table")
    return judged(name, expected, found, abs(found - expected) <= tolerance * abs(expected))


def exact(name: str, expected: int, found: float | None) -> TrialCheck:
    """Hold a count against the expected one."""
    return near(name, float(expected), found, 0.0)


def judged(name: str, expected: float, found: float, held: bool, bound: str = "") -> TrialCheck:
    """Return a check that was made; ``bound``: words before the expected number, such as ``at most``."""
    why = "" if held else f"expected {bound}{expected:.6g}, found {found:.6g}"
    return TrialCheck(name=name, result="held" if held else "failed", expected=expected, found=found, why=why)


def cannot(name: str, why: str) -> TrialCheck:
    """Return a check that could not be made."""
    return TrialCheck(name=name, result="not applicable", why=why)
