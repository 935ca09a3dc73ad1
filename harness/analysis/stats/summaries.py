# SPDX-License-Identifier: Apache-2.0
"""Means over trials, and one estimate for each group of trials.

Intervals stay where the quantity can be: logarithms for what cannot be negative, logits for shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats, Statistic, fraction, judge_resolution, trial_values
from harness.analysis.stats.intervals import ONE_TRIAL, from_bounds, nothing, widest, withheld
from harness.analysis.stats.pairing import inputs_of, require, split_excluded, split_missing, unit_of
from harness.model import Estimate, Support, support_of

Scale = Literal["log", "logit", "reduction", "linear"]


#: A share nearer to 0 or 1 than this is rounding: its log odds would speak louder than all other trials.
_EDGE = 1e-9
#: Two trials span a t interval of 13 standard errors, on a logarithmic scale a factor of any size.
FEWEST = 3


class _Way(NamedTuple):
    """There and back. ``outside``: a value has no place on the scale; ``edge``: where such a value lies, in words."""

    forward: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    mean: str
    method: str
    support: Support
    outside: Callable[[Floats], bool]
    edge: str


_WAYS: dict[Scale, _Way] = {
    "log": _Way(
        np.log, np.exp, "geometric mean", "log-t", Support.NOT_NEGATIVE,
        lambda x: bool(x.min() <= 0), "zero",
    ),
    "logit": _Way(
        scipy.special.logit, scipy.special.expit, "share of the mean log odds", "logit-t", Support.SHARE,
        lambda x: bool(x.min() <= _EDGE or x.max() >= 1 - _EDGE), "0 % or 100 %",
    ),
    "reduction": _Way(
        lambda x: np.log1p(-x), lambda y: -np.expm1(y), "1 less the geometric mean of what is left",
        "log-t of what is left", Support.REDUCTION,
        lambda x: bool(x.max() >= 1), "all gone",
    ),
    "linear": _Way(
        np.asarray, np.asarray, "arithmetic mean", "t", Support.REAL, lambda x: False, "",
    ),
}  # fmt: skip
#: The scale on which a quantity has an interval that stays in its support.
_SCALE_OF: dict[Support, Scale] = {
    Support.NOT_NEGATIVE: "log",
    Support.SHARE: "logit",
    Support.REDUCTION: "reduction",
    Support.REAL: "linear",
}


def mean_ci(
    values: ArrayLike, *, scale: Scale = "log", level: float = 0.95, unit: str = "", what: str = "the trial's value",
    inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return the mean over trials with a t interval on a scale; no bounds for one trial, or constant values.

    Args:
        values: one number per trial, shape (k,). unit: of the values.
        scale: ``log``: geometric mean; ``logit``: share of the mean log odds; ``reduction``: 1 less the geometric mean
            of what is left; ``linear``: arithmetic mean.
    """
    x = trial_values(values, "values")
    way = _WAYS[scale]
    about: dict[str, Any] = {
        "method": f"{way.method} over trials", "estimand": f"{way.mean} over trials of {what}", "unit": unit,
        "n_trials": x.size, "level": level, "inputs": inputs,
    }  # fmt: skip
    if way.outside(x):
        return nothing(f"a trial's value ({way.edge} or beyond) has no place on the {scale} scale", **about)
    work = way.forward(x)
    bounds = intervals.student(work, fraction(level, "level"))
    # the greater end of what is left is the lesser end of what is gone
    ends = way.back(bounds.low), way.back(bounds.high)
    # equal trials have their own value, not what logarithms and back make of it: 5, not 4.999...
    centre = np.asarray(x[0]) if intervals.is_constant(x) else way.back(bounds.centre)
    back = intervals.Bounds(centre=centre, low=np.minimum(*ends), high=np.maximum(*ends))
    linear = scale == "linear"
    return from_bounds(
        None, back, support=widest(x, support_of(unit)) if linear else way.support,
        constant=intervals.is_constant(work, least=0.0 if linear else 1.0), **about,
    )  # fmt: skip


