# SPDX-License-Identifier: Apache-2.0
"""Where a curve of latency against load bends: segmented regression with a bootstrap over trials.

Model: log latency = a + b load + c max(0, load - knee), c > 0, by least squares over a grid of knees (a
regression with an unknown join point: Hudson 1966; Muggeo 2003 calls it segmented). The interval is the
percentile interval of a bootstrap that resamples whole trials within each load, because requests of one
trial are no independent news. Latency stands as its logarithm: beyond the knee it grows by factors.

The knee lies between loads that were offered, so a coarse grid of loads makes a coarse knee, and the
percentile interval of few trials is too narrow (see :mod:`harness.analysis.resampling`). Both are said in
the estimate's warnings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.inputs import Floats, trial_values
from harness.errors import InputError
from harness.model import Estimate

#: Fewer distinct loads than this have no two segments to tell apart: each needs two points.
MIN_LOADS = 4
#: Candidate knees between the second load and the last but one.
GRID = 121
#: The bend must take this share of the squares that a straight line leaves, else there is none.
MIN_GAIN = 0.5
#: A bend found in fewer resamples than this is not one that another session would show.
MIN_FOUND_SHARE = 0.9
METHOD = "segmented regression of log latency, bootstrap over trials"


def knee(
    load_per_s: ArrayLike,
    latency_s: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 500,
    seed: int = 0,
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the load at which latency begins to rise faster, in the unit of ``load_per_s``.

    Args:
        load_per_s, latency_s: one value per trial, shape (k,), both above zero.

    Returns:
        An estimate without value where no bend is shown, and why in its warnings.

    Raises:
        InputError: lengths that differ, or values that are not above zero.
    """
    load, latency = trial_values(load_per_s, "load_per_s"), trial_values(latency_s, "latency_s")
    if load.shape != latency.shape:
        raise InputError("one latency per load", found=f"{latency.shape}", allowed=f"{load.shape}")
    if (load <= 0).any() or (latency <= 0).any():
        raise InputError("loads and latencies are above zero", found="0 or less", allowed="positive numbers")
    loads = np.unique(load)
    if loads.size < MIN_LOADS:
        return _none(load, level, inputs, f"{loads.size} loads, {MIN_LOADS} needed for two segments")
    y = np.log(latency)
    found, gain = _best(load, y)
    if found is None or gain < MIN_GAIN:
        return _none(load, level, inputs, "no bend: a straight line says as much")
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero(load == one) for one in loads]
    draws = []
    for _ in range(n_resamples):
        rows = np.concatenate([rng.choice(group, group.size) for group in groups])
        again, gained = _best(load[rows], y[rows])
        if again is not None and gained >= MIN_GAIN:
            draws.append(again)
    if len(draws) < MIN_FOUND_SHARE * n_resamples:
        share = len(draws) / max(n_resamples, 1)
        return _none(load, level, inputs, f"a bend in {share:.0%} of the resamples only")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    fewest = min(group.size for group in groups)
    return Estimate(
        value=found,
        low=float(low),
        high=float(high),
        level=level,
        unit="1/s",
        method=METHOD,
        estimand="load at which log latency begins to rise faster",
        n_trials=load.size,
        seed=seed,
        inputs=inputs,
        warnings=(
            f"{loads.size} loads: the knee is no finer than they are",
            *([f"{fewest} trials at a load: the interval is too narrow"] if fewest < 10 else []),
        ),
    )


def _best(load: Floats, y: Floats) -> tuple[float | None, float]:
    """The knee of least squares whose second slope is the steeper, and the share of the squares it takes."""
    loads = np.unique(load)
    straight = np.column_stack([np.ones_like(load), load])
    left = _squares(straight, y)[1]
    best, least = None, left
    for at in np.linspace(loads[1], loads[-2], GRID):
        coefficients, squares = _squares(np.column_stack([straight, np.maximum(0.0, load - at)]), y)
        if coefficients[2] > 0 and squares < least:
            best, least = float(at), squares
    return best, 0.0 if left <= 0 else 1 - least / left


def _squares(design: Floats, y: Floats) -> tuple[Floats, float]:
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    return coefficients, float(np.sum((y - design @ coefficients) ** 2))


def _none(load: Floats, level: float, inputs: tuple[str, ...], why: str) -> Estimate:
    return Estimate(
        value=None, level=level, unit="1/s", method=METHOD, n_trials=load.size, inputs=inputs, warnings=(why,),
        estimand="load at which log latency begins to rise faster",
    )  # fmt: skip
