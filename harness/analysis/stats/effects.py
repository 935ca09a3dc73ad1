# SPDX-License-Identifier: Apache-2.0
"""Ratios over trials, with intervals. One number per trial: the trial is the unit, never the request."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats, arms, fraction
from harness.analysis.stats.intervals import from_bounds, nothing, widest
from harness.errors import InputError
from harness.model import Estimate, Support

Estimator = Literal["log_t", "welch_log_t", "fieller", "hodges_lehmann"]


_GEOMETRIC = "ratio of geometric means over trials"
#: Estimator, and whether it is of paired arms -> method and estimand in words.
_WORDS: dict[tuple[Estimator, bool], tuple[str, str]] = {
    ("log_t", True): ("paired log-t over blocks", _GEOMETRIC),
    ("welch_log_t", False): ("Welch log-t over trials", _GEOMETRIC),
    ("fieller", False): ("Fieller, unpaired", "ratio of arithmetic means over trials"),
    ("hodges_lehmann", True): ("Hodges-Lehmann, exact signed-rank interval", "pseudo-median of the ratio"),
}


def effect_size_ci(
    a: ArrayLike, b: ArrayLike, *, paired: bool, estimator: Estimator = "log_t", level: float = 0.95,
    inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return the ratio a / b with its interval; bounds ``None`` with a warning where they cannot be had. Raises
    InputError: empty, not finite, unequal lengths when paired, or an estimator that cannot do it.
    PseudoReplicationError: more values than anybody makes trials.

    Args:
        a, b: one number per trial, shapes (k,) in the same order of blocks when ``paired``, else (m,) and (n,).
        estimator: ``log_t``: geometric mean ratio, paired t of logs; ``welch_log_t``: the same of unpaired arms;
            ``fieller``: ratio of arithmetic means, unpaired (Fieller 1954); ``hodges_lehmann``: paired, exp of the
            median of pairwise log ratios with an exact rank interval.
    """
    fraction(level, "level")
    left, right = arms(np.asarray(a), np.asarray(b), paired=paired)
    if (estimator, paired) not in _WORDS:
        raise InputError(
            "no such estimator", place="estimator", found=f"{estimator}, {'paired' if paired else 'unpaired'}",
            allowed="log_t and hodges_lehmann for paired arms; welch_log_t and fieller with paired=False",
        )  # fmt: skip
    method, estimand = _WORDS[estimator, paired]
    about: dict[str, Any] = {
        "method": method, "estimand": estimand, "unit": "ratio", "level": level, "inputs": inputs,
        "n_trials": left.size if paired else left.size + right.size,
    }  # fmt: skip
    if estimator == "fieller":
        return _fieller(left, right, about)
    if min(left.min(), right.min()) <= 0:
        return nothing(
            "a value is zero or negative: its logarithm does not exist, so no ratio on the log scale; use fieller for "
            "a ratio of arithmetic means",
            **(about | {"method": f"{estimator} over trials", "estimand": "ratio of a over b"}),
        )
    la, lb = np.log(left), np.log(right)
    extra: tuple[str, ...] = ()
    if estimator == "hodges_lehmann":
        depth, attained = intervals.signed_rank_depth(left.size, level)
        bounds = intervals.signed_rank(la - lb, level)
        about["method"] += f", attained level {attained:.4f}" if depth else ""
        if depth < 1:
            extra = (f"too few trials for an exact {level:.0%} signed-rank interval",)
        elif np.unique(la - lb).size < left.size:
            extra = ("ties between trials: the exact interval is conservative",)
    else:
        bounds = intervals.student(la - lb, level) if paired else intervals.two_sample(la, lb, level)
    constant = all(intervals.is_constant(x, least=1.0) for x in ((la - lb,) if paired else (la, lb)))
    return from_bounds(np.exp, bounds, constant=constant, extra=extra, **about)


def _fieller(left: Floats, right: Floats, about: dict[str, Any]) -> Estimate:
    if float(right.mean()) == 0.0:
        return nothing("the mean of b is zero: no ratio", **about)
    nan = np.asarray(np.nan)
    bounds = intervals.Bounds(centre=np.asarray(left.mean() / right.mean()), low=nan, high=nan)
    if min(left.size, right.size) >= 2:
        bounds = intervals.fieller(left, right, about["level"])
    return from_bounds(
        None, bounds, constant=intervals.is_constant(left) and intervals.is_constant(right),
        support=widest(np.concatenate([left, right]), Support.NOT_NEGATIVE),
        unbounded="the mean of b may be zero: the interval has no end", **about,
    )  # fmt: skip


def equivalence_interval(a: ArrayLike, b: ArrayLike, *, paired: bool) -> Estimate:
    """Return a / b with the 90 % interval that two one-sided t tests on logs invert (Schuirmann 1987)."""
    estimator: Literal["log_t", "welch_log_t"] = "log_t" if paired else "welch_log_t"
    return effect_size_ci(a, b, paired=paired, estimator=estimator, level=0.90)
