# SPDX-License-Identifier: Apache-2.0
"""A line through the points of several groups, each relative to its own mean: one slope for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import t_critical, t_two_sided_p

#: Degrees of freedom below which no interval is given.
FEWEST_DEGREES = 2


@dataclass(frozen=True, kw_only=True)
class Slope:
    """A least-squares slope with its t interval. ``p_value``: of no slope; ``None``: all points are on the line."""

    value: float
    low: float
    high: float
    p_value: float | None


def slope_within(
    x: Floats, y: Floats, groups: np.ndarray[tuple[int, ...], np.dtype[np.object_]], *, level: float = 0.95
) -> Slope | None:
    """Return the common slope of ``y`` over ``x`` within groups, all of shape (n,); the group means count as estimated.

    It equals that of a linear model with a mean for each group (analysis of covariance). ``None``: fewer than
    ``FEWEST_DEGREES`` degrees of freedom are left, or no group has two different values of ``x``.
    """
    degrees = len(y) - len(set(groups)) - 1
    x, y = _centred(x, groups), _centred(y, groups)
    spread = float(x @ x)
    if degrees < FEWEST_DEGREES or spread <= 0:
        return None
    slope = float(x @ y) / spread
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / degrees / spread))
    wide = float(t_critical(level, degrees)) * error
    return Slope(
        value=slope,
        low=slope - wide,
        high=slope + wide,
        p_value=float(t_two_sided_p(slope / error, degrees)) if error > 0 else None,
    )


def _centred(values: Floats, groups: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> Floats:
    frame = pd.Series(values)
    return np.asarray((frame - frame.groupby(groups).transform("mean")).to_numpy(dtype=np.float64))


__all__ = ["Slope", "slope_within"]
