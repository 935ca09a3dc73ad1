# SPDX-License-Identifier: Apache-2.0
"""By how much a quantile is lower without pauses, of the requests of all trials together; the trial is the unit.

1 - Q(clear requests) / Q(all requests) is a reduction and may be negative. What is taken from the same requests
(``unpaused``, ``drained``) can only lower a quantile: those two are shares, and bound it. Interval: delete-one-trial
jackknife, whose coverage ``harness verify attribution`` holds. Latencies are counts in fine logarithmic bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used

from harness.analysis.attribution.spans import Paused, RequestOverlap, lived
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.quantiles import EXTREME, FEWEST_BEYOND_EXTREME, jackknife_variance, n_beyond
from harness.formats.arrays import FloatArray, IntArray
from harness.model import Estimate, Support

#: Width of a bin as a share of the value, and the latency at which they begin; below it all is one bin.
BIN_SHARE, LEAST_S = 0.001, 1e-9
BIN_LOG = float(np.log1p(BIN_SHARE))


@dataclass(frozen=True)
class LatencyCounts:
    """How many latencies each bin has; only bins that have any, in ascending order. Arrays of one length."""

    bins: IntArray
    counts: IntArray

    @property
    def n(self) -> int:
        """How many latencies there are."""
        return int(self.counts.sum())


def counted(latency_s: FloatArray, step_s: float = 0.0) -> LatencyCounts:
    """Count latencies in seconds, shape (n,); ties are spread evenly over ``step_s``, what a tool's clock rounds to."""
    spread = _ties_spread(latency_s, step_s) if step_s and len(latency_s) else latency_s
    bins = np.floor(np.log(np.maximum(spread, LEAST_S) / LEAST_S) / BIN_LOG).astype(np.int64)
    used, counts = np.unique(bins, return_counts=True)
    return LatencyCounts(used, counts.astype(np.int64))


