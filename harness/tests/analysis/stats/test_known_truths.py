# SPDX-License-Identifier: Apache-2.0
"""Simulated sessions with a known truth, for estimators that no sentence of the paper rests on; each with a control.

The rows of ``rematch verify`` are of the estimators behind the paper's sentences.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from harness.analysis.stats import intervals
from harness.analysis.stats.factor_effects import contrast
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.sample_size import POWER, effect
from harness.verify.simulated.comparisons import LAWS, Law, covered, paired_p, trial_effects
from harness.verify.simulated.result import share

SIMS = 400


def holds(
    value: float, *, at_least: float | None = None, at_most: float | None = None, n: int = SIMS
) -> bool:
    """Tell whether a share of ``n`` simulations keeps its limits as far as so few can say."""
    return not share(n, name="share", value=value, at_least=at_least, at_most=at_most).refuted


# --- the smallest ratio that a session tells from 1


@pytest.mark.parametrize(("n_pilot", "n_blocks"), [(5, 20), (10, 10), (20, 5)])
def test_an_effect_of_the_stated_size_is_told_as_often_as_stated(n_pilot: int, n_blocks: int) -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.normal(0.0, 0.04, (2000, k)) for k in (n_pilot, n_blocks))
    stated = first.std(axis=-1, ddof=1) * effect(n_pilot - 1, n_blocks)
    told = float(np.mean(paired_p(second + stated[:, None]) <= 0.05))
    assert holds(told, at_least=POWER - 0.03, at_most=POWER + 0.03, n=2000)


# --- effects of factors

BLOCK_SD, BOTH = 0.10, 0.1


def factorial(rng: np.random.Generator, law: Law, k: int) -> Floats:
    """Return log p99 of two factors of two levels, shape (sims, k, 4); the cells of one level vary thrice as much."""
    spread = np.array([0.02, 0.02, 0.06, 0.06])
    effects = np.stack([trial_effects(rng, law, (SIMS, k), sd=float(sd)) for sd in spread], axis=-1)
    return np.array([0.0, 0.4, 0.3, 0.7 + BOTH]) + effects + rng.normal(0.0, BLOCK_SD, (SIMS, k, 1))


@pytest.mark.parametrize(("law", "k"), product(LAWS, [5, 20]))
def test_the_interval_of_an_interaction_holds_the_truth(law: Law, k: int) -> None:
    cells = tuple(product(("go", "java"), ("off", "on")))
    made = contrast(cells, {0: ("java", "go"), 1: ("on", "off")})
    assert made is not None
    bounds = intervals.student(np.asarray(factorial(np.random.default_rng(k), law, k) @ made), 0.95)
    assert holds(covered(bounds, BOTH), at_least=0.93, at_most=0.97)


def test_one_variance_for_all_cells_covers_too_little_where_one_is_noisy() -> None:
    k, rng = 10, np.random.default_rng(99)
    logs = rng.normal(0.0, 1.0, (SIMS, k, 4)) * (0.02, 0.12, 0.02, 0.02) + rng.normal(
        0.0, BLOCK_SD, (SIMS, k, 1)
    )
    means = logs.mean(axis=1, keepdims=True)
    rest = logs - means - logs.mean(axis=2, keepdims=True) + logs.mean(axis=(1, 2), keepdims=True)
    error = np.sqrt((rest**2).sum(axis=(1, 2)) / (3 * (k - 1)) * 2 / k)
    gap = np.abs(means[:, 0, 1] - means[:, 0, 0])
    assert np.mean(gap <= intervals.t_critical(0.95, 3 * (k - 1)) * error) < 0.9
