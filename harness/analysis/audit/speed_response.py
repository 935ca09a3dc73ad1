# SPDX-License-Identifier: Apache-2.0
"""Did the speed of the machine's CPUs change over a session, and did a metric follow it?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.analysis.audit.slopes import slope_within
from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.pairing import inputs_of
from harness.analysis.tables.speed_columns import SERVICE, at_other_speed, faster_step_s
from harness.model import Estimate, Support


@dataclass(frozen=True, kw_only=True)
class SpeedResponse:
    """A metric against the CPU time of the fixed calculation, trial by trial.

    ``trials``: those with a reading, excluded for their speed or kept, with two columns more: ``slower``, that CPU time
    over that of the session's faster trials, and ``relative``, the metric over the median of its variant's kept ones.
    ``elasticity``: by how many percent the metric changes where that CPU time is one percent longer.
    """

    trials: pd.DataFrame
    n_excluded: int
    elasticity: Estimate


def speed_response(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> SpeedResponse | None:
    """Return how a metric followed the speed of the service's CPUs; ``None``: their speed was not read.

    The elasticity is the slope of the logarithms within variants. Trials that were excluded for their speed are what it
    is best told from, so they count here.

    Args:
        trials: of one session under one load, excluded ones too.
    """
    told = trials[(~trials["excluded"].astype(bool) | at_other_speed(trials)) & trials[SERVICE].notna()]
    told = told[told[metric] > 0]
    if told.empty:
        return None
    kept = told[~told["excluded"].astype(bool)]
    usual = kept.groupby("variant")[metric].median()
    told = told.assign(
        slower=told[SERVICE] / faster_step_s(told[SERVICE]),
        relative=told[metric] / told["variant"].map(usual),
    )
    what = f"percent by which {metric} changes where a fixed calculation takes one percent more CPU time"
    found = slope_within(
        np.log(told[SERVICE].to_numpy(dtype=np.float64)),
        np.log(told[metric].to_numpy(dtype=np.float64)),
        told["variant"].to_numpy(dtype=object),
        level=level,
    )
    elasticity = (
        nothing("too few trials of each variant", estimand=what, unit="1", level=level)
        if found is None
        else Estimate(
            value=found.value, low=found.low, high=found.high, level=level, unit="1",
            support=Support.REAL,
            method="line through logarithms within variants", estimand=what, n_trials=len(told), inputs=inputs_of(told),
        )
    )  # fmt: skip
    return SpeedResponse(trials=told, n_excluded=len(told) - len(kept), elasticity=elasticity)


__all__ = ["SpeedResponse", "speed_response"]
