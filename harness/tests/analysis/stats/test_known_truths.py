# SPDX-License-Identifier: Apache-2.0
"""Simulated sessions with a known truth, for estimators that no sentence of the paper rests on; each with a control.

The rows of ``rematch verify`` are of the estimators behind the paper's sentences.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import scipy

from harness.analysis.stats import intervals
from harness.analysis.stats.detectable import POWER, effect
from harness.analysis.stats.factor_effects import contrast
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.rank_intervals import critical_value, ranks_of
from harness.analysis.stats.variance_split import WITHIN, variance_split
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


def test_a_size_stated_from_windows_as_if_they_were_trials_is_told_too_seldom() -> None:
    rng = np.random.default_rng(2)
    trials, second = (rng.normal(0.0, 0.05, (2000, 10)) for _ in range(2))
    windows = trials[..., None] + rng.normal(0.0, 0.025, (2000, 10, 10))
    stated = windows.reshape(2000, -1).std(axis=-1, ddof=1) * effect(99, 100)
    assert np.mean(paired_p(second + stated[:, None]) <= 0.05) < 0.5


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
    bounds = intervals.student(np.asarray(factorial(np.random.default_rng(k), law, k) @ made[0]), 0.95)
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


# --- ranks

TRUTHS = {
    "all tied": np.zeros(6),
    "three pairs tied": np.repeat([0.2, 0.1, 0.0], 2),
    "near ties": 0.01 * np.arange(6.0),
}


def inside(truth: Floats, n_blocks: int, ranks: object) -> float:
    """Return the share of sessions in which every interval holds all ranks that its true value allows."""
    best = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    worst = truth.size - (truth[None, :] < truth[:, None]).sum(axis=1)
    rng, n = np.random.default_rng(n_blocks), 0
    for _ in range(SIMS):
        found = ranks(truth + rng.normal(0.0, 0.03, (n_blocks, truth.size)))  # type: ignore[operator]  # a function
        n += bool((found[:, 0] <= best).all() and (found[:, 1] >= worst).all())
    return n / SIMS


def pair_by_pair(logs: Floats) -> Floats:
    """Return ranks where each pair has its own 95 %, as if it were the only one."""
    n_blocks, n_variants = logs.shape
    limit, wins = critical_value(2, n_blocks, 0.95), np.zeros((n_variants, n_variants), dtype=bool)
    for a, b in combinations(range(n_variants), 2):
        d = logs[:, a] - logs[:, b]
        t = d.mean() / (d.std(ddof=1) / n_blocks**0.5)
        wins[a, b], wins[b, a] = t > limit, t < -limit
    return np.stack([1 + wins.sum(axis=0), n_variants - wins.sum(axis=1)], axis=1).astype(np.float64)


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
@pytest.mark.parametrize("n_blocks", [5, 20])
def test_all_true_ranks_are_inside_at_once(truth: Floats, n_blocks: int) -> None:
    assert holds(inside(truth, n_blocks, ranks_of), at_least=0.93)


def test_pairs_judged_one_by_one_rank_what_is_tied() -> None:
    assert inside(TRUTHS["all tied"], 10, pair_by_pair) < 0.8


# --- parts of the variation

SPREADS = {"session": 0.03, "block": 0.02, "trial": 0.04, WITHIN: 0.03}
LEVELS = ("session", "block", "trial")


def test_intervals_of_the_parts_hold_the_truth_and_the_spread_of_all_trial_means_does_not() -> None:
    rng, n = np.random.default_rng(3), 100
    frame = pd.DataFrame(list(product(range(5), range(10), range(2), range(5))), columns=[*LEVELS, "window"])
    groups = [frame.groupby(list(LEVELS[: i + 1]), sort=False).ngroup().to_numpy() for i in range(3)]
    held, n_naive = dict.fromkeys(SPREADS, 0), 0
    for _ in range(n):
        frame["value"] = rng.normal(0.0, SPREADS[WITHIN], len(frame)) + sum(
            rng.normal(0.0, SPREADS[name], int(group.max()) + 1)[group]
            for name, group in zip(LEVELS, groups, strict=True)
        )
        for part in variance_split(frame, "value", LEVELS).levels:
            held[part.name] += part.low <= SPREADS[part.name] ** 2 <= part.high
        means = frame.groupby(list(LEVELS), sort=False)["value"].mean().to_numpy(dtype=np.float64)
        square, df = float(means.var(ddof=1)), means.size - 1
        low, high = (square * df / float(scipy.special.chdtri(df, p)) for p in (0.025, 0.975))
        n_naive += low <= SPREADS["trial"] ** 2 <= high
    assert [name for name, times in held.items() if not holds(times / n, at_least=0.93, n=n)] == []
    assert n_naive / n < 0.7
