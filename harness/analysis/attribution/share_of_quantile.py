# SPDX-License-Identifier: Apache-2.0
"""Shares of a latency quantile that pauses explain: of one trial by cause, and of all trials together.

Three answers to "what would the quantile have been without pauses": a lower bound (their overlap with each request is
subtracted, queueing behind them is left in), an estimate (the requests that started clear of every pause and of its
queue drain: a reduction, which may be negative), and an upper bound (everything in the wake has the median).

Of one trial the interval is a bootstrap over blocks of one second, because requests that follow each other are alike.
Of all trials it is a delete-one-trial jackknife, whose coverage ``harness verify attribution`` holds; latencies are
counts in fine logarithmic bins there.

What a collector beside the program takes no log tells: :func:`excess_in_spans` is the population attributable fraction
of epidemiology (Levin 1953), which counts whatever comes with a collection as its doing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.analysis.attribution.spans import CauseName, Mask, Paused, RequestOverlap, Span, lived
from harness.analysis.stats.inputs import starts_and_latencies
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.quantiles import (
    EXTREME,
    FEWEST_BEYOND_EXTREME,
    jackknife_variance,
    n_beyond,
    rank,
)
from harness.errors import InputError
from harness.formats.arrays import FloatArray, IntArray
from harness.model import Estimate, Support

#: Fewer requests beyond the quantile than this, and its share is not said.
MIN_TAIL = 20
LEVEL, SEED = 0.95, 0
_BINS = 4000
#: How many times the requests beyond the quantile are put into bins at first, and of how many that is estimated.
_TAILS, _SAMPLE = 4, 20_000
#: Fewer requests on either side than this, and the two cannot be compared.
FEWEST = 50

TailCause = CauseName | Literal["unexplained"]


class Share(NamedTuple):
    """A share with its interval, which speaks of one trial; ``None``: it cannot be said."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Attribution(NamedTuple):
    """The tail beyond one quantile, taken apart: ``latency_s``: the quantile as measured; ``causes``: shares of the
    tail's time beyond the median, by ``ORDER``, then unexplained. ``quantile_share`` would vanish with pauses and queue
    drain, the lower with the pauses' own time only, the upper with everything in a queue drain at the median."""

    latency_s: float
    causes: dict[TailCause, Share]
    quantile_share: Share
    quantile_share_lower: Share
    quantile_share_upper: Share
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Resamples:
    """One trial at one quantile: the block of each request, and how often each resample drew each block."""

    lives: RequestOverlap
    blocks: npt.NDArray[np.intp]
    weights: FloatArray  # shape (resamples, blocks)
    quantile: float

    def share(self, without: FloatArray, clear: Mask | None = None) -> Share:
        """Return the share of the quantile that is gone in ``without``; of ``clear`` requests, a reduction."""
        latency = self.lives.latency
        measured = float(np.quantile(latency, self.quantile))
        usable = np.ones(len(latency), dtype=bool) if clear is None else clear
        if np.count_nonzero(usable) * (1 - self.quantile) < MIN_TAIL or measured <= 0:
            return Share(None)
        left = float(np.quantile(without[usable], self.quantile))
        low = max(float(min(latency.min(), without.min())), 1e-9)
        edges = np.geomspace(low, max(float(latency.max()), low * 1.001), _BINS)
        with_q = self.quantiles(latency, self.blocks, edges)
        without_q = self.quantiles(without[usable], self.blocks[usable], edges)
        return self.bounded(1 - left / measured, 1 - without_q / with_q)

    def bounded(self, value: float | None, draws: FloatArray) -> Share:
        """Return a value with the percentile interval of its ``draws``; none for too few requests in the tail."""
        usable = draws[np.isfinite(draws)]
        if value is None or len(self.lives.start) * (1 - self.quantile) < MIN_TAIL or not len(usable):
            return Share(value)
        return Share(value, *(float(np.quantile(usable, (1 + s * LEVEL) / 2)) for s in (-1, 1)))

    def quantiles(self, values: FloatArray, blocks: npt.NDArray[np.intp], edges: FloatArray) -> FloatArray:
        """Return the quantile of each resample, to within one bin: counts per block times how often it was drawn. Only
        values near the quantile and beyond are put into bins; where a resample's lies below, more are taken."""
        n_blocks = self.weights.shape[1]
        total = self.weights @ np.bincount(blocks, minlength=n_blocks)
        sample = values[:: max(1, len(values) // _SAMPLE)]
        beyond = 1 - self.quantile
        while True:
            beyond *= _TAILS
            floor = np.quantile(sample, 1 - beyond) if beyond < 1 else -np.inf
            near = np.flatnonzero(values >= floor)
            bins = np.clip(np.searchsorted(edges, values[near], side="right") - 1, 0, len(edges) - 1)
            used, column = np.unique(bins, return_inverse=True)
            counts = np.bincount(blocks[near] * len(used) + column, minlength=n_blocks * len(used))
            each = self.weights @ counts.reshape(n_blocks, len(used))
            above = np.cumsum(each[:, ::-1], axis=1)[:, ::-1]
            wanted = self.quantile * total
            if beyond >= 1 or (total - above[:, 0] < wanted).all():
                # up to and with a bin stands what does not stand beyond it
                cumulative = total[:, None] - np.append(above[:, 1:], np.zeros((len(above), 1)), axis=1)
                return np.asarray(edges[used[np.argmax(cumulative >= wanted[:, None], axis=1)]])

    def causes(self, tail: Mask) -> dict[TailCause, Share]:
        """Return cause -> its share of the time by which the requests of the tail exceed the median."""
        names, part = _tail_parts(self.lives, tail)
        n_blocks = self.weights.shape[1]
        per_block = [np.bincount(self.blocks[tail], weights=row, minlength=n_blocks) for row in part]
        resampled = self.weights @ np.stack(per_block).T
        totals = resampled.sum(axis=1, keepdims=True)
        draws = np.divide(resampled, totals, out=np.full_like(resampled, np.nan), where=totals > 0)
        return dict(zip(names, map(self.bounded, _shares(part), draws.T), strict=True))

    def apart(self) -> Attribution:
        """Return the tail taken apart."""
        lives = self.lives
        threshold = float(np.quantile(lives.latency, self.quantile))
        tail = lives.latency >= threshold
        return Attribution(
            threshold, self.causes(tail), self.share(lives.unpaused, ~lives.wake), self.share(lives.unpaused),
            self.share(lives.drained), _warnings(lives, int(tail.sum())),
        )  # fmt: skip


def attributable_fractions(
    start_s: FloatArray, latency_s: FloatArray, events: Mapping[CauseName, Sequence[Span]], *,
    quantiles: Sequence[float] = (0.99,), resamples: int = 500, connect_s: FloatArray | None = None,
) -> tuple[Attribution, ...]:  # fmt: skip
    """Take the tail beyond each quantile apart by cause, with intervals that speak of this one trial. ``connect_s``: as
    ``attribute_latency`` takes it; what went into connecting counts as gone with the pauses. Raises InputError: as
    ``attribute_latency``; or there is no request, or a quantile is not in (0, 1)."""
    start, latency = np.asarray(start_s, dtype=np.float64), np.asarray(latency_s, dtype=np.float64)
    _check(start, *quantiles)
    lives = lived(start, latency, events, connect_s=connect_s)
    blocks = np.asarray(np.unique((start - start.min()).astype(int), return_inverse=True)[1])  # of one second
    n_blocks = int(blocks.max()) + 1
    drawn = np.random.default_rng(SEED).multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=resamples)
    weights = drawn.astype(np.float64)
    return tuple(
        _Resamples(lives=lives, blocks=blocks, weights=weights, quantile=q).apart() for q in quantiles
    )


def _check(start: FloatArray, *quantiles: float) -> None:
    for quantile in quantiles:
        if not 0 < quantile < 1:
            raise InputError("a quantile must be between 0 and 1", found=quantile, allowed="0 < q < 1")
    if not len(start):
        raise InputError("no request to attribute", allowed="at least one")


def tail_shares(lives: RequestOverlap, quantile: float) -> dict[TailCause, float | None]:
    """Return cause -> its share of the time by which requests beyond a quantile exceed the median, by ``ORDER``, then
    unexplained; ``None``: no request of the tail took longer than the median."""
    names, part = _tail_parts(lives, lives.latency >= float(np.quantile(lives.latency, quantile)))
    return dict(zip(names, _shares(part), strict=True))


def _shares(part: FloatArray) -> list[float | None]:
    whole = part.sum()
    return [float(row.sum() / whole) if whole > 0 else None for row in part]


def _tail_parts(lives: RequestOverlap, tail: Mask) -> tuple[list[TailCause], FloatArray]:
    """Return the causes, and what each took from each request of the tail, shape (causes, requests), seconds."""
    columns = [*lives.by_cause.values(), np.maximum(lives.unpaused - lives.median, 0.0)]
    return [*lives.by_cause, "unexplained"], np.stack([column[tail] for column in columns])


def _warnings(lives: RequestOverlap, n_tail: int) -> tuple[str, ...]:
    warnings: list[str] = []
    spans, start = lives.spans, lives.start
    if not spans:
        warnings.append("no event was given: everything stays unexplained")
    elif spans[-1][1] < start.min() or spans[0][0] > float((start + lives.latency).max()):
        warnings.append("no GC pause overlaps the requests: wrong log file, or clocks out of sync")
    if n_tail < MIN_TAIL:
        warnings.append(f"only {n_tail} requests beyond the quantile")
    return tuple(warnings)


def excess_in_spans(
    start_s: FloatArray, latency_s: FloatArray, spans: Sequence[Span], *, quantile: float = 0.99
) -> float | None:
    """Return the share of the tail beyond what it would be if requests that met a span were as seldom slow as others.

    A request met a span where it started in one, or so that one of ordinary length would have met it. Below 0: they
    were slow even more seldom; ``None``: too few requests on one side.

    Args:
        start_s, latency_s: of each request, shape (n,), seconds. spans: in time order, not touching each other.
    """
    start, latency = starts_and_latencies(start_s, latency_s)
    _check(start, quantile)
    met = np.zeros(len(start), dtype=bool)
    if spans:
        low, high = np.array(spans, dtype=np.float64).T
        at = np.searchsorted(low - float(np.median(latency)), start, side="right") - 1
        met = (at >= 0) & (start <= high[np.maximum(at, 0)])
    tail = latency >= np.quantile(latency, quantile)
    n_others, n_slow = len(met) - int(met.sum()), int(tail.sum())
    if min(n_others, len(met) - n_others) < FEWEST or n_slow < MIN_TAIL:
        return None
    return 1 - (int((~met & tail).sum()) / n_others) / (n_slow / len(met))


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
    if step_s and len(latency_s):
        values, ties = np.unique(np.round(latency_s, 9), return_counts=True)
        place = np.arange(len(latency_s)) - np.repeat(np.cumsum(ties) - ties, ties)
        latency_s = np.repeat(values, ties) + ((place + 0.5) / np.repeat(ties, ties) - 0.5) * step_s
    bins = np.floor(np.log(np.maximum(latency_s, LEAST_S) / LEAST_S) / BIN_LOG).astype(np.int64)
    used, counts = np.unique(bins, return_counts=True)
    return LatencyCounts(used, counts.astype(np.int64))


def pooled_and_without(trials: Sequence[LatencyCounts], quantile: float) -> tuple[float, FloatArray]:
    """Return the quantile of all trials in seconds, and without each, shape (k,), to half a bin; NaN: there is none."""
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
    return float(LEAST_S * np.exp((used[np.searchsorted(up_to, rank(total, quantile))] + 0.5) * BIN_LOG))


Way = Literal["clear", "unpaused", "drained"]

#: Clear requests beyond the quantile that each trial, and all together, need at least.
FEWEST_IN_A_TRIAL, FEWEST_TOGETHER = 15, 75


@dataclass(frozen=True, kw_only=True)
class WithoutPauses:
    """One trial's latencies as measured, and without pauses. ``clear``: of requests clear of every pause and queue
    drain; ``unpaused``: the pauses' own time taken away; ``drained``: everything in a queue drain at the median."""

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
    ``what``: the estimand in words, and whose. On the logarithm of the ratio of both quantiles for ``clear``, on the
    log odds of the share for the other two ways. Value ``None`` where too few requests lie beyond the quantile. No
    interval is ever cut."""
    remaining: list[LatencyCounts] = [getattr(trial, way) for trial in trials]
    clear = way == "clear"
    scale = "log scale of the ratio of pooled quantiles" if clear else "log odds of the share"
    facts = {
        "level": level, "unit": "share", "support": Support.REDUCTION if clear else Support.SHARE,
        "method": f"delete-one-trial jackknife t ({scale})", "estimand": f"pooled {what}", "n_trials": len(trials),
        "n_requests": sum(counts.n for counts in remaining), "inputs": inputs,
    }  # fmt: skip
    refused = _refused([counts.n for counts in remaining], quantile, "clear of every pause " if clear else "")
    if refused:
        return Estimate.model_validate(facts | {"value": None, "warnings": (refused,)})
    (measured, measured_without), (left, left_without) = (
        pooled_and_without(counts, quantile) for counts in ([trial.measured for trial in trials], remaining)
    )
    log_ratio, log_ratios = float(np.log(left / measured)), np.log(left_without / measured_without)
    entered = f"{len(trials)} trials, {facts['n_requests']:,} requests"
    entered += " clear of every pause and its queue drain" if clear else ""
    same = bool(np.ptp(log_ratios) <= 1e-9)
    low: float | None = None
    high: float | None = None
    why = ""
    if len(trials) < 3:
        why = "fewer than three trials: no interval over trials"
    elif same and np.ptp(measured_without) > 0:
        # Trials differ and their ratio does not, as far as bins can tell: one bin to each side.
        low, high = (0.0 - float(np.expm1(round(log_ratio + by, 12))) for by in (BIN_LOG, -BIN_LOG))
        low = max(low, -1.0 if clear else 0.0)
        why = f"the same without any one trial: the interval is one bin, {BIN_SHARE:.1%}"
    elif same:
        why = "no variation between trials: no interval"
    elif clear:
        high, low = (0.0 - float(np.expm1(end)) for end in jackknifed(log_ratio, log_ratios, level))
    elif max(log_ratio, float(log_ratios.max())) >= 0:
        why = "a share of 0 without one of the trials: it has no odds, no interval"
    else:
        ends = jackknifed(float(_log_odds(log_ratio)), _log_odds(log_ratios), level)
        low, high = (float(scipy.special.expit(end)) for end in ends)
    value = {"value": float(-np.expm1(log_ratio)) + 0.0, "low": low, "high": high}
    return Estimate.model_validate(facts | value | {"warnings": (entered, why) if why else (entered,)})


def _log_odds(log_ratio: float | FloatArray) -> FloatArray:
    """Log odds of a share of which the logarithm of what is left is known, and below 0."""
    return np.asarray(np.log(-np.expm1(log_ratio)) - log_ratio)


def jackknifed(value: float, without: FloatArray, level: float) -> tuple[float, float]:
    """Return the interval from a value and those without each trial, shape (k,): t with k - 2 degrees, NaN below 3."""
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
    low = min(e.low for e in every if e.low is not None)
    high = max(e.high for e in every if e.high is not None)
    method = f"{estimate.method}, over all places that the pauses may have"
    return estimate.model_copy(update={"low": low, "high": high, "method": method})
