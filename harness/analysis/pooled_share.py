# SPDX-License-Identifier: Apache-2.0
"""The share of a quantile that pauses explain, of the requests of all trials together; the trial is the unit.

One trial has too few requests clear of every pause to tell its own p99 without them, where pauses are many.
All trials together have enough: 1 - Q(clear requests of all trials) / Q(all requests of all trials). The interval
leaves out one trial at a time. ``harness verify attribution`` holds its coverage against simulated sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.analysis.intervals import t_critical
from harness.analysis.latency_counts import BIN_LOG, BIN_SHARE, LatencyCounts, counted, pooled_and_without
from harness.analysis.lives import Lives
from harness.analysis.pooled import jackknife_variance
from harness.analysis.quantiles import EXTREME, FEWEST_BEYOND_EXTREME, n_beyond
from harness.model import Estimate

FloatArray = npt.NDArray[np.float64]
Way = Literal["clear", "unpaused", "drained"]

#: Clear requests beyond the quantile that each trial, and all together, need at least.
FEWEST_IN_A_TRIAL, FEWEST_TOGETHER = 15, 75


@dataclass(frozen=True, kw_only=True)
class WithoutPauses:
    """One trial's latencies, as measured and as they would have been without pauses, three ways.

    ``clear``: of the requests that started clear of every pause and its wake; ``unpaused``: of all, the pauses'
    own time taken away; ``drained``: of all, everything in a wake at the median.
    """

    measured: LatencyCounts
    clear: LatencyCounts
    unpaused: LatencyCounts
    drained: LatencyCounts


def without_pauses(lives: Lives, step_s: float = 0.0) -> WithoutPauses:
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

    The jackknife works on the logarithm of the ratio of both quantiles. Where the ratio stays the same whichever
    trial is left out, and the quantiles do not, the interval is what bins can tell apart.

    Args:
        what: the estimand in words, and whose.

    Returns:
        The estimate; ``n_requests`` are those that the quantile without pauses was read from. Refused (value
        ``None``, the reason in ``warnings``) where too few of them lie beyond the quantile. Never a cut interval:
        a share whose interval reaches below zero is not shown to be above it.
    """
    kept: list[LatencyCounts] = [getattr(trial, way) for trial in trials]
    facts = {
        "level": level,
        "unit": "share",
        "method": "delete-one-trial jackknife t (log scale of the ratio of pooled quantiles)",
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
    log_ratio = float(np.log(left / measured))
    low, high = jackknifed(log_ratio, np.log(left_without / measured_without), level)
    entered = (
        f"{len(trials)} trials, {facts['n_requests']:,} requests clear of every pause and its wake"
        if way == "clear"
        else f"{len(trials)} trials, {facts['n_requests']:,} requests"
    )
    bounds: dict[str, object] = {"warnings": (entered,)}
    if high - low <= 1e-9 and np.ptp(measured_without) > 0:
        # Trials differ and their ratio does not, as far as bins can tell: so far, and no further.
        low, high = (round(log_ratio + by, 12) for by in (-BIN_LOG, BIN_LOG))
        bounds = {
            "warnings": (entered, f"the same without any one trial: the interval is one bin, {BIN_SHARE:.1%}")
        }
    if len(trials) < 3:
        bounds = {"warnings": (entered, "fewer than three trials: no interval over trials")}
    elif high - low > 1e-9:
        bounds |= {"low": 0.0 - float(np.expm1(high)), "high": 0.0 - float(np.expm1(low))}
    else:
        bounds = {"warnings": (entered, "no variation between trials: no interval")}
    return Estimate.model_validate(facts | {"value": 0.0 - float(np.expm1(log_ratio))} | bounds)


def jackknifed(log_ratio: float, without: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of the interval from the log ratio and those without each trial in turn, shape (k,).

    Student's t has k - 2 degrees of freedom: with k - 1, as for one quantile, five trials cover three points too
    little. NaN for fewer than three trials.
    """
    half = float(t_critical(level, len(without) - 2)) * float(np.sqrt(jackknife_variance(without)))
    return log_ratio - half, log_ratio + half


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
