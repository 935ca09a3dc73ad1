# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of intervals, along the last axis of any array.

The public functions call these with one experiment, ``harness verify`` with thousands
of simulated ones: what is verified is what is used. Bounds that cannot be had are NaN here,
and become ``None`` with a warning one floor up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import Floats

#: Above these the rank distributions are taken as normal; exact ones would cost more than they tell.
EXACT_SIGNED_RANK_UP_TO = 200
EXACT_RANK_SUM_UP_TO = 60


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Centre and interval, each of the input's shape without its last axis; NaN: cannot be had."""

    centre: Floats
    low: Floats
    high: Floats


def t_critical(level: float, degrees: ArrayLike) -> Floats:
    """Return the two-sided critical value of Student's t; NaN where ``degrees`` is not positive."""
    df = np.asarray(degrees, dtype=np.float64)
    return np.where(df > 0, scipy.special.stdtrit(np.where(df > 0, df, 1.0), 0.5 + level / 2), np.nan)


def t_two_sided_p(statistic: ArrayLike, degrees: ArrayLike) -> Floats:
    """Return the two-sided p of a t statistic."""
    df, t = np.asarray(degrees, dtype=np.float64), np.asarray(statistic, dtype=np.float64)
    return np.asarray(2.0 * scipy.special.stdtr(df, -np.abs(t)), dtype=np.float64)


def is_constant(values: Floats, *, least: float = 0.0) -> bool:
    """Tell whether values differ by no more than rounding: then no interval can be had from them.

    ``least``: rounding is that of numbers this large even where all are smaller; 1 for differences of
    logarithms, 0 where another unit of the same values must change nothing.
    """
    low, high = float(np.min(values)), float(np.max(values))
    return high - low <= 1e-12 * max(least, abs(low), abs(high))


def mean_and_error(values: Floats) -> tuple[Floats, Floats, int]:
    """Return mean, standard error and degrees of freedom over the last axis (error NaN for one value)."""
    k = values.shape[-1]
    centre = np.asarray(values.mean(axis=-1), dtype=np.float64)
    if k < 2:
        return centre, np.full_like(centre, np.nan), 0
    error = np.asarray(values.std(axis=-1, ddof=1) / np.sqrt(k), dtype=np.float64)
    return centre, error, k - 1


def student(values: Floats, level: float) -> Bounds:
    """One sample t: mean of ``values`` (shape (..., k)); the paired interval when these are differences."""
    centre, error, df = mean_and_error(values)
    half = t_critical(level, df) * error
    return Bounds(centre=centre, low=centre - half, high=centre + half)


def two_sample_error(a: Floats, b: Floats, *, welch: bool) -> tuple[Floats, Floats]:
    """Return the standard error of mean(a) - mean(b) and its degrees of freedom.

    Welch with Satterthwaite's degrees of freedom, or Student's with a pooled variance.
    """
    m, n = a.shape[-1], b.shape[-1]
    if m < 2 or n < 2:
        nothing = np.full(a.shape[:-1], np.nan)
        return nothing, np.zeros_like(nothing)
    va, vb = a.var(axis=-1, ddof=1), b.var(axis=-1, ddof=1)
    if not welch:
        pooled = ((m - 1) * va + (n - 1) * vb) / (m + n - 2)
        return np.sqrt(pooled * (1 / m + 1 / n)), np.full_like(va, m + n - 2.0)
    ea, eb = va / m, vb / n
    bottom = ea**2 / (m - 1) + eb**2 / (n - 1)
    df = np.divide((ea + eb) ** 2, bottom, out=np.zeros_like(bottom), where=bottom > 0)
    return np.sqrt(ea + eb), df


def two_sample(a: Floats, b: Floats, level: float, *, welch: bool) -> Bounds:
    """t interval of mean(a) - mean(b), shapes (..., m) and (..., n)."""
    centre = np.asarray(a.mean(axis=-1) - b.mean(axis=-1), dtype=np.float64)
    error, df = two_sample_error(a, b, welch=welch)
    half = t_critical(level, df) * error
    return Bounds(centre=centre, low=centre - half, high=centre + half)


