# SPDX-License-Identifier: Apache-2.0
"""The universal scalability law: known numbers are found again, and what cannot be said is not said."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.stats.scaling import fit_usl, usl
from harness.errors import InputError

SIZES = np.asarray([1, 2, 4, 8, 16])
TRUTH = (1000.0, 0.05, 0.004)


def session(seed: int, *, n_blocks: int = 12, noise: float = 0.03) -> tuple[np.ndarray, ...]:
    """Cores, throughput and block of a made-up session; a block's trials share a shift."""
    rng = np.random.default_rng(seed)
    cores, blocks = np.tile(SIZES, n_blocks), np.repeat(np.arange(n_blocks), len(SIZES))
    shift = rng.normal(0, noise, n_blocks)[blocks]
    return cores, usl(cores, *TRUTH) * np.exp(shift + rng.normal(0, noise, len(cores))), blocks


def test_without_noise_the_numbers_are_those_that_made_the_data() -> None:
    cores, blocks = np.tile(SIZES, 3), np.repeat(np.arange(3), len(SIZES))
    fit = fit_usl(cores, usl(cores, *TRUTH), blocks, n_resamples=20)
    found = (fit.per_core_per_s.value, fit.contention.value, fit.coherency.value)
    assert found == pytest.approx(TRUTH, rel=1e-3)
    assert fit.peak_cores.value == pytest.approx(np.sqrt(0.95 / 0.004), rel=1e-2)


def test_intervals_over_blocks_hold_the_truth_about_as_often_as_they_say() -> None:
    hits = np.zeros(3)
    n_sessions = 20
    for seed in range(n_sessions):
        fit = fit_usl(*session(seed), n_resamples=60, seed=seed)
        for place, estimate in enumerate((fit.per_core_per_s, fit.contention, fit.coherency)):
            assert estimate.low is not None and estimate.high is not None
            hits[place] += estimate.low <= TRUTH[place] <= estimate.high
    # of 20 sessions at 95 %, fewer than 16 happens once in hundreds; a percentile interval is a little narrow
    assert (hits >= 16).all(), hits


def test_fewer_than_three_blocks_give_no_interval() -> None:
    fit = fit_usl(*session(1, n_blocks=2))
    assert (fit.contention.low, fit.contention.high) == (None, None)
    assert "too few blocks for an interval" in fit.contention.warnings


@pytest.mark.parametrize(
    ("cores", "values", "blocks", "words"),
    [
        ([1, 2, 1, 2], [1, 2, 1, 2], [1, 1, 2, 2], "too few numbers of cores"),
        ([1, 2, 4], [1, 2], [1, 1, 1], "one value per trial each"),
        ([1, 2, 4], [1, 0, 2], [1, 1, 1], "throughput must be positive"),
    ],
)
def test_what_the_law_cannot_be_fitted_to_is_refused(
    cores: list[int], values: list[float], blocks: list[int], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        fit_usl(cores, values, blocks)
