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


def effect_size_ci(
    a: ArrayLike, b: ArrayLike, *, paired: bool, estimator: Estimator = "log_t", level: float = 0.95,
    inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return the ratio a / b with its interval; bounds ``None`` with a warning where they cannot be had.

    Args:
        a, b: one number per trial, shapes (k,) in the same order of blocks when ``paired``, else (m,) and (n,).
        estimator: ``log_t``: geometric mean ratio, paired t of logs; ``welch_log_t``: the same of unpaired arms;
            ``fieller``: ratio of arithmetic means, unpaired (Fieller 1954); ``hodges_lehmann``: paired, exp of the
            median of pairwise log ratios with an exact rank interval.

    Raises:
        InputError: empty, not finite, unequal lengths when paired, or an estimator that cannot do it.
        PseudoReplicationError: more values than anybody makes trials.
    """
    fraction(level, "level")
    left, right = arms(np.asarray(a), np.asarray(b), paired=paired)
    if estimator == "fieller" and not paired:
        return _fieller(left, right, level=level, inputs=inputs)
    n_trials = left.size if paired else left.size + right.size
    if min(left.min(), right.min()) <= 0:
        return nothing(
            "a value is zero or negative: its logarithm does not exist, so no ratio on the log scale; use fieller for "
            "a ratio of arithmetic means", method=f"{estimator} over trials",
            estimand="ratio of a over b", unit="ratio", n_trials=n_trials, level=level, inputs=inputs,
        )  # fmt: skip
    la, lb = np.log(left), np.log(right)
    bounds, method, estimand, extra = _on_logs(la, lb, paired=paired, estimator=estimator, level=level)
    constant = all(intervals.is_constant(x, least=1.0) for x in ((la - lb,) if paired else (la, lb)))
    return from_bounds(
        np.exp, bounds, method=method, estimand=estimand, unit="ratio", n_trials=n_trials, level=level,
        inputs=inputs, constant=constant, extra=extra,
    )  # fmt: skip


def _on_logs(
    la: Floats, lb: Floats, *, paired: bool, estimator: Estimator, level: float
) -> tuple[intervals.Bounds, str, str, tuple[str, ...]]:
    geometric = "ratio of geometric means over trials"
    if estimator == "log_t" and paired:
        return intervals.student(la - lb, level), "paired log-t over blocks", geometric, ()
    if estimator == "welch_log_t" and not paired:
        return intervals.two_sample(la, lb, level), "Welch log-t over trials", geometric, ()
    if estimator == "hodges_lehmann" and paired:
        return _hodges_lehmann(la - lb, level)
    raise InputError(
        "no such estimator", place="estimator", found=f"{estimator}, {'paired' if paired else 'unpaired'}",
        allowed="log_t and hodges_lehmann for paired arms; welch_log_t and fieller with paired=False",
    )  # fmt: skip


def _hodges_lehmann(values: Floats, level: float) -> tuple[intervals.Bounds, str, str, tuple[str, ...]]:
    depth, attained = intervals.signed_rank_depth(values.size, level)
    warnings: tuple[str, ...] = ()
    if depth < 1:
        warnings = (f"too few trials for an exact {level:.0%} signed-rank interval",)
    elif np.unique(values).size < values.size:
        warnings = ("ties between trials: the exact interval is conservative",)
    method = "Hodges-Lehmann, exact signed-rank interval"
    method += f", attained level {attained:.4f}" if depth else ""
    return intervals.signed_rank(values, level), method, "pseudo-median of the ratio", warnings


def _fieller(left: Floats, right: Floats, *, level: float, inputs: tuple[str, ...]) -> Estimate:
    about: dict[str, Any] = {"method": "Fieller, unpaired"}
    about |= {"estimand": "ratio of arithmetic means over trials"}
    about |= {"unit": "ratio", "n_trials": left.size + right.size, "level": level, "inputs": inputs}
    if float(right.mean()) == 0.0:
        return nothing("the mean of b is zero: no ratio", **about)
    nan = np.asarray(np.nan)
    bounds = intervals.Bounds(centre=np.asarray(left.mean() / right.mean()), low=nan, high=nan)
    if min(left.size, right.size) >= 2:
        bounds = intervals.fieller(left, right, level)
    return from_bounds(
        None, bounds, constant=intervals.is_constant(left) and intervals.is_constant(right),
        support=widest(np.concatenate([left, right]), Support.NOT_NEGATIVE),
        unbounded="the mean of b may be zero: the interval has no end", **about,
    )  # fmt: skip


def equivalence_interval(a: ArrayLike, b: ArrayLike, *, paired: bool) -> Estimate:
    """Return a / b with the 90 % interval that two one-sided t tests on logs invert (Schuirmann 1987)."""
    estimator: Literal["log_t", "welch_log_t"] = "log_t" if paired else "welch_log_t"
    return effect_size_ci(a, b, paired=paired, estimator=estimator, level=0.90)
