# SPDX-License-Identifier: Apache-2.0
"""A p-value by re-randomising what the plan randomised."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.inputs import Floats, Unit, arms
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.model.base import Frozen

#: Up to here all 2^k sign patterns are counted (half a million sums), above they are sampled.
EXACT_SIGN_FLIPS_UP_TO = 20
EXACT_SPLITS_UP_TO = 200_000


class RandomizationTest(Frozen):
    """A p-value by re-randomising what the plan randomised. ``p_value`` None: too few trials to print one."""

    p_value: float | None
    statistic: float = Field(description="mean log ratio of a over b")
    method: str
    n_trials: int
    exact: bool
    n_resamples: int
    seed: int | None = None
    warnings: tuple[str, ...] = ()


def randomization_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    paired: bool,
    n_resamples: int = 100_000,
    seed: int = 0,
    unit: Unit = "trial",
) -> RandomizationTest:
    """Return the two-sided p of "swapping a and b changes nothing".

    Paired arms (shape (k,) each): the signs of the log ratios are flipped, all 2^k ways up to k = 20,
    sampled above. Unpaired arms: trials are dealt anew to the arms, all ways when there are few.
    Sampled p-values count the observed arrangement as well (Phipson & Smyth 2010), so they are never 0.

    Raises:
        InputError: not positive, not finite, empty, unequal lengths when paired.
        PseudoReplicationError: more values than anybody makes trials.
    """
    left, right = arms(a, b, paired=paired, unit=unit)
    if min(left.min(), right.min()) <= 0:
        raise InputError(
            "the test is on log ratios", found="a value of zero or less", allowed="positive numbers"
        )
    la, lb = np.log(left), np.log(right)
    n_trials = min(la.size, lb.size)
    observed = float(la.mean() - lb.mean())
    sample_seed: int | None = seed
    if paired and la.size <= EXACT_SIGN_FLIPS_UP_TO:
        p, exact, count, sample_seed = sign_flip_exact(la - lb), True, 2**la.size, None
    elif paired:
        p, exact, count = _sign_flip_sampled(la - lb, n_resamples, seed), False, n_resamples
    elif comb(la.size + lb.size, la.size) <= EXACT_SPLITS_UP_TO:
        p, count = _splits_exact(la, lb)
        exact, sample_seed = True, None
    else:
        p, exact, count = _splits_sampled(la, lb, n_resamples, seed), False, n_resamples
    few = n_trials < FEWEST_FOR_P
    return RandomizationTest(
        p_value=None if few else p,
        statistic=observed,
        method=("sign flips of log ratios over blocks" if paired else "re-dealing trials to the arms")
        + (", all of them" if exact else ", sampled"),
        n_trials=n_trials,
        exact=exact,
        n_resamples=count,
        seed=sample_seed,
        warnings=(f"{n_trials} trials: below {FEWEST_FOR_P} no p-value is printed",) if few else (),
    )


def sign_flip_exact(differences: Floats) -> float:
    """Return the share of all sign patterns whose mean is at least as far from 0 as the observed one."""
    sums = np.zeros(1)
    for d in differences[1:]:  # the first sign may stay: patterns come in mirrored pairs
        sums = np.concatenate([sums + d, sums - d])
    sums = np.abs(sums + differences[0])
    return float(np.mean(sums >= abs(differences.sum()) - _rounding(differences)))


def _sign_flip_sampled(differences: Floats, n_resamples: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    observed = abs(differences.sum()) - _rounding(differences)
    n_extreme, done = 0, 0
    while done < n_resamples:
        n = min(20_000, n_resamples - done)  # bounds the memory
        signs = rng.integers(0, 2, (n, differences.size), dtype=np.int8) * 2.0 - 1.0
        n_extreme += int(np.count_nonzero(np.abs(signs @ differences) >= observed))
        done += n
    return (n_extreme + 1) / (n_resamples + 1)


def _splits_exact(la: Floats, lb: Floats) -> tuple[float, int]:
    from itertools import combinations  # only small samples come here

    pool = np.concatenate([la, lb])
    picks = np.array(list(combinations(range(pool.size), la.size)))
    sums = pool[picks].sum(axis=1)
    shift = np.abs(sums / la.size - (pool.sum() - sums) / lb.size)
    return float(np.mean(shift >= abs(la.mean() - lb.mean()) - _rounding(pool))), len(picks)


def _splits_sampled(la: Floats, lb: Floats, n_resamples: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    pool = np.concatenate([la, lb])
    observed = abs(la.mean() - lb.mean()) - _rounding(pool)
    n_extreme, done = 0, 0
    while done < n_resamples:
        n = min(20_000, n_resamples - done)
        dealt = rng.permuted(np.broadcast_to(pool, (n, pool.size)), axis=1)
        shift = dealt[:, : la.size].mean(axis=1) - dealt[:, la.size :].mean(axis=1)
        n_extreme += int(np.count_nonzero(np.abs(shift) >= observed))
        done += n
    return (n_extreme + 1) / (n_resamples + 1)


def _rounding(values: Floats) -> float:
    """Equal sums added in another order differ by this much; they must count as equal."""
    return 1e-12 * float(np.abs(values).sum())
