# SPDX-License-Identifier: Apache-2.0
"""Means over trials with intervals that stay where the quantity can be: logarithms for what cannot be negative,
logits for shares.

A t interval of the plain values knows nothing of 0 and 1: with five trials that differ by much it says
that a pause lasts from -40 to 206 us. To cut it there would hide that the method does not fit.
``harness verify coverage`` holds the coverage of each scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats import intervals
from harness.analysis.stats.estimates import ONE_TRIAL, from_bounds, nothing, widest, withheld
from harness.analysis.stats.inputs import Floats, Unit, fraction, trial_values
from harness.model import Estimate, Support, support_of

Scale = Literal["log", "logit", "reduction", "linear"]


#: A share nearer to 0 or 1 than this is rounding: its log odds would speak louder than all other trials.
_EDGE = 1e-9
#: Two trials span a t interval of 13 standard errors, on a logarithmic scale a factor of any size.
FEWEST = 3


class _Way(NamedTuple):
    """There and back. ``outside``: a value has no place on the scale; ``edge``: where such a value lies, in words."""

    there: Callable[[Floats], Floats]
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
    values: ArrayLike,
    *,
    scale: Scale = "log",
    level: float = 0.95,
    unit: str = "",
    what: str = "the trial's value",
    inputs: tuple[str, ...] = (),
    unit_of_analysis: Unit = "trial",
) -> Estimate:
    """Return the mean over trials with a t interval on a scale.

    Args:
        values: one number per trial, shape (k,).
        scale: ``log`` gives the geometric mean (t interval of the logarithms, then exp); ``logit`` the share
            whose log odds are the mean of the trials'; ``reduction``, for 1 less a ratio, 1 less the geometric
            mean of the ratios; ``linear`` the arithmetic mean, whose interval is withheld where it reaches
            beyond what the unit allows.
        unit: the unit of the values, copied into the estimate.

    Returns:
        The estimate; bounds are ``None`` with a warning for one trial or constant values, the
        value too for values that have no place on the scale.

    Raises:
        InputError, PseudoReplicationError: see :mod:`harness.analysis.stats.inputs`.
    """
    x = trial_values(values, "values", unit=unit_of_analysis)
    way = _WAYS[scale]
    method, estimand = f"{way.method} over trials", f"{way.mean} over trials of {what}"
    if way.outside(x):
        return nothing(
            f"a trial's value ({way.edge} or beyond) has no place on the {scale} scale",
            method=method,
            estimand=estimand,
            unit=unit,
            n_trials=x.size,
            level=level,
            inputs=inputs,
        )
    work = way.there(x)
    found = intervals.student(work, fraction(level, "level"))
    back = intervals.Bounds(
        # the greater end of what is left is the lesser end of what is gone
        # equal trials have their own value, not what logarithms and back make of it: 5, not 4.999...
        centre=np.asarray(x[0]) if intervals.is_constant(x) else way.back(found.centre),
        low=np.minimum(way.back(found.low), way.back(found.high)),
        high=np.maximum(way.back(found.low), way.back(found.high)),
    )
    return from_bounds(
        None,
        back,
        method=method,
        estimand=estimand,
        unit=unit,
        support=widest(x, support_of(unit)) if scale == "linear" else way.support,
        n_trials=x.size,
        level=level,
        inputs=inputs,
        constant=intervals.is_constant(work, least=0.0 if scale == "linear" else 1.0),
    )


def mean_within(
    values: ArrayLike,
    *,
    support: Support | None = None,
    level: float = 0.95,
    unit: str = "",
    what: str = "the trial's value",
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the mean over trials on the scale of the quantity's support, so that its interval stays inside.

    Where a trial's value lies on the edge (no pause at all, a share of 0 or 1) the scale has no place for it.
    Then, and for two trials, the value is the arithmetic mean and there is no interval: the warning says so.
    A share or reduction whose interval holds both ends of what matters has no value either, see ``withheld``.

    Args:
        values: one number per trial, shape (k,). support: absent: by the unit, or real where a value is outside
            of that. Others as for ``mean_ci``.

    Raises:
        InputError, PseudoReplicationError: see :mod:`harness.analysis.stats.inputs`.
    """
    x = trial_values(values, "values")
    kept = widest(x, support_of(unit) if support is None else support)
    way = _WAYS[_SCALE_OF[kept]]
    if not way.outside(x) and x.size != FEWEST - 1:
        return withheld(mean_ci(x, scale=_SCALE_OF[kept], level=level, unit=unit, what=what, inputs=inputs))
    mean = float(np.clip(x.mean(), *kept.ends))  # of the rounding only: every value is inside
    if intervals.is_constant(x):
        why = f"{mean:g} in all {x.size} trials: no interval" if x.size > 1 else ONE_TRIAL
    elif x.size < FEWEST:
        why = "two trials: the arithmetic mean, no interval"
    else:
        why = f"{way.edge} in some of {x.size} trials: the arithmetic mean, no interval"
    return Estimate(
        value=mean,
        level=level,
        unit=unit,
        support=kept,
        method="arithmetic mean, no interval",
        estimand=f"arithmetic mean over trials of {what}",
        n_trials=x.size,
        inputs=inputs,
        warnings=(why,),
    )
