# SPDX-License-Identifier: Apache-2.0
"""What speaks against the trials of one arm: two groups, a drift, outliers."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import FEWEST_TRIALS, Floats, finite, trial_values
from harness.errors import InputError

#: Fewer trials than these cannot show two groups of at least two, or a trend.
FEWEST_FOR_MODES = 6
FEWEST_FOR_DRIFT = 8
ALPHA = 0.01


def check_assumptions(values: ArrayLike, *, positions: ArrayLike | None = None) -> tuple[str, ...]:
    """Return what speaks against one arm's per-trial values, shape (k,): two groups, drift, outliers, few trials.
    ``positions``: when each trial ran, shape (k,); in the given order if absent. Raises InputError: see
    :func:`trial_values`; positions of another length."""
    x = trial_values(values, "values")
    order = np.arange(x.size, dtype=np.float64) if positions is None else finite(positions, "positions")
    if order.size != x.size:
        pairs = f"{order.size} for {x.size}"
        raise InputError("one position per value", found=pairs, allowed="equal lengths")
    warnings: tuple[str, ...] = ()
    sizes = _modes(x)
    if sizes is not None:
        groups = f"{sizes[0]} low, {sizes[1]} high"
        warnings += (f"two groups of trials ({groups}): no single value describes them",)
    if x.size >= FEWEST_FOR_DRIFT and np.ptp(x) > 0 and np.ptp(order) > 0:
        drift_p = float(scipy.stats.kendalltau(order, x).pvalue)
        if drift_p < ALPHA:
            warnings += (f"values drift with the order of the trials (p = {drift_p:.2g})",)
    far = np.abs(x - np.median(x))
    spread = 1.4826 * float(np.median(far))
    outliers = int(np.count_nonzero(far > 5 * spread)) if spread else 0
    if outliers and sizes is None:
        warnings += (f"{outliers} of {x.size} trials lie far from the rest; they are kept",)
    if x.size < FEWEST_TRIALS:
        warnings += (f"{x.size} trials are too few for anything but a first look",)
    return warnings


def gap_statistic(values: Floats) -> tuple[Floats, Floats]:
    """Return the widest gap over the spread within its sides (two values or more), and how many lie below it."""
    x = np.sort(values, axis=-1)
    k = x.shape[-1]
    below = np.arange(2, k - 1)
    sums, squares = np.cumsum(x, axis=-1), np.cumsum(x**2, axis=-1)
    left = squares[..., below - 1] - sums[..., below - 1] ** 2 / below
    rest, rest2 = sums[..., -1:] - sums[..., below - 1], squares[..., -1:] - squares[..., below - 1]
    right = rest2 - rest**2 / (k - below)
    floor = 1e-24 + 1e-18 * squares[..., -1:]
    within = np.sqrt(np.maximum(left + right, floor) / (k - 2))
    ratio = (x[..., below] - x[..., below - 1]) / within
    best = np.argmax(ratio, axis=-1)
    return np.take_along_axis(ratio, best[..., None], axis=-1)[..., 0], below[best].astype(np.float64)


@cache
def gap_critical(k: int) -> float:
    """Return the value that the gap statistic of k normal values exceeds with probability ``ALPHA``."""
    rng = np.random.default_rng(k)  # the same k gives the same bar
    return float(np.quantile(gap_statistic(rng.standard_normal((4000, k)))[0], 1 - ALPHA))


def _modes(x: Floats) -> tuple[int, int] | None:
    """Return how many trials lie below and above the gap between two groups; ``None``: no two groups are shown."""
    if x.size < FEWEST_FOR_MODES:
        return None
    work = np.log(x) if x.min() > 0 else x
    work = work - work.mean()
    if np.ptp(work) <= 1e-12:
        return None
    gap, below = gap_statistic(work)
    return (int(below), int(x.size - below)) if gap > gap_critical(x.size) else None
