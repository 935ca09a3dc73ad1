# SPDX-License-Identifier: Apache-2.0
"""Ratios over trials, with intervals. The trial is the unit; the paired log-t is the default.

With a run-to-run variation of 3-5 % and correlated requests, an interval over requests covers the
truth in a fifth to a half of all experiments where 95 % are promised (``harness verify coverage``
shows it). So every function here takes one number per trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats import intervals
from harness.analysis.stats.bootstrap import bootstrap_t
from harness.analysis.stats.estimates import from_bounds, nothing
from harness.analysis.stats.inputs import Floats, Unit, arms, fraction
from harness.analysis.stats.ratio_of_means import fieller_ratio, hierarchical_ratio
from harness.errors import InputError
from harness.model import Estimate

Estimator = Literal[
    "log_t", "welch_log_t", "fieller", "bootstrap_t", "hierarchical_bootstrap", "hodges_lehmann"
]

NOT_POSITIVE = "a value is zero or negative: its logarithm does not exist, so no ratio on the log scale"


def effect_size_ci(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    paired: bool,
    estimator: Estimator = "log_t",
    level: float = 0.95,
    seed: int = 0,
    n_resamples: int = 9999,
    unit: Unit = "trial",
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the ratio a / b with its interval; above 1 means that ``a`` has more.

    Args:
        a, b: one number per trial, shapes (k,) and (k,) in the same order of blocks when ``paired``,
            otherwise (m,) and (n,). ``hierarchical_bootstrap`` also takes one array of requests, in
            time order, per trial.
        estimator: what is computed.

            - ``log_t``: geometric mean ratio; paired t of log ratios, or Student's t of the logs.
            - ``welch_log_t``: the same for unpaired arms of unequal variance.
            - ``fieller``: ratio of arithmetic means (Fieller 1954).
            - ``bootstrap_t``: geometric mean ratio, studentised bootstrap over trials.
            - ``hierarchical_bootstrap``: ratio of arithmetic means, percentiles over resampled trials
              and batches within them; too narrow below 20 trials, so never the default.
            - ``hodges_lehmann``: exp of the median of pairwise log ratios, exact rank interval;
              barely moved by a few slow trials.
        level: of the interval. seed, n_resamples: of the bootstraps only.

    Returns:
        An estimate of unit ``ratio``. Bounds are ``None`` with a warning when they cannot be had
        (one trial, no variation, too few for an exact interval, a denominator that may be zero).

    Raises:
        InputError: empty, not finite, unequal lengths when paired, or an estimator that cannot do it.
        PseudoReplicationError: more values than anybody makes trials.
    """
    fraction(level, "level")
    if estimator == "hierarchical_bootstrap":
        return hierarchical_ratio(
            a, b, paired=paired, level=level, seed=seed, n_resamples=n_resamples, unit=unit, inputs=inputs
        )
    left, right = arms(np.asarray(a), np.asarray(b), paired=paired, unit=unit)
    n_trials = left.size if paired else left.size + right.size
    if estimator == "fieller":
        return fieller_ratio(left, right, paired=paired, level=level, inputs=inputs)
    if min(left.min(), right.min()) <= 0:
        return nothing(
            f"{NOT_POSITIVE}; use fieller for a ratio of arithmetic means", method=f"{estimator} over trials",
            estimand="ratio of a over b", unit="ratio", n_trials=n_trials, level=level, inputs=inputs,
        )  # fmt: skip
    la, lb = np.log(left), np.log(right)
    constant = (
        intervals.is_constant(la - lb, least=1.0)
        if paired
        else (intervals.is_constant(la, least=1.0) and intervals.is_constant(lb, least=1.0))
    )
    bounds, method, estimand, extra = _on_logs(
        la, lb, paired=paired, estimator=estimator, level=level, seed=seed, n_resamples=n_resamples
    )
    return from_bounds(
        np.exp,
        bounds,
        method=method,
        estimand=estimand,
        unit="ratio",
        n_trials=n_trials,
        level=level,
        inputs=inputs,
        constant=constant,
        seed=seed if estimator == "bootstrap_t" else None,
        extra=extra,
    )


def _on_logs(
    la: Floats, lb: Floats, *, paired: bool, estimator: Estimator, level: float, seed: int, n_resamples: int
) -> tuple[intervals.Bounds, str, str, tuple[str, ...]]:
    geometric = "ratio of geometric means over trials"
    how = "paired by block" if paired else "unpaired"
    if estimator == "log_t" and paired:
        return intervals.student(la - lb, level), "paired log-t over blocks", geometric, ()
    if estimator == "log_t":
        return intervals.two_sample(la, lb, level, welch=False), "Student log-t over trials", geometric, ()
    if estimator == "welch_log_t":
        if paired:
            raise InputError(
                "Welch's interval ignores the pairing",
                place="estimator",
                found=estimator,
                allowed="log_t for paired arms; welch_log_t with paired=False",
            )
        return intervals.two_sample(la, lb, level, welch=True), "Welch log-t over trials", geometric, ()
    if estimator == "bootstrap_t":
        bounds = bootstrap_t(la, lb, paired=paired, level=level, seed=seed, n_resamples=n_resamples)
        return bounds, f"studentised bootstrap of log ratios, {how}, {n_resamples} resamples", geometric, ()
    if estimator == "hodges_lehmann":
        return _hodges_lehmann(la, lb, paired=paired, level=level)
    raise InputError(
        "no such estimator",
        place="estimator",
        found=estimator,
        allowed="log_t, welch_log_t, fieller, bootstrap_t, hierarchical_bootstrap, hodges_lehmann",
    )


def _hodges_lehmann(
    la: Floats, lb: Floats, *, paired: bool, level: float
) -> tuple[intervals.Bounds, str, str, tuple[str, ...]]:
    if paired:
        values = la - lb
        bounds = intervals.signed_rank(values, level)
        depth, attained = intervals.signed_rank_depth(values.size, level)
        test = "signed-rank"
    else:
        values = (la[:, None] - lb[None, :]).ravel()
        bounds = intervals.rank_sum(la, lb, level)
        depth, attained = intervals.rank_sum_depth(la.size, lb.size, level)
        test = "rank-sum"
    warnings: tuple[str, ...] = ()
    if depth < 1:
        warnings += (f"too few trials for an exact {level:.0%} {test} interval",)
    elif np.unique(values).size < values.size:
        warnings += ("ties between trials: the exact interval is conservative",)
    exact = f", attained level {attained:.4f}" if depth else ""
    return bounds, f"Hodges-Lehmann, exact {test} interval{exact}", "pseudo-median of the ratio", warnings
