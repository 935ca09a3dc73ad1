# SPDX-License-Identifier: Apache-2.0
"""Whether the noise that was fitted beside level shifts allows an answer at all; each doubt is a sentence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import stats

from harness.analysis.warmup.level_shifts import FloatArray, ShiftModel

#: Below this n (1 - rho) a random walk, which has no level at all, is not excluded at 5 %
#: (Dickey & Fuller 1979, coefficient test with a constant).
UNIT_ROOT_5_PERCENT = 14.1
#: Innovations that still follow each other at this p: the noise is not what was fitted.
WHITENESS_P = 1e-3
WHITENESS_LAGS = 10
#: Distance of the first windows from their level, in stationary standard deviations of the noise.
START_LIMIT = 2.6


def doubts(model: ShiftModel, n: int) -> tuple[str, ...]:
    """Reasons why the fitted noise does not allow an answer, each a sentence."""
    said: list[str] = []
    if n * (1.0 - model.rho) < UNIT_ROOT_5_PERCENT:
        said.append(
            f"cannot say: neighbouring windows correlate at {model.rho:.2f}, so {n} of them do not tell a level "
            "from a random walk; measure longer or use longer windows"
        )
    if _whiteness_p(model.innovations / _noise_of_each(model, n)) < WHITENESS_P:
        said.append(
            "cannot say: the noise within segments is not autoregressive of order 1; use longer windows"
        )
    return tuple(said)


def gradual_start(unit: FloatArray, model: ShiftModel, scale: float, *, n_first: int) -> tuple[str, ...]:
    """Doubt a first level whose first ``n_first`` windows lie far from it, as a stationary series' would not.

    A decay as slow as the noise itself is no step, and the regression takes it for noise.
    """
    start = abs(float(unit[:n_first].mean() - model.levels[0]))
    louder = max(float(_noise_of_each(model, len(unit))[0]), 1.0)
    stationary = louder * scale / float(np.sqrt(1.0 - model.rho**2))
    if start <= START_LIMIT * stationary:
        return ()
    return (
        f"cannot say: the first {n_first} windows lie {start / stationary:.1f} standard deviations off their "
        "level: a gradual start that cannot be told from the noise; use longer windows",
    )


def _noise_of_each(model: ShiftModel, n: int) -> FloatArray:
    """Standard deviation of the innovations of each window's segment, in their common scale, shape (n - 1,).

    A level several times as high is as many times as loud, and must not speak for the others.
    The jumps themselves are left out.
    """
    noise = np.ones(n - 1)
    edges = (0, *model.shifts, n)
    for first, end in pairwise(edges):
        own = model.innovations[first : end - 1]
        spread = 1.4826 * float(np.median(np.abs(own - np.median(own))))
        noise[max(first - 1, 0) : end - 1] = spread if spread > 1e-9 else 1.0
    return noise


def _whiteness_p(innovations: FloatArray) -> float:
    """Ljung-Box p of the innovations, clipped so that single spikes do not hide the rest."""
    clipped = np.clip(innovations, -3.0, 3.0)
    clipped = clipped - clipped.mean()
    n, power = len(clipped), float(clipped @ clipped)
    if power == 0.0:
        return 1.0
    lags = np.arange(1, WHITENESS_LAGS + 1)
    correlation = np.array([clipped[lag:] @ clipped[:-lag] for lag in lags]) / power
    statistic = n * (n + 2) * float((correlation**2 / (n - lags)).sum())
    return float(stats.chi2.sf(statistic, WHITENESS_LAGS - 1))
