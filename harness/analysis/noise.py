# SPDX-License-Identifier: Apache-2.0
"""What the machine cannot tell apart: the reference against its own duplicate."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.audit import aa_test
from harness.analysis.trial_table import inputs_of, pair_by_block, require, split_excluded, split_missing
from harness.model import Estimate
from harness.model.base import Frozen


class AANoise(Frozen):
    """The reference against its own duplicate: what this machine cannot tell apart."""

    metric: str
    ratio: Estimate
    noise: float | None = Field(
        description="the smallest margin at which the reference is equivalent to itself (90 % interval)"
    )
    p_value: float | None
    n_blocks: int
    warnings: tuple[str, ...]


def aa_noise(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> AANoise:
    """Return the reference against its duplicate of the same block and configuration.

    ``noise`` is the smallest margin at which the two-sided equivalence test (90 %) would call the
    reference equal to itself: no smaller difference should be called negligible or meaningful here.
    ``None`` with a warning when there are fewer than two pairs.
    """
    require(trials, metric, ())
    kept, _ = split_excluded(trials)
    kept, warnings = split_missing(kept, metric)
    duplicate = kept["duplicate"].astype(bool)
    doubled = kept[duplicate]
    twins = kept[~duplicate & kept["configuration"].isin(doubled["configuration"])]
    a, b, _ = pair_by_block(twins, doubled, also=("configuration",))
    x, y = (arm[metric].to_numpy(dtype=np.float64) for arm in (a, b))
    if len(a) < 2 or min(x.min(), y.min()) <= 0:
        return AANoise(
            metric=metric,
            ratio=no_ratio(metric, len(a), level),
            noise=None,
            p_value=None,
            n_blocks=len(a),
            warnings=(*warnings, "no A/A pairs to measure the noise with"),
        )
    estimand = f"ratio of geometric means of {metric}, reference over its duplicate"
    found = aa_test(x, y, level=level)
    return AANoise(
        metric=metric,
        ratio=found.ratio.model_copy(update={"estimand": estimand, "inputs": inputs_of(pd.concat([a, b]))}),
        noise=found.noise,
        p_value=found.p_value,
        n_blocks=len(a),
        warnings=(*warnings, *found.warnings),
    )


def no_ratio(metric: str, n: int, level: float) -> Estimate:
    """Return the estimate that says nothing."""
    return Estimate(
        value=None,
        level=level,
        unit="ratio",
        method="none",
        estimand=f"ratio of {metric}",
        n_trials=n,
        warnings=("cannot be said",),
    )
