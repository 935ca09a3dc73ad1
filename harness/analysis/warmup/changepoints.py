# SPDX-License-Identifier: Apache-2.0
"""Change points in mean and variance of a series of windows: PELT, exact.

The cost of a segment is the Gaussian one, ``n log(variance)``, so a change in either
moment pays. The segmentation that minimises cost plus penalty is found exactly (Killick,
Fearnhead & Eckley 2012); it equals ``ruptures.Pelt(model="normal", jump=1)``.

The cost takes windows for independent. Where they follow each other, many of the points
found here are not changes: ``harness.analysis.warmup.classify`` asks each of them again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen

#: Default penalty in units of log(number of windows).
PENALTY_PER_LOG_N = 15.0
#: Added to the variance of a segment, in units of the whole series' variance: without it
#: a constant segment (whole-millisecond data) would be infinitely good.
VARIANCE_FLOOR = 1e-6


class ChangePoints(Frozen):
    """Where a series changes. Each index is the first window of a new segment."""

    indices: tuple[int, ...] = Field(description="first window of each segment but the first, ascending")
    n_windows: int = Field(ge=0)
    penalty: float = Field(description="what one more change point must gain; -2 log likelihood")
    min_size: int = Field(description="shortest segment, in windows")
    method: str
    warnings: tuple[str, ...] = ()


def detect_changepoints(
    values: npt.ArrayLike, *, penalty: float | None = None, min_size: int = 2
) -> ChangePoints:
    """Return the segmentation of ``values`` that minimises Gaussian cost plus penalty, exactly.

    Args:
        values: one number per window, shape (n,), any unit; equal windows in time order.
        penalty: price of a change point, > 0; default 15 log n. It supposes independent windows.
        min_size: shortest segment in windows, at least 2.

    Returns:
        The change points; none for a constant series or one shorter than two segments.
        The result does not depend on scale or offset, and reverses with the series.

    Raises:
        InputError: not one-dimensional, a value is not finite, penalty <= 0 or min_size < 2.
    """
    series = checked_series(values)
    if min_size < 2:
        raise InputError("a segment needs two windows for a variance", found=min_size, allowed=">= 2")
    n = len(series)
    if penalty is None:
        penalty = PENALTY_PER_LOG_N * float(np.log(max(n, 2)))
    if not (np.isfinite(penalty) and penalty > 0):
        raise InputError("the penalty of a change point must be positive", found=penalty, allowed="> 0")
    warnings: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()
    if n < 2 * min_size:
        warnings = (f"cannot say: {n} windows are fewer than two segments of {min_size}",)
    elif (unit := standardised(series)) is not None:
        indices = _optimal_partition(unit, penalty, min_size)
    return ChangePoints(
        indices=indices,
        n_windows=n,
        penalty=penalty,
        min_size=min_size,
        method="PELT, Gaussian cost (mean and variance)",
        warnings=warnings,
    )


def checked_series(values: npt.ArrayLike) -> FloatArray:
    """Return ``values`` as a finite float array of shape (n,).

    Raises:
        InputError: not one-dimensional, or a value is not finite; the message names the window.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1:
        raise InputError("a series has one number per window", found=series.shape, allowed="shape (n,)")
    bad = np.flatnonzero(~np.isfinite(series))
    if len(bad):
        raise InputError(
            "a window has no finite value (no request completed in it?); use longer windows or throughput",
            place=f"window {bad[0]} and {len(bad) - 1} more",
            found=float(series[bad[0]]),
            allowed="finite numbers",
        )
    return series


def standardised(series: FloatArray) -> FloatArray | None:
    """Return the series with mean 0 and variance 1, or None when it is constant."""
    mean, spread = mean_and_spread(series)
    if spread == 0.0:
        return None
    unit: FloatArray = series / spread - mean / spread
    return unit


def mean_and_spread(series: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation; 0 for a spread that is only rounding, and no overflow on the way."""
    peak = float(np.abs(series).max(initial=0.0))
    if peak == 0.0:
        return 0.0, 0.0
    near_one = series / peak
    spread = float(near_one.std())
    # Rounding of the mean alone leaves about 1e-16 of the level as "spread".
    return peak * float(near_one.mean()), peak * spread if spread > 1e-13 else 0.0


def _optimal_partition(unit: FloatArray, penalty: float, min_size: int) -> tuple[int, ...]:
    n = len(unit)
    total = np.concatenate([[0.0], np.cumsum(unit)]).tolist()
    squares = np.concatenate([[0.0], np.cumsum(unit * unit)]).tolist()
    best = [np.inf] * (n + 1)
    best[0] = -penalty
    previous = [0] * (n + 1)
    # A column for each start that may still win: its place, sum and sum of squares before it, best cost up to it, and
    # the end from which on it is left out.
    starts = np.empty((5, n + 1))
    starts[:, 0] = 0.0, 0.0, 0.0, -penalty, n + 1
    n_starts, next_retires = 1, n + 1
    for end in range(min_size, n + 1):
        if end >= next_retires:
            alive = np.flatnonzero(starts[4, :n_starts] > end)
            n_starts = len(alive)
            starts[:, :n_starts] = starts[:, alive]
            next_retires = int(starts[4, :n_starts].min(initial=n + 1))
        start, total_before, squares_before, best_before, retires = starts[:, :n_starts]
        length = end - start
        mean = (total[end] - total_before) / length
        variance = np.maximum((squares[end] - squares_before) / length - mean * mean, 0.0)
        cost = best_before + length * np.log(variance + VARIANCE_FLOOR)
        chosen = int(cost.argmin())
        best[end] = float(cost[chosen]) + penalty
        previous[end] = int(start[chosen])
        # A start that loses even without paying a penalty can never win again, but only once
        # ``end`` itself may be a start: min_size windows later. Sooner would not be exact.
        lost = cost > best[end]
        if lost.any():
            np.minimum(retires, end + min_size, out=retires, where=lost)
            next_retires = min(next_retires, end + min_size)
        if (begin := end + 1 - min_size) >= min_size:
            starts[:, n_starts] = begin, total[begin], squares[begin], best[begin], n + 1
            n_starts += 1
    indices: list[int] = []
    at = previous[n]
    while at > 0:
        indices.append(at)
        at = previous[at]
    return tuple(reversed(indices))
