# SPDX-License-Identifier: Apache-2.0
"""How much of the latency tail pauses explain, and how much stays unexplained.

The overlap of a request's life with the pauses is what these took from it. Three answers to "what would the quantile
have been without pauses": a lower bound (the overlap is subtracted, queueing behind the pause is left in), an estimate
(the requests that started clear of every pause and of its queue drain, chosen by when they started, never by how long
they took), and an upper bound (everything in the wake has the median). Intervals are a bootstrap over time blocks of
one trial, because requests that follow each other are alike.

A collector that works beside the program takes CPU time; how much of a request's time, no log tells. Instead
:func:`excess_in_spans` gives the population attributable fraction of epidemiology (Levin 1953). It is no proof of a
cause: whatever comes with a collection, such as a burst of requests that brought it on, counts as its doing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.analysis.attribution.spans import CauseName, RequestOverlap, Span, lived
from harness.analysis.stats.inputs import starts_and_latencies
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Estimate, Frozen, Support

#: Fewer requests beyond the quantile than this, and its share is not said.
MIN_TAIL = 20
_BINS = 4000
#: How many times the requests beyond the quantile are put into bins at first.
_TAILS = 4
_ENOUGH = 20_000


class Facts(Frozen):
    """What every interval of one attribution says of itself."""

    quantile: float
    level: float
    seed: int
    n_requests: int
    resamples: int


def share_of_quantile(
    latency: FloatArray, counterfactual: FloatArray, blocks: npt.NDArray[np.intp], weights: FloatArray, facts: Facts,
    words: str, clear: npt.NDArray[np.bool_] | None = None,
) -> Estimate:  # fmt: skip
    """Return the share of the quantile that is gone in ``counterfactual``; of ``clear`` requests, a reduction."""
    measured = float(np.quantile(latency, facts.quantile))
    estimand = f"share of p{facts.quantile * 100:g} that goes {words}"
    support = Support.SHARE if clear is None else Support.REDUCTION
    usable = np.ones(len(latency), dtype=bool) if clear is None else clear
    if np.count_nonzero(usable) * (1 - facts.quantile) < MIN_TAIL or measured <= 0:
        none = estimate_from(None, np.empty(0), facts, estimand, support)
        return none.model_copy(update={"warnings": (*none.warnings, "too few requests clear of every pause")})
    without = float(np.quantile(counterfactual[usable], facts.quantile))
    low = max(float(min(latency.min(), counterfactual.min())), 1e-9)
    edges = np.geomspace(low, max(float(latency.max()), low * 1.001), _BINS)
    with_q = resampled_quantile(latency, blocks, weights, edges, facts.quantile)
    without_q = resampled_quantile(counterfactual[usable], blocks[usable], weights, edges, facts.quantile)
    return estimate_from(1 - without / measured, 1 - without_q / with_q, facts, estimand, support)


def estimate_from(
    value: float | None, draws: FloatArray, facts: Facts, estimand: str, support: Support = Support.SHARE
) -> Estimate:
    """Return a value with the percentile interval of its ``draws``; none for too few requests in the tail."""
    tail = (1 - facts.level) / 2
    few = facts.n_requests * (1 - facts.quantile) < MIN_TAIL
    usable = draws[np.isfinite(draws)]
    known = value is not None and not few and len(usable) > 0
    low = float(np.quantile(usable, tail)) if known else None
    high = float(np.quantile(usable, 1 - tail)) if known else None
    why: tuple[str, ...] = ()
    if few:
        why = (f"fewer than {MIN_TAIL} requests beyond the quantile: no interval",)
    elif value is None or not known:
        why = ("it cannot be said of these requests",)
    elif low == high:
        why = ("the same in every resample: nothing in this trial makes it uncertain, another trial may",)
    return Estimate(
        value=value, low=low, high=high, level=facts.level, unit="share", support=support,
        method=f"bootstrap over time blocks, {facts.resamples} resamples", estimand=estimand, n_trials=1,
        n_requests=facts.n_requests, seed=facts.seed, warnings=why,
    )  # fmt: skip


def resampled_quantile(
    values: FloatArray, blocks: npt.NDArray[np.intp], weights: FloatArray, edges: FloatArray, quantile: float
) -> FloatArray:
    """Return the quantile of each resample, to within one bin: counts per block times how often it was drawn.

    Only values near the quantile and beyond are put into bins; where a resample's quantile falls below, more are taken.
    """
    n_blocks = weights.shape[1]
    total = weights @ np.bincount(blocks, minlength=n_blocks)
    some = values[:: max(1, len(values) // _ENOUGH)]  # where the tail begins need not be exact
    beyond = 1 - quantile
    while True:
        beyond *= _TAILS
        floor = np.quantile(some, 1 - beyond) if beyond < 1 else -np.inf
        near = np.flatnonzero(values >= floor)
        bins = np.clip(np.searchsorted(edges, values[near], side="right") - 1, 0, len(edges) - 1)
        used, column = np.unique(bins, return_inverse=True)
        counts = np.bincount(blocks[near] * len(used) + column, minlength=n_blocks * len(used))
        above = np.cumsum((weights @ counts.reshape(n_blocks, len(used)))[:, ::-1], axis=1)[:, ::-1]
        wanted = quantile * total
        if beyond >= 1 or (total - above[:, 0] < wanted).all():
            # Up to and with a bin stands what does not stand beyond it.
            cumulative = total[:, None] - np.append(above[:, 1:], np.zeros((len(above), 1)), axis=1)
            return np.asarray(edges[used[np.argmax(cumulative >= wanted[:, None], axis=1)]])


TailCause = CauseName | Literal["unexplained"]


class Attribution(Frozen):
    """The tail beyond one quantile, taken apart."""

    quantile: float
    latency_s: float = Field(description="the quantile as measured")
    causes: dict[TailCause, Estimate] = Field(
        description="share of the time by which the tail exceeds the median, by ``ORDER``, then unexplained"
    )
    quantile_share: Estimate = Field(
        description="share of the quantile that would vanish with the pauses and their queue drain; value None "
        "when too few requests started clear of them"
    )
    quantile_share_lower: Estimate = Field(description="the same, only the pauses' own time subtracted")
    quantile_share_upper: Estimate = Field(description="the same, everything in a queue drain at the median")
    warnings: tuple[str, ...] = ()


def attributable_fractions(
    start_s: FloatArray, latency_s: FloatArray, events: Mapping[CauseName, Sequence[Span]], *,
    quantiles: Sequence[float] = (0.99,), level: float = 0.95, resamples: int = 500, seed: int = 0,
    connect_s: FloatArray | None = None,
) -> tuple[Attribution, ...]:  # fmt: skip
    """Take the tail beyond each quantile apart by cause, with intervals that speak of this one trial.

    Args:
        connect_s: as ``attribute_latency`` takes it; what went into connecting counts as gone with the pauses.

    Raises:
        InputError: as ``attribute_latency``; or there is no request, or a quantile is not in (0, 1).
    """
    start, latency = np.asarray(start_s, dtype=np.float64), np.asarray(latency_s, dtype=np.float64)
    for quantile in quantiles:
        if not 0 < quantile < 1:
            raise InputError("a quantile must be between 0 and 1", found=quantile, allowed="0 < q < 1")
    if not len(start):
        raise InputError("no request to attribute", allowed="at least one")
    lives = lived(start, latency, events, connect_s=connect_s)
    blocks = np.asarray(np.unique((start - start.min()).astype(int), return_inverse=True)[1])  # of one second
    n_blocks = int(blocks.max()) + 1
    drawn = np.random.default_rng(seed).multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=resamples)
    weights = drawn.astype(np.float64)
    facts = Facts(quantile=0.5, level=level, seed=seed, n_requests=len(start), resamples=resamples)
    return tuple(
        _tail_apart(lives, blocks, weights, facts.model_copy(update={"quantile": quantile}))
        for quantile in quantiles
    )


def _tail_apart(
    lives: RequestOverlap, blocks: npt.NDArray[np.intp], weights: FloatArray, facts: Facts
) -> Attribution:
    latency, unpaused = lives.latency, lives.unpaused
    threshold = float(np.quantile(latency, facts.quantile))
    tail = latency >= threshold

    def share(words: str, without: FloatArray, clear: npt.NDArray[np.bool_] | None = None) -> Estimate:
        return share_of_quantile(latency, without, blocks, weights, facts, words, clear)

    return Attribution(
        quantile=facts.quantile,
        latency_s=threshold,
        causes=_causes(lives, tail, blocks, weights, facts),
        quantile_share=share("without pauses and their queue drain", unpaused, ~lives.wake),
        quantile_share_lower=share("without the pauses' own time", unpaused),
        quantile_share_upper=share("with pauses and their backlog gone", lives.drained),
        warnings=_warnings(lives.start, latency, lives.spans, int(tail.sum())),
    )


def tail_shares(lives: RequestOverlap, quantile: float) -> dict[TailCause, float | None]:
    """Return cause -> its share of the time by which requests beyond a quantile exceed the median.

    In the order of ``ORDER``, then unexplained; ``None``: no request of the tail took longer than the median.
    """
    names, part = _tail_parts(lives, lives.latency >= float(np.quantile(lives.latency, quantile)))
    whole = part.sum()
    return {
        name: float(row.sum() / whole) if whole > 0 else None for name, row in zip(names, part, strict=True)
    }


def _tail_parts(lives: RequestOverlap, tail: npt.NDArray[np.bool_]) -> tuple[list[TailCause], FloatArray]:
    """Return the causes, and what each took from each request of the tail, shape (causes, requests), seconds."""
    columns = [*lives.by_cause.values(), np.maximum(lives.unpaused - lives.median, 0.0)]
    return [*lives.by_cause, "unexplained"], np.stack([column[tail] for column in columns])


def _causes(
    lives: RequestOverlap, tail: npt.NDArray[np.bool_], blocks: npt.NDArray[np.intp], weights: FloatArray, facts: Facts
) -> dict[TailCause, Estimate]:  # fmt: skip
    names, part = _tail_parts(lives, tail)
    per_block = np.stack([np.bincount(blocks[tail], weights=row, minlength=weights.shape[1]) for row in part])
    resampled = weights @ per_block.T
    totals = resampled.sum(axis=1, keepdims=True)
    draws = np.divide(resampled, totals, out=np.full_like(resampled, np.nan), where=totals > 0)
    whole = part.sum()
    beyond = f"share of the time beyond the median, requests beyond p{facts.quantile * 100:g}, taken by"
    shares = [float(row.sum() / whole) if whole > 0 else None for row in part]
    parts = zip(names, shares, draws.T, strict=True)
    return {name: estimate_from(share, drawn, facts, f"{beyond} {name}") for name, share, drawn in parts}


def _warnings(start: FloatArray, latency: FloatArray, spans: Sequence[Span], n_tail: int) -> tuple[str, ...]:
    warnings: list[str] = []
    if not spans:
        warnings.append("no event was given: everything stays unexplained")
    elif spans[-1][1] < start.min() or spans[0][0] > float((start + latency).max()):
        warnings.append("no GC pause overlaps the requests: wrong log file, or clocks out of sync")
    if n_tail < MIN_TAIL:
        warnings.append(f"only {n_tail} requests beyond the quantile")
    return tuple(warnings)


#: Fewer requests on either side than this, and the two cannot be compared.
FEWEST = 50


def excess_in_spans(
    start_s: FloatArray, latency_s: FloatArray, spans: Sequence[Span], *, quantile: float = 0.99
) -> float | None:
    """Return the share of the tail that comes on top of what it would be if requests that met one of ``spans`` were
    slow as seldom as the others; below 0: they were slow even more seldom; ``None``: too few on one side to compare.

    A request met a span where it started in one, or so that one of ordinary length would have met it.

    Args:
        start_s, latency_s: of each request, shape (n,), seconds. spans: in time order, not touching each other.

    Raises:
        InputError: shapes differ, there is no request, or the quantile is not in (0, 1).
    """
    start, latency = starts_and_latencies(start_s, latency_s)
    if not len(start):
        raise InputError("no request to compare", allowed="at least one")
    if not 0 < quantile < 1:
        raise InputError("a quantile must be between 0 and 1", found=quantile, allowed="0 < q < 1")
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
