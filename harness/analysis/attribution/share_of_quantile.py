# SPDX-License-Identifier: Apache-2.0
"""By how much a quantile is lower without pauses, of the requests of all trials together; the trial is the unit.

One trial has too few requests clear of every pause to tell its own p99 without them, where pauses are many.
All trials together have enough: 1 - Q(clear requests of all trials) / Q(all requests of all trials). That is a
reduction and no part of a whole: the clear requests are others than those that met a pause, and may be slower,
so it is negative at times, and an interval that holds 0 says that no reduction is shown. What takes time away
from the same requests (``unpaused``, ``drained``) can only lower a quantile: those two are shares, 0 to 1. Their
intervals never reach 0, whatever the data: they bound the reduction, and none of them is evidence that there is one.
The interval leaves out one trial at a time. ``harness verify attribution`` holds its coverage against simulated
sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used

from harness.analysis.attribution.latency_bins import (
    BIN_LOG,
    BIN_SHARE,
    LatencyCounts,
    counted,
    pooled_and_without,
)
from harness.analysis.attribution.request_overlap import RequestOverlap
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.pooled_quantiles import jackknife_variance
from harness.analysis.stats.quantiles import EXTREME, FEWEST_BEYOND_EXTREME, n_beyond
from harness.formats.arrays import FloatArray
from harness.model import Estimate, Support

Way = Literal["clear", "unpaused", "drained"]

#: Clear requests beyond the quantile that each trial, and all together, need at least.
FEWEST_IN_A_TRIAL, FEWEST_TOGETHER = 15, 75


@dataclass(frozen=True, kw_only=True)
class WithoutPauses:
    """One trial's latencies, as measured and as they would have been without pauses, three ways.

    ``clear``: of the requests that started clear of every pause and its queue drain; ``unpaused``: of all, the pauses'
    own time taken away; ``drained``: of all, everything in a queue drain at the median.
    """

    measured: LatencyCounts
    clear: LatencyCounts
    unpaused: LatencyCounts
    drained: LatencyCounts


def without_pauses(lives: RequestOverlap, step_s: float = 0.0) -> WithoutPauses:
    """Count one trial's latencies with the service's pauses laid over its requests.

    Args:
        step_s: the load tool's resolution; ties are spread over it.
    """
    return WithoutPauses(
        measured=counted(lives.latency, step_s),
        clear=counted(lives.unpaused[~lives.wake], step_s),
        unpaused=counted(lives.unpaused, step_s),
        drained=counted(lives.drained, step_s),
    )


def pooled_share(
    trials: Sequence[WithoutPauses],
    way: Way,
    quantile: float,
    *,
    what: str,
    level: float = 0.95,
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the share of the pooled quantile that would vanish, with a delete-one-trial jackknife t interval.

    The jackknife works on the logarithm of the ratio of both quantiles for ``clear`` (at most 1, negative where the
    clear requests are slower), and on the log odds of the share for the other two ways (0 to 1). Where it stays the
    same whichever trial is left out, and the quantiles do not, the interval is what bins can tell apart.

    Args:
        what: the estimand in words, and whose.

    Returns:
        The estimate; ``n_requests`` are those that the quantile without pauses was read from. Refused (value
        ``None``, the reason in ``warnings``) where too few of them lie beyond the quantile. Never a cut interval:
        a reduction whose interval reaches below zero is not shown. A share of 0 has no odds, so no interval.
    """
    kept: list[LatencyCounts] = [getattr(trial, way) for trial in trials]
    facts = {
        "level": level,
        "unit": "share",
        "support": Support.REDUCTION if way == "clear" else Support.SHARE,
        "method": "delete-one-trial jackknife t "
        + ("(log scale of the ratio of pooled quantiles)" if way == "clear" else "(log odds of the share)"),
        "estimand": f"pooled {what}",
        "n_trials": len(trials),
        "n_requests": sum(one.n for one in kept),
        "inputs": inputs,
    }
    refused = _refused([one.n for one in kept], quantile, "clear of every pause " if way == "clear" else "")
    if refused:
        return Estimate.model_validate(facts | {"value": None, "warnings": (refused,)})
    (measured, measured_without), (left, left_without) = (
        pooled_and_without(counts, quantile) for counts in ([trial.measured for trial in trials], kept)
    )
    log_ratio, log_ratios = float(np.log(left / measured)), np.log(left_without / measured_without)
    value = float(-np.expm1(log_ratio)) + 0.0
    entered = f"{len(trials)} trials, {facts['n_requests']:,} requests"
    entered += " clear of every pause and its queue drain" if way == "clear" else ""
    same = bool(np.ptp(log_ratios) <= 1e-9)
    bounds: dict[str, object]
    if len(trials) < 3:
        bounds = {"warnings": (entered, "fewer than three trials: no interval over trials")}
    elif same and np.ptp(measured_without) > 0:
        # Trials differ and their ratio does not, as far as bins can tell: so far, and no further.
        low, high = _one_bin(log_ratio, least=-1.0 if way == "clear" else 0.0)
        why = f"the same without any one trial: the interval is one bin, {BIN_SHARE:.1%}"
        bounds = {"low": low, "high": high, "warnings": (entered, why)}
    elif same:
        bounds = {"warnings": (entered, "no variation between trials: no interval")}
    elif way != "clear" and max(log_ratio, float(log_ratios.max())) >= 0:
        bounds = {
            "warnings": (entered, "a share of 0 without one of the trials: it has no odds, no interval")
        }
    elif way == "clear":
        low, high = jackknifed(log_ratio, log_ratios, level)
        bounds = {
            "warnings": (entered,),
            "low": 0.0 - float(np.expm1(high)),
            "high": 0.0 - float(np.expm1(low)),
        }
    else:
        low, high = jackknifed(float(_log_odds(log_ratio)), _log_odds(log_ratios), level)
        bounds = {
            "warnings": (entered,),
            "low": float(scipy.special.expit(low)),
            "high": float(scipy.special.expit(high)),
        }
    return Estimate.model_validate(facts | {"value": value} | bounds)


