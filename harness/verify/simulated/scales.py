# SPDX-License-Identifier: Apache-2.0
"""Verification of means over trials on the scale of what they can be: coverage, and bounds that are possible.

Trials come from laws that are not normal on the scale: gamma for what is not negative and for what is left of a
reduction, beta for shares. The truth is the mean on the scale, which both laws have in closed form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.summaries import Scale, mean_ci
from harness.verify.simulated.result import Cell, share

LEVEL = 0.95
_N_TRIALS = (5, 10)
_GAMMA, _BETA = 6.0, (4.0, 12.0)


def _gamma(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.gamma(_GAMMA, 1.0, shape)


def _beta(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.beta(*_BETA, shape)


def _left(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return np.asarray(1 - _gamma(rng, shape) / _GAMMA)


_LAWS: dict[Scale, tuple[str, Callable[[np.random.Generator, tuple[int, int]], Floats], float]] = {
    "log": ("log-t, gamma trials", _gamma, float(np.exp(special.digamma(_GAMMA)))),
    "logit": (
        "logit-t of shares, beta trials",
        _beta,
        float(special.expit(special.digamma(_BETA[0]) - special.digamma(_BETA[1]))),
    ),
    "reduction": (
        "log-t of what is left of a reduction, gamma trials",
        _left,
        1 - float(np.exp(special.digamma(_GAMMA))) / _GAMMA,
    ),
}


def scale_cells(sims: int, seed: int) -> list[Cell]:
    """Return the coverage of each scale for five and ten trials."""
    cells = []
    for number, (scale, (name, draw, truth)) in enumerate(_LAWS.items()):
        for k in _N_TRIALS:
            trials = draw(np.random.default_rng([seed, 11, number, k]), (sims, k))
            results = [mean_ci(row, scale=scale, level=LEVEL, unit="relative") for row in trials]
            held = sum(
                item.low is not None and item.high is not None and item.low <= truth <= item.high
                for item in results
            )
            cells.append(share(sims, name=f"{name}, k = {k}", value=held / sims, at_least=0.93, at_most=0.97))
    return cells


def impossible_by_plain_t(sims: int, seed: int) -> float:
    """Return how often a t interval of the plain shares of five trials, one of them rare, reaches beyond 0 or 1."""
    shares = np.random.default_rng([seed, 12]).beta(0.5, 4.0, (sims, 5))
    bounds = intervals.student(shares, LEVEL)
    return float(np.mean((bounds.low < 0) | (bounds.high > 1)))
