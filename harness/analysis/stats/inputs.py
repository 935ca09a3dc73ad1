# SPDX-License-Identifier: Apache-2.0
"""What the statistics accept: finite numbers, one per trial, in steps of a tool's resolution."""

from __future__ import annotations

from typing import Literal

import numpy as np
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

Resolution = Literal["fine", "coarse", "refused", "unknown"]
Statistic = Literal["mean", "quantile"]


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
