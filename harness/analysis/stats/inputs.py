# SPDX-License-Identifier: Apache-2.0
"""What the statistics accept: finite numbers, one per trial; and what speaks against the trials of one arm."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike, NDArray

from harness.errors import InputError, PseudoReplicationError

Floats = NDArray[np.float64]

#: Nobody makes more fresh processes than this for one cell of one experiment: beyond it, these are requests.
MAX_TRIALS = 200
#: Fewer trials, or blocks, than these decide nothing.
FEWEST_TRIALS = 5


def finite(values: ArrayLike, what: str) -> Floats:
    """Return ``values`` as float64, shape (n,), n >= 1. Raises InputError: not flat, not numbers, empty, not finite."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        allowed = "a flat sequence of numbers"
        raise InputError(f"{what} must be numbers", found=kind, allowed=allowed) from error
    if array.ndim != 1:
        raise InputError(f"{what} must be flat", found=f"shape {array.shape}", allowed="shape (n,)")
    if array.size == 0:
        raise InputError(f"{what} is empty", found="0 values", allowed="at least one")
    n_bad = int(np.count_nonzero(~np.isfinite(array)))
    if n_bad:
        why = f"{what} has missing or infinite values: leave such trials out, and count them"
        raise InputError(why, found=f"{n_bad} of {array.size}", allowed="finite numbers")
    return array


def trial_values(values: ArrayLike, what: str) -> Floats:
    """Return per-trial statistics, shape (k,): one number per fresh process, never one per request. Raises InputError:
    see :func:`finite`. PseudoReplicationError: there are so many values that they must be requests."""
    array = finite(values, what)
    if array.size > MAX_TRIALS:
        raise PseudoReplicationError(
            f"{what} has {array.size} values: these look like requests, and requests of one process are not "
            "independent; reduce each trial to one number"
        )
    return array


def arms(a: ArrayLike, b: ArrayLike, *, paired: bool) -> tuple[Floats, Floats]:
    """Return both arms of a comparison, (k,) and (k,) when paired, (m,) and (n,) else. Raises InputError: lengths."""
    left, right = trial_values(a, "a"), trial_values(b, "b")
    if paired and left.size != right.size:
        raise InputError(
            "paired arms need one value per block in each", found=f"{left.size} and {right.size} values",
            allowed="equal lengths; or paired=False when the session was not blocked",
        )  # fmt: skip
    return left, right


def starts_and_latencies(start_s: ArrayLike, latency_s: ArrayLike) -> tuple[Floats, Floats]:
    """Return both of one trial's requests, shapes (n,), seconds. Raises InputError: other shapes, not finite, below
    0."""
    start, latency = np.asarray(start_s, dtype=np.float64), np.asarray(latency_s, dtype=np.float64)
    if start.ndim != 1 or start.shape != latency.shape:
        shapes = (start.shape, latency.shape)
        raise InputError("start and latency must be two arrays of one length", found=shapes)
    n_bad = int(np.count_nonzero(~(np.isfinite(start) & np.isfinite(latency))))
    if n_bad:
        bad = f"{n_bad} of {start.size} are not"
        raise InputError("start and latency must be finite", found=bad, allowed="seconds")
    if (latency < 0).any():
        raise InputError("a latency is negative", found=float(latency.min()), allowed="seconds >= 0")
    return start, latency


def by_start(start: Floats, *more: Floats) -> tuple[Floats, ...]:
    """Return these arrays in the order of the first, shapes (n,); as they are where it ascends already."""
    if bool((start[1:] >= start[:-1]).all()):
        return start, *more
    order = np.argsort(start, kind="stable")
    return start[order], *(item[order] for item in more)


def fraction(value: float, what: str) -> float:
    """Return ``value`` when it lies strictly between 0 and 1 (a level, a quantile, an alpha)."""
    if not 0.0 < value < 1.0:
        allowed = "strictly between 0 and 1, such as 0.95"
        raise InputError(f"{what} out of range", found=value, allowed=allowed)
    return float(value)


#: In steps of the tool's resolution: a typical value below the first is refused, below the second flagged.
REFUSED_BELOW_STEPS = 2.0
COARSE_BELOW_STEPS = 20.0

#: Fewer trials than these cannot show two groups of at least two, or a trend.
FEWEST_FOR_MODES = 6
FEWEST_FOR_DRIFT = 8
ALPHA = 0.01

Resolution = Literal["fine", "coarse", "refused", "unknown"]
Statistic = Literal["mean", "quantile"]


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


def judge_resolution(
    typical: float, resolution: float | None, statistic: Statistic
) -> tuple[Resolution, float | None, tuple[str, ...]]:
    """Return what a typical value is worth at a tool's resolution, in how many steps, and the warning."""
    if resolution is None:
        return "unknown", None, ()
    if not resolution > 0:
        allowed = "above 0, or None"
        raise InputError("a resolution is a step", place="resolution", found=resolution, allowed=allowed)
    steps = typical / resolution
    if steps >= COARSE_BELOW_STEPS:
        return "fine", steps, ()
    why = f"{steps:.2g} steps of the tool's resolution"
    if steps < REFUSED_BELOW_STEPS and statistic == "quantile":
        return "refused", steps, (f"{why}: no quantile is reported below the tool's time resolution",)
    return "coarse", steps, (f"{why} (below {COARSE_BELOW_STEPS:.0f}): ratios may be off",)


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
def gap_critical(k: int, alpha: float = ALPHA) -> float:
    """Return the value that the gap statistic of k normal values exceeds with probability ``alpha``."""
    rng = np.random.default_rng(k)  # the same k gives the same bar
    return float(np.quantile(gap_statistic(rng.standard_normal((4000, k)))[0], 1 - alpha))


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