def _ties_spread(latency_s: FloatArray, step_s: float) -> FloatArray:
    values, counts = np.unique(np.round(latency_s, 9), return_counts=True)
    place = np.arange(len(latency_s)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(values, counts) + ((place + 0.5) / np.repeat(counts, counts) - 0.5) * step_s


def pooled_and_without(trials: Sequence[LatencyCounts], quantile: float) -> tuple[float, FloatArray]:
    """Return the quantile in seconds of all trials, and that without each in turn, shape (k,), to half a bin; NaN:
    none left."""
    used = np.unique(np.concatenate([trial.bins for trial in trials]))
    if not len(used):
        return float("nan"), np.full(len(trials), np.nan)
    matrix = np.zeros((len(trials), len(used)), dtype=np.int64)
    for row, trial in zip(matrix, trials, strict=True):
        row[np.searchsorted(used, trial.bins)] = trial.counts
    whole = matrix.sum(axis=0)
    up_to = np.cumsum(np.vstack([whole, whole - matrix]), axis=1)
    result = np.array([_middle(used, row, quantile) for row in up_to])
    return float(result[0]), result[1:]


def _middle(used: IntArray, up_to: IntArray, quantile: float) -> float:
    total = int(up_to[-1])
    if total == 0:
        return float("nan")
    rank = min(total, max(1, ceil(round(total * quantile, 6))))
    return float(LEAST_S * np.exp((used[np.searchsorted(up_to, rank)] + 0.5) * BIN_LOG))


Way = Literal["clear", "unpaused", "drained"]

#: Clear requests beyond the quantile that each trial, and all together, need at least.
FEWEST_IN_A_TRIAL, FEWEST_TOGETHER = 15, 75


@dataclass(frozen=True, kw_only=True)
class WithoutPauses:
    """One trial's latencies as measured, and without pauses.

    ``clear``: of requests clear of every pause and queue drain; ``unpaused``: the pauses' own time taken away;
    ``drained``: everything in a queue drain at the median.
    """

    measured: LatencyCounts
    clear: LatencyCounts
    unpaused: LatencyCounts
    drained: LatencyCounts


def without_pauses(lives: RequestOverlap, step_s: float = 0.0) -> WithoutPauses:
    """Count one trial's latencies with the service's pauses laid over; ties are spread over ``step_s``."""
    return WithoutPauses(
        measured=counted(lives.latency, step_s),
        clear=counted(lives.unpaused[~lives.wake], step_s),
        unpaused=counted(lives.unpaused, step_s),
        drained=counted(lives.drained, step_s),
    )


def pooled_share(
    trials: Sequence[WithoutPauses], way: Way, quantile: float, *, what: str, level: float = 0.95,
    inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return the share of the pooled quantile that would vanish, with a delete-one-trial jackknife t interval.

    On the logarithm of the ratio of both quantiles for ``clear``, on the log odds of the share for the other two ways.
    Value ``None`` where too few requests lie beyond the quantile. No interval is ever cut.

    Args:
        what: the estimand in words, and whose.
    """
    remaining: list[LatencyCounts] = [getattr(trial, way) for trial in trials]
    facts = {
        "level": level,
        "unit": "share",
        "support": Support.REDUCTION if way == "clear" else Support.SHARE,
        "method": "delete-one-trial jackknife t "
        + ("(log scale of the ratio of pooled quantiles)" if way == "clear" else "(log odds of the share)"),
        "estimand": f"pooled {what}",
        "n_trials": len(trials),
        "n_requests": sum(item.n for item in remaining),
        "inputs": inputs,
    }
    refused = _refused(
        [item.n for item in remaining], quantile, "clear of every pause " if way == "clear" else ""
    )
    if refused:
        return Estimate.model_validate(facts | {"value": None, "warnings": (refused,)})
    (measured, measured_without), (left, left_without) = (
        pooled_and_without(counts, quantile) for counts in ([trial.measured for trial in trials], remaining)
    )
    log_ratio, log_ratios = float(np.log(left / measured)), np.log(left_without / measured_without)
    value = float(-np.expm1(log_ratio)) + 0.0
    entered = f"{len(trials)} trials, {facts['n_requests']:,} requests"
    entered += " clear of every pause and its queue drain" if way == "clear" else ""
    same = bool(np.ptp(log_ratios) <= 1e-9)
    low: float | None = None
    high: float | None = None
    why = ""
    if len(trials) < 3:
        why = "fewer than three trials: no interval over trials"
    elif same and np.ptp(measured_without) > 0:
        # Trials differ and their ratio does not, as far as bins can tell: so far, and no further.
        low, high = _one_bin(log_ratio, least=-1.0 if way == "clear" else 0.0)
        why = f"the same without any one trial: the interval is one bin, {BIN_SHARE:.1%}"
    elif same:
        why = "no variation between trials: no interval"
    elif way == "clear":
        high, low = (0.0 - float(np.expm1(end)) for end in jackknifed(log_ratio, log_ratios, level))
    elif max(log_ratio, float(log_ratios.max())) >= 0:
        why = "a share of 0 without one of the trials: it has no odds, no interval"
    else:
        ends = jackknifed(float(_log_odds(log_ratio)), _log_odds(log_ratios), level)
        low, high = (float(scipy.special.expit(end)) for end in ends)
    warnings = (entered, why) if why else (entered,)
    return Estimate.model_validate(facts | {"value": value, "low": low, "high": high, "warnings": warnings})


def _log_odds(log_ratio: float | FloatArray) -> FloatArray:
    """Log odds of a share of which the logarithm of what is left is known, and below 0."""
    return np.asarray(np.log(-np.expm1(log_ratio)) - log_ratio)


def _one_bin(log_ratio: float, least: float) -> tuple[float, float]:
    """Return one bin to each side: what counts in bins leave open, and no further than ``least``."""
    low, high = (0.0 - float(np.expm1(round(log_ratio + by, 12))) for by in (BIN_LOG, -BIN_LOG))
    return max(low, least), high


def jackknifed(value: float, without: FloatArray, level: float) -> tuple[float, float]:
    """Return the interval from a value and those without each trial, shape (k,): t with k - 2 degrees; NaN for k <
    3."""
    half = float(t_critical(level, len(without) - 2)) * float(np.sqrt(jackknife_variance(without)))
    return value - half, value + half


def _refused(sizes: Sequence[int], quantile: float, whose: str) -> str | None:
    """Why these requests of each trial cannot tell their quantile; ``None``: they can."""
    # a whole number may come out a rounding error below
    beyond = [n_beyond(n, quantile) + 1e-6 for n in sizes]
    tail = f"requests {whose}beyond p{quantile * 100:g}"
    in_each = FEWEST_BEYOND_EXTREME if quantile >= EXTREME else FEWEST_IN_A_TRIAL
    if min(beyond) < in_each:
        return f"too few {tail}: {min(beyond):.3g} in the trial that has the fewest, {in_each} needed in each"
    if sum(beyond) < FEWEST_TOGETHER:
        return f"too few {tail}: {sum(beyond):.3g} in all trials together, {FEWEST_TOGETHER} needed"
    return None


def without_at_each_place(
    start: FloatArray, latency: FloatArray, pauses: Paused, within_s: float, step_s: float = 0.0
) -> tuple[WithoutPauses, ...]:
    """Count latencies without pauses, these where they are thought to be and, if short, ``within_s`` to either side."""
    lengths = [high - low for spans in pauses.values() for low, high in spans]
    known = not lengths or float(np.median(lengths)) / 2 >= within_s
    return tuple(
        without_pauses(
            lived(start, latency, {c: [(low + by, high + by) for low, high in s] for c, s in pauses.items()}),
            step_s,
        )
        for by in ((0.0,) if known else (0.0, -within_s, within_s))
    )


def over_all_places(estimate: Estimate, rest: Sequence[Estimate]) -> Estimate:
    """Widen an interval until it covers those of the others."""
    if estimate.low is None or estimate.high is None:
        return estimate
    every = (estimate, *rest)
    bounds: dict[str, object] = {
        "low": min(e.low for e in every if e.low is not None),
        "high": max(e.high for e in every if e.high is not None),
    }
    return estimate.model_copy(
        update=bounds | {"method": f"{estimate.method}, over all places that the pauses may have"}
    )
