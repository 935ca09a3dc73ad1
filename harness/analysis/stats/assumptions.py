# SPDX-License-Identifier: Apache-2.0
"""Reasons to distrust a set of trials: resolution, more than one mode, drift over the session, few trials."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.inputs import Floats, finite, fraction, trial_values
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.model.base import Frozen

#: In steps of the tool's resolution: a typical value below the first is refused, below the second flagged.
REFUSED_BELOW_STEPS = 2.0
COARSE_BELOW_STEPS = 20.0

#: Fewer trials than these cannot show two groups of at least two, or a trend.
FEWEST_FOR_MODES = 6
FEWEST_FOR_DRIFT = 8
ALPHA = 0.01

Resolution = Literal["fine", "coarse", "refused", "unknown"]
Statistic = Literal["mean", "quantile"]


class Assumptions(Frozen):
    """What the checks found. ``None``: cannot be said from so few trials."""

    n_trials: int
    resolution: Resolution
    resolution_steps: float | None = Field(description="median value / smallest step of the tool")
    multimodal: bool | None
    mode_sizes: tuple[int, int] | None = Field(default=None, description="trials below and above the gap")
    drift: bool | None
    drift_p: float | None = Field(default=None, description="Kendall's tau of value against position")
    outliers: tuple[int, ...] = Field(
        description="indices beyond 5 median absolute deviations; kept, not cut"
    )
    unseen_mode_share: float = Field(description="a mode rarer than this may be unseen (95 %)")
    warnings: tuple[str, ...]


def check_assumptions(
    values: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    resolution: float | None = None,
    statistic: Statistic = "quantile",
) -> Assumptions:
    """Check one arm's per-trial values, shape (k,).

    Args:
        positions: when each trial ran (running number or time), shape (k,); in the given order if absent.
        resolution: the tool's smallest step, in the unit of ``values``.
        statistic: below two steps a quantile is refused. A mean of many requests is flagged instead:
            whole-millisecond time stamps round start and end alike, which the mean forgives, but a tool
            that rounds durations down shifts it.

    Raises:
        InputError: see :func:`trial_values`; positions of another length; a resolution not above 0.
    """
    x = trial_values(values, "values")
    order = np.arange(x.size, dtype=np.float64) if positions is None else finite(positions, "positions")
    if order.size != x.size:
        raise InputError(
            "one position per value", found=f"{order.size} for {x.size}", allowed="equal lengths"
        )
    kind, steps, warnings = judge_resolution(float(np.median(x)), resolution, statistic)
    multimodal, sizes = _modes(x)
    if multimodal and sizes is not None:
        warnings += (
            f"two groups of trials ({sizes[0]} low, {sizes[1]} high): no single value describes them",
        )
    drift_p = _drift(x, order)
    if drift_p is not None and drift_p < ALPHA:
        warnings += (f"values drift with the order of the trials (p = {drift_p:.2g})",)
    outliers = _outliers(x)
    if outliers and not multimodal:
        warnings += (f"{len(outliers)} of {x.size} trials lie far from the rest; they are kept",)
    if x.size < FEWEST_FOR_P:
        warnings += (f"{x.size} trials are too few for anything but a first look",)
    return Assumptions(
        n_trials=x.size,
        resolution=kind,
        resolution_steps=steps,
        multimodal=multimodal,
        mode_sizes=sizes if multimodal else None,
        drift=None if drift_p is None else drift_p < ALPHA,
        drift_p=drift_p,
        outliers=outliers,
        unseen_mode_share=unseen_mode_share(x.size),
        warnings=warnings,
    )


def unseen_mode_share(n_trials: int, confidence: float = 0.95) -> float:
    """Return the share below which a mode of the trials may have shown up in none of them.

    Raises:
        InputError: there was no trial, or the confidence is not strictly between 0 and 1.
    """
    if n_trials < 1:
        raise InputError("a share of no trials", place="n_trials", found=n_trials, allowed="1 or more")
    fraction(confidence, "confidence")
    return float(1 - (1 - confidence) ** (1 / n_trials))


def judge_resolution(
    typical: float, resolution: float | None, statistic: Statistic
) -> tuple[Resolution, float | None, tuple[str, ...]]:
    """Return what a typical value is worth at a tool's resolution, in how many steps, and the warning."""
    if resolution is None:
        return "unknown", None, ()
    if not resolution > 0:
        raise InputError(
            "a resolution is a step", place="resolution", found=resolution, allowed="above 0, or None"
        )
    steps = typical / resolution
    if steps >= COARSE_BELOW_STEPS:
        return "fine", steps, ()
    if steps < REFUSED_BELOW_STEPS and statistic == "quantile":
        return (
            "refused",
            steps,
            (
                f"{steps:.2g} steps of the tool's resolution: no quantile is reported below the tool's time resolution",
            ),
        )
    return (
        "coarse",
        steps,
        (f"{steps:.2g} steps of the tool's resolution (below {COARSE_BELOW_STEPS:.0f}): ratios may be off",),
    )


def gap_statistic(values: Floats) -> tuple[Floats, Floats]:
    """Return the widest gap over the spread within the two sides, and how many lie below it.

    Along the last axis; each side holds at least two values. Large means: two groups.
    """
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


def _modes(x: Floats) -> tuple[bool | None, tuple[int, int] | None]:
    if x.size < FEWEST_FOR_MODES:
        return None, None
    work = np.log(x) if x.min() > 0 else x
    work = work - work.mean()
    if np.ptp(work) <= 1e-12:
        return False, None
    gap, below = gap_statistic(work)
    return bool(gap > gap_critical(x.size)), (int(below), int(x.size - below))


def _drift(x: Floats, order: Floats) -> float | None:
    if x.size < FEWEST_FOR_DRIFT or np.ptp(x) == 0 or np.ptp(order) == 0:
        return None
    from scipy import stats  # as slow to load as all else that a report needs, and used here only

    return float(stats.kendalltau(order, x).pvalue)


def _outliers(x: Floats) -> tuple[int, ...]:
    centre = np.median(x)
    spread = 1.4826 * float(np.median(np.abs(x - centre)))
    if spread == 0:
        return ()
    return tuple(int(i) for i in np.flatnonzero(np.abs(x - centre) > 5 * spread))
