# SPDX-License-Identifier: Apache-2.0
"""What the analysis says: an estimate with its interval, and the verdict on a comparison."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from harness.model.base import Frozen


class Verdict(StrEnum):
    """The four things a comparison can say."""

    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    DIFFERENT_BUT_NEGLIGIBLE = "different_but_negligible"
    INCONCLUSIVE = "inconclusive"


class Estimate(Frozen):
    """A value with its interval over trials. ``None`` in value or bounds: cannot be said, see ``warnings``."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    unit: str = Field(description="s, B, 1/s, ratio, cores, ...; values are kept unrounded")
    method: str
    estimand: str = Field(description="what is estimated: geometric mean over trials of ..., ...")
    n_trials: int = Field(ge=0)
    n_requests: int | None = None
    seed: int | None = None
    inputs: tuple[str, ...] = Field(default=(), description="trials it came from: experiment/session/trial")
    warnings: tuple[str, ...] = ()
