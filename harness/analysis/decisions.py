# SPDX-License-Identifier: Apache-2.0
"""Tests and what follows from them: randomisation, equivalence, families of tests, and the four verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, log1p
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis import intervals
from harness.analysis.effects import CONSTANT, effect_size_ci
from harness.analysis.inputs import Floats, Unit, arms, fraction
from harness.errors import InputError
from harness.model import Estimate, Verdict
from harness.model.base import Frozen

Grade = Literal["too few", "exploratory", "confirmatory"]
Family = Literal["exploratory", "confirmatory"]

#: Below this number of blocks no p-value is printed; from the second on a claim may be confirmatory.
FEWEST_FOR_P = 5
FEWEST_FOR_CONFIRMATORY = 10
#: Up to here all 2^k sign patterns are counted (half a million sums), above they are sampled.
EXACT_SIGN_FLIPS_UP_TO = 20
EXACT_SPLITS_UP_TO = 200_000

#: What counts as negligible where nothing else is said: a share of the reference.
DEFAULT_MARGIN = 0.05
TAIL_MARGIN = 0.10


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
    _check_margin(margin)
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


def adjust_pvalues(
    p_values: Sequence[float | None], *, method: Literal["holm", "bh"] = "holm"
) -> tuple[float | None, ...]:
    """Return p-values adjusted over their family, in the same order; ``None`` stays and is not counted.

    ``holm`` bounds the chance of any false claim (confirmatory claims); ``bh`` the share of false
    ones among those made (the exploratory grid; Benjamini & Hochberg 1995).

    Raises:
        InputError: a p-value outside [0, 1] or NaN, or an unknown method.
    """
    present = [(i, p) for i, p in enumerate(p_values) if p is not None]
    for i, p in present:
        if not 0.0 <= p <= 1.0:
            raise InputError("not a p-value", place=f"p_values[{i}]", found=p, allowed="a number in [0, 1]")
    if method not in ("holm", "bh"):
        raise InputError("no such adjustment", place="method", found=method, allowed="holm, bh")
    family = np.array([p for _, p in present])
    adjusted = _holm(family) if method == "holm" else _benjamini_hochberg(family)
    out: list[float | None] = [None] * len(p_values)
    for (i, _), value in zip(present, adjusted, strict=True):
        out[i] = float(value)
    return tuple(out)


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def _benjamini_hochberg(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")[::-1]
    stepped = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def default_margin(metric: str, noise: float | None = None) -> float:
    """Return what counts as negligible for a metric: 10 % in the tail (p99 and beyond, maxima), 5 %
    elsewhere, and never less than the measured noise of the reference against its duplicate."""
    tail = any(word in metric for word in ("p99", "p999", "max"))
    margin = TAIL_MARGIN if tail else DEFAULT_MARGIN
    return margin if noise is None else max(margin, noise)


def verdict(difference: Estimate, equivalence: Estimate, *, margin: float) -> Verdict:
    """Return which of the four things a comparison says.

    Args:
        difference: the ratio with its 95 % interval; "different" when that leaves out 1.
        equivalence: the same ratio with its 90 % interval; "equivalent" when that lies within
            [1 / (1 + margin), 1 + margin].

    Missing bounds say nothing: inconclusive.
    """
    _check_margin(margin)
    different = (
        difference.low is not None
        and difference.high is not None
        and not (difference.low <= 1.0 <= difference.high)
    )
    equivalent = (
        equivalence.low is not None
        and equivalence.high is not None
        and (equivalence.low >= 1 / (1 + margin) and equivalence.high <= 1 + margin)
    )
    if different and equivalent:
        return Verdict.DIFFERENT_BUT_NEGLIGIBLE
    if different:
        return Verdict.DIFFERENT
    return Verdict.EQUIVALENT if equivalent else Verdict.INCONCLUSIVE


def grade(n_blocks: int, family: Family) -> Grade:
    """Return what a comparison over ``n_blocks`` may be called (5-9: exploratory whatever was planned)."""
    if n_blocks < FEWEST_FOR_P:
        return "too few"
    return (
        "confirmatory" if family == "confirmatory" and n_blocks >= FEWEST_FOR_CONFIRMATORY else "exploratory"
    )


def _check_margin(margin: float) -> None:
    if not 0 < margin < float("inf"):
        raise InputError(
            "a margin is a share of the reference",
            place="margin",
            found=margin,
            allowed="above 0, such as 0.05",
        )


__all__ = [
    "CONSTANT",
    "EquivalenceTest",
    "Family",
    "Grade",
    "RandomizationTest",
    "adjust_pvalues",
    "default_margin",
    "equivalence_test",
    "grade",
    "one_sided_p",
    "randomization_test",
    "sign_flip_exact",
    "verdict",
]