def _log_odds(log_ratio: float | FloatArray) -> FloatArray:
    """Log odds of a share of which the logarithm of what is left is known, and below 0."""
    return np.asarray(np.log(-np.expm1(log_ratio)) - log_ratio)


def _one_bin(log_ratio: float, least: float) -> tuple[float, float]:
    """Return one bin to each side: what counts in bins leave open, and no further than ``least``."""
    low, high = (0.0 - float(np.expm1(round(log_ratio + by, 12))) for by in (BIN_LOG, -BIN_LOG))
    return max(low, least), high


def jackknifed(value: float, without: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of the interval from a value and those without each trial in turn, shape (k,).

    Student's t has k - 2 degrees of freedom: with k - 1, as for one quantile, five trials cover three points too
    little. NaN for fewer than three trials.
    """
    half = float(t_critical(level, len(without) - 2)) * float(np.sqrt(jackknife_variance(without)))
    return value - half, value + half


def _refused(sizes: Sequence[int], quantile: float, whose: str) -> str | None:
    """Why these requests of each trial cannot tell their quantile; ``None``: they can."""
    extreme = quantile >= EXTREME
    beyond = [
        n_beyond(n, quantile) + 1e-6 for n in sizes
    ]  # a whole number may come out a rounding error below
    tail = f"requests {whose}beyond p{quantile * 100:g}"
    in_each = FEWEST_BEYOND_EXTREME if extreme else FEWEST_IN_A_TRIAL
    if min(beyond) < in_each:
        return f"too few {tail}: {min(beyond):.3g} in the trial that has the fewest, {in_each} needed in each"
    if sum(beyond) < FEWEST_TOGETHER:
        return f"too few {tail}: {sum(beyond):.3g} in all trials together, {FEWEST_TOGETHER} needed"
    return None
