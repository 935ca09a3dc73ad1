# SPDX-License-Identifier: Apache-2.0
"""A check of one measured trial: what it is made on, what it may say, and how it is held.

A check that cannot be made says why and is neither held nor failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd
from pydantic import Field

from harness.formats.wrk_histogram import LatencyHistogram
from harness.model import Frozen, LoadProfile, LoadSummary

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
    histogram: LatencyHistogram | None = None
    """Where the tool counts latencies and writes no single requests: what was restored of it from its file."""


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
