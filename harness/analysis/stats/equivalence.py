# SPDX-License-Identifier: Apache-2.0
"""Whether two arms are as good as equal: two one-sided tests on the log ratio."""

from __future__ import annotations

from math import log1p
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats import intervals
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.inputs import Unit, arms, fraction
from harness.analysis.stats.verdicts import DEFAULT_MARGIN, check_margin
from harness.model import Estimate
from harness.model.base import Frozen


class EquivalenceTest(Frozen):
    """Two one-sided tests on the log ratio. ``equivalent`` None: cannot be said."""

    equivalent: bool | None
    margin: float = Field(description="the ratio must lie within [1 / (1 + margin), 1 + margin]")
    alpha: float
    p_value: float | None = Field(description="the larger of the two one-sided p-values")
    p_low: float | None
    p_high: float | None
    ratio: Estimate = Field(description="with the interval of level 1 - 2 alpha that the test inverts")
    warnings: tuple[str, ...] = ()


def equivalence_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    paired: bool,
    margin: float = DEFAULT_MARGIN,
    alpha: float = 0.05,
    unit: Unit = "trial",
) -> EquivalenceTest:
    """Return whether a / b lies within [1 / (1 + margin), 1 + margin]: two one-sided t tests on logs.

    Source: Schuirmann 1987. Equivalent exactly when the interval of level 1 - 2 alpha lies inside.

    Raises:
        InputError: margin not positive, or see :func:`effect_size_ci`.
    """
    check_margin(margin)
    fraction(alpha, "alpha")
    left, right = arms(a, b, paired=paired, unit=unit)
    estimator: Literal["log_t", "welch_log_t"] = "log_t" if paired else "welch_log_t"
    ratio = effect_size_ci(left, right, paired=paired, estimator=estimator, level=1 - 2 * alpha, unit=unit)
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return EquivalenceTest(
            equivalent=None,
            margin=margin,
            alpha=alpha,
            p_value=None,
            p_low=None,
            p_high=None,
            ratio=ratio,
            warnings=ratio.warnings,
        )
    la, lb = np.log(left), np.log(right)
    if paired:
        centre, error, df = (float(v) for v in intervals.mean_and_error(la - lb))
    else:
        centre = float(la.mean() - lb.mean())
        error, df = (float(v) for v in intervals.two_sample_error(la, lb, welch=True))
    p_low, p_high = one_sided_p(centre, error, df, margin)
    p = max(p_low, p_high)
    return EquivalenceTest(
        equivalent=p <= alpha,
        margin=margin,
        alpha=alpha,
        p_value=p,
        p_low=p_low,
        p_high=p_high,
        ratio=ratio,
        warnings=ratio.warnings,
    )


def one_sided_p(centre: float, error: float, df: float, margin: float) -> tuple[float, float]:
    """Return p of "log ratio <= -log(1 + margin)" and of "log ratio >= log(1 + margin)"."""
    from scipy import special

    bound = log1p(margin)
    return (
        float(special.stdtr(df, -(centre + bound) / error)),
        float(special.stdtr(df, (centre - bound) / error)),
    )
