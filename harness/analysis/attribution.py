# SPDX-License-Identifier: Apache-2.0
"""How much of the latency tail pauses explain, and how much stays unexplained.

Every request's life is laid over the pauses; the overlap is what the pause took from it.
Three answers to "what would the quantile have been without pauses" stand side by side:

* lower bound: the overlap is subtracted, queueing behind the pause is left in;
* estimate: the requests that started clear of every pause and of its wake, which is what
  the service does when it is left alone. They are chosen by when they started, never by
  how long they took, so long requests are as likely among them as anywhere;
* upper bound: everything in the wake is given the median.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.analysis.matching import Span
from harness.errors import InputError
from harness.model import Estimate, Frozen

FloatArray = npt.NDArray[np.float64]

CauseName = Literal[
    "gc_pause",
    "allocation_stall",
    "other_safepoint",
    "cgroup_throttle",
    "generator_stall",
    "jit",
    "connect",
    "run_queue",
]
#: Where spans of two causes overlap, the time belongs to the earlier name.
ORDER: tuple[CauseName, ...] = (
    "gc_pause",
    "allocation_stall",
    "other_safepoint",
    "cgroup_throttle",
    "generator_stall",
    "jit",
    "connect",
    "run_queue",
)
#: Fewer requests beyond the quantile than this, and its share is not said.
MIN_TAIL = 20
_BINS = 4000
#: How many times the requests beyond the quantile are put into bins at first.
_TAILS = 4
_CALM = 20


class CauseShare(Frozen):
    """What one cause took."""

    cause: CauseName | Literal["unexplained"]
    n_events: int | None
    paused_s: float | None = Field(
        description="total length of its spans, overlap with earlier causes removed"
    )
    n_requests: int = Field(description="requests in the tail of which it took the largest part")
    share_of_tail: Estimate = Field(description="of the time by which the tail exceeds the median")


class Attribution(Frozen):
    """The tail beyond one quantile, taken apart."""

    quantile: float
    latency_s: float = Field(description="the quantile as measured")
    n_tail: int
    causes: tuple[CauseShare, ...] = Field(description="in the order of ``ORDER``, then unexplained")
    quantile_share: Estimate = Field(
        description="share of the quantile that would vanish with the pauses and their wakes; value None "
        "when too few requests started clear of them"
    )
    quantile_share_lower: Estimate = Field(description="the same, only the pauses' own time subtracted")
    quantile_share_upper: Estimate = Field(description="the same, everything in a wake at the median")
    warnings: tuple[str, ...] = ()


def attribute_latency(
    start_s: FloatArray, latency_s: FloatArray, events: Mapping[CauseName, Sequence[Span]]
) -> dict[CauseName, FloatArray]:
    """Return, for each cause, the seconds that its spans took from each request, shape (n,).

    A moment that several causes claim belongs to the first of them in ``ORDER``.

    Raises:
        InputError: shapes differ, or a cause is not one of ``ORDER``.
    """
    start, latency = np.asarray(start_s, dtype=np.float64), np.asarray(latency_s, dtype=np.float64)
    if start.shape != latency.shape or start.ndim != 1:
        raise InputError(
            "start and latency must be two arrays of one length", found=(start.shape, latency.shape)
        )
    unknown = set(events) - set(ORDER)
    if unknown:
        raise InputError("unknown cause", found=sorted(unknown), allowed=", ".join(ORDER))
    taken: list[Span] = []
    result: dict[CauseName, FloatArray] = {}
    before = np.zeros_like(start)
    for cause in ORDER:
        if cause not in events:
            continue
        taken = _union([*taken, *events[cause]])
        total = _overlap(start, start + latency, taken)
        result[cause] = total - before
        before = total
    return result


def attributable_fraction(
    start_s: FloatArray,
    latency_s: FloatArray,
    events: Mapping[CauseName, Sequence[Span]],
    *,
    quantile: float = 0.99,
    level: float = 0.95,
    resamples: int = 500,
    block_s: float = 1.0,
    seed: int = 0,
) -> Attribution:
    """Take the tail beyond ``quantile`` apart by cause, with intervals from a bootstrap over time blocks.

    The intervals speak of this one trial; between trials compare the estimates themselves.

    Raises:
        InputError: as ``attribute_latency``; or there is no request, or the quantile is not in (0, 1).
    """
    start, latency = np.asarray(start_s, dtype=np.float64), np.asarray(latency_s, dtype=np.float64)
    if not 0 < quantile < 1:
        raise InputError("a quantile lies between 0 and 1", found=quantile, allowed="0 < q < 1")
    if not len(start):
        raise InputError("no request to attribute", allowed="at least one")
    by_cause = attribute_latency(start, latency, events)
    paused = np.sum(list(by_cause.values()), axis=0) if by_cause else np.zeros_like(start)
    spans = _union([span for cause in by_cause for span in events[cause]])
    wake = _wake(start, latency, paused, spans)
    drained = np.where(wake | (paused > 0), np.minimum(latency - paused, np.median(latency)), latency)
    blocks = np.unique(((start - start.min()) / block_s).astype(int), return_inverse=True)[1]
    weights = _weights(int(blocks.max()) + 1, resamples, seed)
    threshold, median = float(np.quantile(latency, quantile)), float(np.median(latency))
    tail = latency >= threshold
    facts = _Facts(quantile=quantile, level=level, seed=seed, n_requests=len(start), resamples=resamples)
    columns = [*by_cause.values(), np.maximum(latency - median - paused, 0.0)]
    return Attribution(
        quantile=quantile,
        latency_s=threshold,
        n_tail=int(tail.sum()),
        causes=_causes(by_cause, columns, events, tail, blocks, weights, facts),
        quantile_share=_share(
            latency, latency - paused, blocks, weights, facts, "without pauses and their wakes", clear=~wake
        ),
        quantile_share_lower=_share(
            latency, latency - paused, blocks, weights, facts, "without the pauses' own time"
        ),
        quantile_share_upper=_share(
            latency, drained, blocks, weights, facts, "with pauses and their backlog gone"
        ),
        warnings=_warnings(start, latency, spans, int(tail.sum())),
    )


class _Facts(Frozen):
    quantile: float
    level: float
    seed: int
    n_requests: int
    resamples: int


def _causes(
    by_cause: Mapping[CauseName, FloatArray],
    columns: Sequence[FloatArray],
    events: Mapping[CauseName, Sequence[Span]],
    tail: npt.NDArray[np.bool_],
    blocks: npt.NDArray[np.intp],
    weights: FloatArray,
    facts: _Facts,
) -> tuple[CauseShare, ...]:
    part = np.stack([column[tail] for column in columns])
    largest = np.argmax(part, axis=0)
    per_block = np.stack([np.bincount(blocks[tail], weights=row, minlength=weights.shape[1]) for row in part])
    resampled = weights @ per_block.T
    totals = resampled.sum(axis=1, keepdims=True)
    draws = np.divide(resampled, totals, out=np.full_like(resampled, np.nan), where=totals > 0)
    whole = part.sum()
    names: list[CauseName | Literal["unexplained"]] = [*by_cause, "unexplained"]
    shares: list[CauseShare] = []
    previous_s = 0.0
    taken: list[Span] = []
    for i, name in enumerate(names):
        paused_s: float | None = None
        n_events: int | None = None
        if name != "unexplained":
            taken = _union([*taken, *events[name]])
            total_s = float(sum(high - low for low, high in taken))
            paused_s, previous_s = total_s - previous_s, total_s
            n_events = len(events[name])
        shares.append(
            CauseShare(
                cause=name,
                n_events=n_events,
                paused_s=paused_s,
                n_requests=int(np.count_nonzero(largest == i)) if whole > 0 else 0,
                share_of_tail=_estimate(
                    float(part[i].sum() / whole) if whole > 0 else None,
                    draws[:, i],
                    facts,
                    f"share of the time beyond the median, requests beyond p{facts.quantile * 100:g}, taken by {name}",
                ),
            )
        )
    return tuple(shares)


def _share(
    latency: FloatArray,
    counterfactual: FloatArray,
    blocks: npt.NDArray[np.intp],
    weights: FloatArray,
    facts: _Facts,
    words: str,
    clear: npt.NDArray[np.bool_] | None = None,
) -> Estimate:
    measured = float(np.quantile(latency, facts.quantile))
    estimand = f"share of p{facts.quantile * 100:g} that goes {words}"
    kept = np.ones(len(latency), dtype=bool) if clear is None else clear
    if np.count_nonzero(kept) * (1 - facts.quantile) < MIN_TAIL or measured <= 0:
        none = _estimate(None, np.empty(0), facts, estimand)
        return none.model_copy(update={"warnings": (*none.warnings, "too few requests clear of every pause")})
    without = float(np.quantile(counterfactual[kept], facts.quantile))
    low = max(float(min(latency.min(), counterfactual.min())), 1e-9)
    edges = np.geomspace(low, max(float(latency.max()), low * 1.001), _BINS)
    with_q = _resampled_quantile(latency, blocks, weights, edges, facts.quantile)
    without_q = _resampled_quantile(counterfactual[kept], blocks[kept], weights, edges, facts.quantile)
    return _estimate(1 - without / measured, 1 - without_q / with_q, facts, estimand)


def _estimate(value: float | None, draws: FloatArray, facts: _Facts, estimand: str) -> Estimate:
    tail = (1 - facts.level) / 2
    few = facts.n_requests * (1 - facts.quantile) < MIN_TAIL
    usable = draws[np.isfinite(draws)]
    said = value is not None and not few and len(usable) > 0
    return Estimate(
        value=value,
        low=float(np.quantile(usable, tail)) if said else None,
        high=float(np.quantile(usable, 1 - tail)) if said else None,
        level=facts.level,
        unit="share",
        method=f"bootstrap over time blocks, {facts.resamples} resamples",
        estimand=estimand,
        n_trials=1,
        n_requests=facts.n_requests,
        seed=facts.seed,
        warnings=(f"fewer than {MIN_TAIL} requests beyond the quantile: no interval",) if few else (),
    )


def _resampled_quantile(
    values: FloatArray, blocks: npt.NDArray[np.intp], weights: FloatArray, edges: FloatArray, quantile: float
) -> FloatArray:
    """Quantile of each resample, to within one bin: counts per block times how often the block was drawn.

    Only values near the quantile and beyond are put into bins; of the others it is enough to know how
    many there are in each block. When a resample's quantile falls among those after all, more are taken.
    """
    n_blocks = weights.shape[1]
    total = weights @ np.bincount(blocks, minlength=n_blocks)
    beyond = 1 - quantile
    while True:
        beyond *= _TAILS
        floor = np.quantile(values, 1 - beyond) if beyond < 1 else -np.inf
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


def _weights(n_blocks: int, resamples: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=resamples).astype(np.float64)


def _union(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined


def _overlap(start: FloatArray, end: FloatArray, spans: Sequence[Span]) -> FloatArray:
    """Seconds of each [start, end] inside disjoint, ordered ``spans``: a difference of one running total."""
    if not spans:
        return np.zeros_like(start)
    edges = np.array(spans).ravel()
    lengths = edges[1::2] - edges[::2]
    total = np.zeros(len(edges))
    total[1::2] = np.cumsum(lengths)
    total[2::2] = total[1:-1:2]
    return np.asarray(np.interp(end, edges, total) - np.interp(start, edges, total))


def _wake(
    start: FloatArray, latency: FloatArray, paused: FloatArray, spans: Sequence[Span]
) -> npt.NDArray[np.bool_]:
    """Which requests started in a pause, in the backlog behind it, or so shortly before that it caught them."""
    wake = np.zeros(len(start), dtype=bool)
    if not spans:
        return wake
    ordinary = latency[paused == 0]
    ordinary = ordinary if len(ordinary) else latency
    high, reach = np.quantile(ordinary, (0.75, 0.99))
    order = np.argsort(start, kind="stable")
    starts = start[order]
    # Calm again: among the next CALM requests no more are above the upper quartile than usual.
    is_slow = np.concatenate([[0], np.cumsum((latency - paused)[order] > high)])
    n = len(starts)
    ahead = np.minimum(np.arange(n) + _CALM, n)
    calm = (is_slow[ahead] - is_slow[:n]) <= 0.25 * (ahead - np.arange(n))
    for low, end in spans:
        first, after = np.searchsorted(starts, (low - reach, end))
        back = np.flatnonzero(calm[after:])
        wake[order[first : after + (int(back[0]) if len(back) else n - after)]] = True
    return wake


def _warnings(start: FloatArray, latency: FloatArray, spans: Sequence[Span], n_tail: int) -> tuple[str, ...]:
    said: list[str] = []
    if not spans:
        said.append("no event was given: everything stays unexplained")
    elif spans[-1][1] < start.min() or spans[0][0] > float((start + latency).max()):
        said.append(
            "no event falls into the time of the requests: another process's log, or clocks that do not agree"
        )
    if n_tail < MIN_TAIL:
        said.append(f"only {n_tail} requests beyond the quantile")
    return tuple(said)