def fieller(a: Floats, b: Floats, level: float, *, paired: bool) -> Bounds:
    """Fieller's interval of mean(a) / mean(b), for one experiment; NaN bounds when it is unbounded.

    Source: Fieller 1954; paired arms enter with their covariance, unpaired ones with Satterthwaite's
    degrees of freedom for the difference.
    """
    ma, mb = float(a.mean()), float(b.mean())
    va, vb = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    if paired:
        cov, df = float(np.cov(a, b, ddof=1)[0, 1]) / a.size, float(a.size - 1)
    else:
        cov, df = 0.0, float(two_sample_error(a, b, welch=True)[1])
    t2 = float(t_critical(level, df)) ** 2
    # roots of (mb^2 - t2 vb) r^2 - 2 (ma mb - t2 cov) r + (ma^2 - t2 va) = 0
    square, cross, constant = mb**2 - t2 * vb, ma * mb - t2 * cov, ma**2 - t2 * va
    inside = cross**2 - square * constant
    centre = np.asarray(ma / mb)
    if not (square > 0 and inside >= 0):
        return Bounds(centre=centre, low=np.asarray(np.nan), high=np.asarray(np.nan))
    root = np.sqrt(inside)
    return Bounds(
        centre=centre, low=np.asarray((cross - root) / square), high=np.asarray((cross + root) / square)
    )


def signed_rank_cdf(k: int) -> Floats:
    """Return P(T+ <= t) of Wilcoxon's signed-rank statistic for t = 0 .. k(k+1)/2, no ties."""
    total = k * (k + 1) // 2
    mass = np.zeros(total + 1)
    mass[0] = 1.0
    for rank in range(1, k + 1):
        shifted = np.zeros_like(mass)
        shifted[rank:] = mass[:-rank]
        mass = (mass + shifted) / 2
    return np.cumsum(mass)


def rank_sum_cdf(m: int, n: int) -> Floats:
    """Return P(U <= u) of the Mann-Whitney statistic for u = 0 .. m n, no ties."""
    # P(i, j) = i/(i+j) P(i-1, j) shifted by j + j/(i+j) P(i, j-1): only sums, so nothing cancels
    size = m * n + 1
    start = np.zeros(size)
    start[0] = 1.0
    row = [start] * (n + 1)
    for i in range(1, m + 1):
        fresh = [start]
        for j in range(1, n + 1):
            mass = j / (i + j) * fresh[j - 1]
            mass[j:] += i / (i + j) * row[j][: size - j]
            fresh.append(mass)
        row = fresh
    return np.cumsum(row[n])


def depth_from_cdf(cdf: Floats, level: float) -> tuple[int, float]:
    """Return how many ordered values to cut at each end, and the level that this attains (0: none can)."""
    alpha = (1 - level) / 2
    cut = int(np.searchsorted(cdf, alpha * (1 + 1e-9), side="right"))
    return cut, (1 - 2 * float(cdf[cut - 1]) if cut else 0.0)


def normal_depth(mean: float, deviation: float, level: float) -> int:
    """Return the normal approximation of :func:`depth_from_cdf`, with continuity correction."""
    return max(0, int(np.floor(mean + 0.5 - float(scipy.special.ndtri(0.5 + level / 2)) * deviation)))


def signed_rank_depth(k: int, level: float) -> tuple[int, float]:
    """Depth into the sorted Walsh averages of k values, and the level attained (exact up to k = 200)."""
    if k <= EXACT_SIGNED_RANK_UP_TO:
        return depth_from_cdf(signed_rank_cdf(k), level)
    return normal_depth(k * (k + 1) / 4, float(np.sqrt(k * (k + 1) * (2 * k + 1) / 24)), level), level


def rank_sum_depth(m: int, n: int, level: float) -> tuple[int, float]:
    """Depth into the sorted m n differences, and the level attained (exact up to 60 trials an arm)."""
    if max(m, n) <= EXACT_RANK_SUM_UP_TO:
        return depth_from_cdf(rank_sum_cdf(m, n), level)
    return normal_depth(m * n / 2, float(np.sqrt(m * n * (m + n + 1) / 12)), level), level


def signed_rank(values: Floats, level: float) -> Bounds:
    """Hodges-Lehmann centre of shape (..., k) with the interval that inverts the signed-rank test."""
    k = values.shape[-1]
    i, j = np.triu_indices(k)
    walsh = np.sort((values[..., i] + values[..., j]) / 2, axis=-1)
    return _cut(walsh, signed_rank_depth(k, level)[0])


def rank_sum(a: Floats, b: Floats, level: float) -> Bounds:
    """Hodges-Lehmann shift of a against b with the interval that inverts the Mann-Whitney test."""
    differences = a[..., :, None] - b[..., None, :]
    flat = np.sort(differences.reshape(*differences.shape[:-2], -1), axis=-1)
    return _cut(flat, rank_sum_depth(a.shape[-1], b.shape[-1], level)[0])


def _cut(ordered: Floats, depth: int) -> Bounds:
    centre = np.asarray(np.median(ordered, axis=-1), dtype=np.float64)
    if depth < 1:
        nothing = np.full_like(centre, np.nan)
        return Bounds(centre=centre, low=nothing, high=nothing)
    return Bounds(centre=centre, low=ordered[..., depth - 1], high=ordered[..., -depth])
