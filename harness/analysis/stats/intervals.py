# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of intervals, along the last axis of any array, and estimates made of them.

Bounds that cannot be had are NaN, and become ``None`` with a warning in an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import Floats
from harness.model import Estimate, Support, support_of


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
    """Return whether values differ by no more than the rounding of numbers as large as ``least``: 1 for logarithms."""
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
    return _bounds(centre, t_critical(level, df) * error)


def _bounds(centre: Floats, half: Floats) -> Bounds:
    return Bounds(centre=centre, low=centre - half, high=centre + half)


def two_sample_error(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the standard error of mean(a) - mean(b) and its degrees of freedom (Welch-Satterthwaite)."""
    m, n = a.shape[-1], b.shape[-1]
    if m < 2 or n < 2:
        nothing = np.full(a.shape[:-1], np.nan)
        return nothing, np.zeros_like(nothing)
    ea, eb = a.var(axis=-1, ddof=1) / m, b.var(axis=-1, ddof=1) / n
    bottom = ea**2 / (m - 1) + eb**2 / (n - 1)
    df = np.divide((ea + eb) ** 2, bottom, out=np.zeros_like(bottom), where=bottom > 0)
    return np.sqrt(ea + eb), df


def two_sample(a: Floats, b: Floats, level: float) -> Bounds:
    """Welch's t interval of mean(a) - mean(b), shapes (..., m) and (..., n)."""
    error, df = two_sample_error(a, b)
    return _bounds(np.asarray(a.mean(axis=-1) - b.mean(axis=-1)), t_critical(level, df) * error)


def fieller(a: Floats, b: Floats, level: float) -> Bounds:
    """Fieller's interval of mean(a) / mean(b) (1954, Satterthwaite's degrees of freedom); NaN: it is unbounded."""
    ma, mb = float(a.mean()), float(b.mean())
    va, vb = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    df = float(two_sample_error(a, b)[1])
    t2 = float(t_critical(level, df)) ** 2
    # roots of (mb^2 - t2 vb) r^2 - 2 ma mb r + (ma^2 - t2 va) = 0
    square, cross, constant = mb**2 - t2 * vb, ma * mb, ma**2 - t2 * va
    inside = cross**2 - square * constant
    has_ends = square > 0 and inside >= 0
    low, high = ((cross + s * np.sqrt(inside)) / square if has_ends else np.nan for s in (-1, 1))
    return Bounds(centre=np.asarray(ma / mb), low=np.asarray(low), high=np.asarray(high))


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


def signed_rank_depth(k: int, level: float) -> tuple[int, float]:
    """Return the depth into the sorted Walsh averages of k values, and the level that it attains (0: none can)."""
    cdf, alpha = signed_rank_cdf(k), (1 - level) / 2
    cut = int(np.searchsorted(cdf, alpha * (1 + 1e-9), side="right"))
    return cut, (1 - 2 * float(cdf[cut - 1]) if cut else 0.0)


def signed_rank(values: Floats, level: float) -> Bounds:
    """Hodges-Lehmann centre of shape (..., k) with the interval that inverts the signed-rank test."""
    k = values.shape[-1]
    i, j = np.triu_indices(k)
    walsh = np.sort((values[..., i] + values[..., j]) / 2, axis=-1)
    centre = np.asarray(np.median(walsh, axis=-1), dtype=np.float64)
    depth = signed_rank_depth(k, level)[0]
    if depth < 1:
        return Bounds(centre=centre, low=np.full_like(centre, np.nan), high=np.full_like(centre, np.nan))
    return Bounds(centre=centre, low=walsh[..., depth - 1], high=walsh[..., -depth])


CONSTANT = "no variation between trials (below the resolution?): no interval"
BEYOND = "the interval reaches beyond what can be: too noisy for this method, no interval"
ONE_TRIAL = "one trial: a value without an interval; repeat it with a fresh process"

#: An interval that holds both of these says nothing: nearly none and nearly all; a half less and twice as much.
_BOTH_WAYS = {Support.SHARE: (0.1, 0.9), Support.REDUCTION: (-1.0, 0.5)}


def withheld(estimate: Estimate) -> Estimate:
    """Return the estimate, without a value where the interval of a share or reduction leaves open which way it goes."""
    low, high, ends = estimate.low, estimate.high, _BOTH_WAYS.get(estimate.support)
    if ends is None or low is None or high is None or low >= ends[0] or high <= ends[1]:
        return estimate
    reach = f"from below {ends[0]:.0%} to above {ends[1]:.0%}"
    why = f"cannot be said: the interval over {estimate.n_trials} trials reaches {reach}"
    unknown = dict.fromkeys(("value", "low", "high"))
    return estimate.model_copy(update={**unknown, "warnings": (*estimate.warnings, why)})


def widest(values: Floats, support: Support) -> Support:
    """Return the support, or a wider one where values are given that lie outside of it."""
    wider = (support, Support.NOT_NEGATIVE, Support.REAL)
    ends = (float(values.min()), float(values.max())) if values.size else ()
    return next(item for item in wider if all(map(item.has, ends)))


def nothing(
    *warnings: str, estimand: str, unit: str, level: float = 0.95, method: str = "none", n_trials: int = 0,
    inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return an estimate without a value, and the reasons."""
    return Estimate(
        value=None, level=level, unit=unit, method=method, estimand=estimand, n_trials=n_trials, inputs=inputs,
        warnings=warnings,
    )  # fmt: skip


def from_bounds(
    back: np.ufunc | None, bounds: Bounds, *, method: str, estimand: str, unit: str, n_trials: int, level: float,
    inputs: tuple[str, ...], constant: bool, extra: tuple[str, ...] = (),
    unbounded: str = "too few trials for an interval", support: Support | None = None,
) -> Estimate:  # fmt: skip
    """Turn bounds into an estimate: NaN, or outside of the support (by the unit), become ``None`` with a warning."""
    centre, low, high = (
        float(v if back is None else back(v)) for v in (bounds.centre, bounds.low, bounds.high)
    )
    warnings = extra
    has_ends = bool(np.isfinite(low) and np.isfinite(high))
    # Ties may leave both ends of a rank interval on one value: that is the resolution, not certainty.
    constant = constant or (has_ends and low == high)
    support = support_of(unit) if support is None else support
    possible = not has_ends or (support.has(low) and support.has(high))
    has_interval = has_ends and not constant and possible
    if not possible and not constant:
        warnings += (BEYOND,)
    elif not has_interval and not extra:
        warnings += (CONSTANT if constant and n_trials > 1 else ONE_TRIAL if n_trials < 2 else unbounded,)
    elif constant and n_trials > 1:
        warnings += (CONSTANT,)
    return Estimate(
        value=centre, low=low if has_interval else None, high=high if has_interval else None, level=level,
        unit=unit, support=support, method=method, estimand=estimand, n_trials=n_trials, inputs=inputs,
        warnings=warnings,
    )  # fmt: skip