def mean_within(
    values: ArrayLike, *, support: Support | None = None, level: float = 0.95, unit: str = "",
    what: str = "the trial's value", inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return the mean over trials on the scale of the quantity's support, so that its interval stays inside.

    Where a trial lies on the edge of the scale, and for two trials: the arithmetic mean without an interval.

    Args:
        values: one number per trial, shape (k,). support: absent: by the unit, or real where a value is outside of it.
    """
    x = trial_values(values, "values")
    widened = widest(x, support_of(unit) if support is None else support)
    way = _WAYS[_SCALE_OF[widened]]
    if not way.outside(x) and x.size != FEWEST - 1:
        return withheld(
            mean_ci(x, scale=_SCALE_OF[widened], level=level, unit=unit, what=what, inputs=inputs)
        )
    mean = float(np.clip(x.mean(), *widened.ends))  # of the rounding only: every value is inside
    if intervals.is_constant(x):
        why = f"{mean:g} in all {x.size} trials: no interval" if x.size > 1 else ONE_TRIAL
    elif x.size < FEWEST:
        why = "two trials: the arithmetic mean, no interval"
    else:
        why = f"{way.edge} in some of {x.size} trials: the arithmetic mean, no interval"
    return Estimate(
        value=mean, level=level, unit=unit, support=widened, method="arithmetic mean, no interval",
        estimand=f"arithmetic mean over trials of {what}", n_trials=x.size, inputs=inputs, warnings=(why,),
    )  # fmt: skip


def summarise(
    trials: pd.DataFrame, metric: str, *, by: Sequence[str] = ("variant",), level: float = 0.95, unit: str | None = None
) -> pd.DataFrame:  # fmt: skip
    """Return one row per group, in order of appearance, with the estimate over its trials (:func:`mean_within`). Raises
    InputError: no such column; a metric that is not numeric. Columns: those of ``by``, ``metric n_trials n_excluded
    value low high unit estimate``; NaN: cannot be said."""
    require(trials, metric, by)
    rows = []
    for key, group in trials.groupby(list(by), sort=False, dropna=False, observed=True):
        counted, n_excluded = split_excluded(group[~group["duplicate"].astype(bool)])
        estimate = _summary(counted, metric, unit=unit or unit_of(metric), level=level, n_excluded=n_excluded)
        ends = (estimate.value, estimate.low, estimate.high)
        rows.append((*key, metric, estimate.n_trials, n_excluded, *ends, estimate.unit, estimate))
    columns = [*by, "metric", "n_trials", "n_excluded", "value", "low", "high", "unit", "estimate"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"value": "float64", "low": "float64", "high": "float64"})


def _summary(trials: pd.DataFrame, metric: str, *, unit: str, level: float, n_excluded: int) -> Estimate:
    present, warnings = split_missing(trials, metric)
    if n_excluded:
        warnings += (f"{n_excluded} trials excluded",)
    about: dict[str, Any] = {"estimand": f"mean over trials of {metric}", "unit": unit, "level": level}
    if present.empty:
        return nothing(*warnings, "no trial has this value", **about)
    inputs = inputs_of(present)
    refused, notes = resolution_of(present, metric)
    if refused:
        return nothing(*warnings, *notes, method="refused", n_trials=len(present), inputs=inputs, **about)
    values = present[metric].to_numpy(dtype=np.float64)
    estimate = mean_within(values, level=level, unit=unit, what=metric, inputs=inputs)
    return estimate.model_copy(
        update={"warnings": (*estimate.warnings, *warnings, *notes), "n_requests": requests_of(present)}
    )


def resolution_of(trials: pd.DataFrame, metric: str) -> tuple[bool, tuple[str, ...]]:
    """Tell whether a latency lies below what the tool can tell, and what must be said about it."""
    if not metric.startswith("latency_") or "latency_resolution_s" not in trials:
        return False, ()
    step_s = float(trials["latency_resolution_s"].max())
    if np.isnan(step_s):
        return False, ()
    statistic: Statistic = "mean" if "mean" in metric else "quantile"
    kind, _, warnings = judge_resolution(float(trials[metric].median()), step_s, statistic)
    return kind == "refused", warnings


def requests_of(trials: pd.DataFrame) -> int | None:
    """Return how many requests the trials answered in all; ``None``: not known of each."""
    if "n_requests" not in trials or trials["n_requests"].isna().any():
        return None
    return int(trials["n_requests"].sum())
