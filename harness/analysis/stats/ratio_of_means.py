# SPDX-License-Identifier: Apache-2.0
"""Ratios of arithmetic means over trials: Fieller's interval, and the hierarchical bootstrap over requests too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats import intervals
from harness.analysis.stats.bootstrap import hierarchical_bootstrap
from harness.analysis.stats.estimates import ONE_TRIAL, from_bounds, nothing, widest
from harness.analysis.stats.inputs import Floats, Unit, request_arrays, trial_values
from harness.errors import InputError
from harness.model import Estimate, Support


def fieller_ratio(
    left: Floats, right: Floats, *, paired: bool, level: float, inputs: tuple[str, ...]
) -> Estimate:
    """Return the ratio with its interval after Fieller (1954); shapes as ``arms`` returns them."""
    n_trials = left.size if paired else left.size + right.size
    method = "Fieller, paired by block" if paired else "Fieller, unpaired"
    estimand = "ratio of arithmetic means over trials"
    if float(right.mean()) == 0.0:
        return nothing(
            "the mean of b is zero: no ratio", method=method, estimand=estimand, unit="ratio", n_trials=n_trials,
            level=level, inputs=inputs,
        )  # fmt: skip
    if min(left.size, right.size) < 2:
        bounds = intervals.Bounds(
            centre=np.asarray(left.mean() / right.mean()), low=np.asarray(np.nan), high=np.asarray(np.nan)
        )
    else:
        bounds = intervals.fieller(left, right, level, paired=paired)
    constant = intervals.is_constant(left) and intervals.is_constant(right)
    return from_bounds(
        None,
        bounds,
        method=method,
        estimand=estimand,
        unit="ratio",
        n_trials=n_trials,
        level=level,
        inputs=inputs,
        constant=constant,
        support=widest(np.concatenate([left, right]), Support.NOT_NEGATIVE),
        unbounded="the mean of b may be zero: the interval has no end",
    )


def hierarchical_ratio(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    paired: bool,
    level: float,
    seed: int,
    n_resamples: int,
    unit: Unit,
    inputs: tuple[str, ...],
) -> Estimate:
    """Return the ratio with percentiles over resampled trials, and over batches of requests within them."""
    left, right = _per_trial(a, "a", unit), _per_trial(b, "b", unit)
    if paired and len(left) != len(right):
        raise InputError(
            "paired arms need one trial per block in each",
            found=f"{len(left)} and {len(right)}",
            allowed="equal numbers of trials",
        )
    method = f"hierarchical bootstrap (trials, then batches of requests), {n_resamples} resamples"
    n_trials = len(left) if paired else len(left) + len(right)
    if sum(float(trial.mean()) for trial in right) == 0.0:
        return nothing(
            "the mean of b is zero: no ratio", method=method, estimand="ratio of arithmetic means over trials",
            unit="ratio", n_trials=n_trials, level=level, inputs=inputs,
        )  # fmt: skip
    few = min(len(left), len(right))
    bounds = hierarchical_bootstrap(
        left, right, paired=paired, level=level, seed=seed, n_resamples=n_resamples
    )
    return from_bounds(
        None,
        bounds,
        method=method,
        estimand="ratio of arithmetic means over trials",
        unit="ratio",
        n_trials=n_trials,
        level=level,
        inputs=inputs,
        support=widest(np.concatenate([*left, *right]), Support.NOT_NEGATIVE),
        constant=all(intervals.is_constant(np.concatenate(arm)) for arm in (left, right)),
        seed=seed,
        n_requests=sum(t.size for t in (*left, *right)),
        extra=("percentile bootstrap over trials: too narrow below 20 trials",) if 2 <= few < 20 else (),
        unbounded=ONE_TRIAL if few < 2 else "the mean of b may be zero: the interval has no end",
    )


def _per_trial(values: ArrayLike | Sequence[ArrayLike], what: str, unit: Unit) -> tuple[Floats, ...]:
    flat = all(np.ndim(value) == 0 for value in values)  # type: ignore[union-attr]  # a scalar fails below
    if flat:
        return tuple(np.asarray([v]) for v in trial_values(np.asarray(values), what, unit=unit))
    return request_arrays(values, what)  # type: ignore[arg-type]  # not flat, so a sequence of arrays
