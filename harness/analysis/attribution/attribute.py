# SPDX-License-Identifier: Apache-2.0
"""How much of the latency tail pauses explain, and how much stays unexplained.

Every request's life is laid over the pauses; the overlap is what the pause took from it.
Three answers to "what would the quantile have been without pauses" stand side by side:

* lower bound: the overlap is subtracted, queueing behind the pause is left in;
* estimate: the requests that started clear of every pause and of its queue drain, which is what
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

from harness.analysis.attribution.intervals import (
    MIN_TAIL,
    Facts,
    block_weights,
    estimate_from,
    share_of_quantile,
    time_blocks,
)
from harness.analysis.attribution.request_overlap import RequestOverlap, lived
from harness.analysis.attribution.spans import CauseName, Span, covered_s, joined
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Estimate, Frozen


class CauseShare(Frozen):
    """What one cause took."""

    cause: CauseName | Literal["unexplained"]
    n_events: int | None = Field(description="spans; of ``connect``: requests that it took something from")
    paused_s: float | None = Field(
        description="total length of its spans, overlap with earlier causes removed; None: it has none, as connecting"
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
        description="share of the quantile that would vanish with the pauses and their queue drain; value None "
        "when too few requests started clear of them"
    )
    quantile_share_lower: Estimate = Field(description="the same, only the pauses' own time subtracted")
    quantile_share_upper: Estimate = Field(description="the same, everything in a queue drain at the median")
    warnings: tuple[str, ...] = ()


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
    connect_s: FloatArray | None = None,
) -> Attribution:
    """Take the tail beyond ``quantile`` apart by cause, with intervals from a bootstrap over time blocks.

    The intervals speak of this one trial; between trials compare the estimates themselves.

    Args:
        connect_s: as ``attribute_latency`` takes it; what went into connecting counts as gone with the pauses.

    Raises:
        InputError: as ``attribute_latency``; or there is no request, or the quantile is not in (0, 1).
    """
    return attributable_fractions(
        start_s,
        latency_s,
        events,
        quantiles=(quantile,),
        level=level,
        resamples=resamples,
        block_s=block_s,
        seed=seed,
        connect_s=connect_s,
    )[0]


def attributable_fractions(
    start_s: FloatArray,
    latency_s: FloatArray,
    events: Mapping[CauseName, Sequence[Span]],
    *,
    quantiles: Sequence[float],
    level: float = 0.95,
    resamples: int = 500,
    block_s: float = 1.0,
    seed: int = 0,
    connect_s: FloatArray | None = None,
) -> tuple[Attribution, ...]:
    """Do ``attributable_fraction`` for several quantiles; what they share is computed once."""
    start, latency = np.asarray(start_s, dtype=np.float64), np.asarray(latency_s, dtype=np.float64)
    for quantile in quantiles:
        if not 0 < quantile < 1:
            raise InputError("a quantile must be between 0 and 1", found=quantile, allowed="0 < q < 1")
    if not len(start):
        raise InputError("no request to attribute", allowed="at least one")
    lives = lived(start, latency, events, connect_s=connect_s)
    blocks = time_blocks(start, block_s)
    weights = block_weights(int(blocks.max()) + 1, resamples, seed)
    return tuple(
        _tail_apart(
            lives,
            blocks,
            weights,
            Facts(quantile=quantile, level=level, seed=seed, n_requests=len(start), resamples=resamples),
        )
        for quantile in quantiles
    )


def _tail_apart(
    lives: RequestOverlap, blocks: npt.NDArray[np.intp], weights: FloatArray, facts: Facts
) -> Attribution:
    latency, unpaused = lives.latency, lives.unpaused
    threshold = float(np.quantile(latency, facts.quantile))
    tail = latency >= threshold
    columns = [*lives.by_cause.values(), np.maximum(unpaused - lives.median, 0.0)]
    return Attribution(
        quantile=facts.quantile,
        latency_s=threshold,
        n_tail=int(tail.sum()),
        causes=_causes(lives.by_cause, columns, lives.events, tail, blocks, weights, facts),
        quantile_share=share_of_quantile(
            latency,
            unpaused,
            blocks,
            weights,
            facts,
            "without pauses and their queue drain",
            clear=~lives.wake,
        ),
        quantile_share_lower=share_of_quantile(
            latency, unpaused, blocks, weights, facts, "without the pauses' own time"
        ),
        quantile_share_upper=share_of_quantile(
            latency, lives.drained, blocks, weights, facts, "with pauses and their backlog gone"
        ),
        warnings=_warnings(lives.start, latency, lives.spans, int(tail.sum())),
    )


def _causes(
    by_cause: Mapping[CauseName, FloatArray],
    columns: Sequence[FloatArray],
    events: Mapping[CauseName, Sequence[Span]],
    tail: npt.NDArray[np.bool_],
    blocks: npt.NDArray[np.intp],
    weights: FloatArray,
    facts: Facts,
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
    taken: tuple[Span, ...] = ()
    for i, name in enumerate(names):
        paused_s: float | None = None
        n_events: int | None = None
        if name != "unexplained" and name in events:
            taken = joined([*taken, *events[name]])
            total_s = covered_s(taken)
            paused_s, previous_s = total_s - previous_s, total_s
            n_events = len(events[name])
        elif name != "unexplained":
            n_events = int(np.count_nonzero(by_cause[name]))
        shares.append(
            CauseShare(
                cause=name,
                n_events=n_events,
                paused_s=paused_s,
                n_requests=int(np.count_nonzero(largest == i)) if whole > 0 else 0,
                share_of_tail=estimate_from(
                    float(part[i].sum() / whole) if whole > 0 else None,
                    draws[:, i],
                    facts,
                    f"share of the time beyond the median, requests beyond p{facts.quantile * 100:g}, taken by {name}",
                ),
            )
        )
    return tuple(shares)


def _warnings(start: FloatArray, latency: FloatArray, spans: Sequence[Span], n_tail: int) -> tuple[str, ...]:
    said: list[str] = []
    if not spans:
        said.append("no event was given: everything stays unexplained")
    elif spans[-1][1] < start.min() or spans[0][0] > float((start + latency).max()):
        said.append("no GC pause overlaps the requests: wrong log file, or clocks out of sync")
    if n_tail < MIN_TAIL:
        said.append(f"only {n_tail} requests beyond the quantile")
    return tuple(said)
