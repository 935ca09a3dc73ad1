# SPDX-License-Identifier: Apache-2.0
"""A simulated truth for an estimator that no sentence of the paper rests on; the rows of ``rematch verify`` are of
those behind the paper's sentences."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.stats.sample_size import POWER, effect
from harness.verify.simulated.comparisons import paired_p
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
