# SPDX-License-Identifier: Apache-2.0
"""Spans that slow a program down without stopping it: are requests that meet one more often slow?

A collector that marks beside the program takes CPU time and, in Go, makes whoever allocates help; how much
of a request's time that was, no log tells, so nothing can be subtracted. What can be said is how much rarer
slow requests would be if those that met a collection were slow as seldom as the others: the population
attributable fraction of epidemiology. It is no proof of a cause: whatever comes with a collection,
such as a burst of requests that brought it on, counts as its doing.

Who met a span is told by when a request started, never by how long it took: a long request meets
more of everything.

Source: Levin, The occurrence of lung cancer in man (1953), for the fraction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.analysis.attribution.intervals import MIN_TAIL, block_weights, time_blocks
from harness.analysis.attribution.spans import Span
from harness.analysis.stats.inputs import starts_and_latencies
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Estimate, Frozen, Support

#: Fewer requests on either side than this, and the two cannot be compared.
FEWEST = 50


class Exposure(Frozen):
    """Requests that started in a span, or so that one of ordinary length would have met it, and the others."""

    share_of_requests: float = Field(description="that met a span")
    share_of_tail: float = Field(description="the same among those at or beyond the quantile")
    excess: Estimate = Field(
        description="share of the tail that comes on top of what it would be if those that met a span were slow "
        "as seldom as the others; below 0: they were slow even more seldom"
    )


def exposure(
    start_s: FloatArray,
    latency_s: FloatArray,
    spans: Sequence[Span],
    *,
    quantile: float = 0.99,
    level: float = 0.95,
    resamples: int = 500,
    block_s: float = 1.0,
    seed: int = 0,
) -> Exposure:
    """Compare requests that met one of ``spans`` with the others; the interval is a bootstrap over time blocks.

    Args:
        start_s: when each request was sent, shape (n,), seconds.
        latency_s: how long each took, shape (n,), seconds.
        spans: in time order, not touching each other.

    Raises:
        InputError: shapes differ, there is no request, or the quantile is not in (0, 1).
    """
    start, latency = starts_and_latencies(start_s, latency_s)
    if not len(start):
        raise InputError("no request to compare", allowed="at least one")
    if not 0 < quantile < 1:
        raise InputError("a quantile must be between 0 and 1", found=quantile, allowed="0 < q < 1")
    met = _met(start, float(np.median(latency)), spans)
    tail = latency >= np.quantile(latency, quantile)
    blocks = time_blocks(start, block_s)
    n_blocks = int(blocks.max()) + 1
    # per block: others, others in the tail, all, all in the tail
    counts = np.stack(
        [
            np.bincount(blocks[chosen], minlength=n_blocks)
            for chosen in (~met, ~met & tail, np.ones_like(met), tail)
        ]
    )
    why = _why_not(met, tail)
    value = None if why else float(_excess(counts.sum(axis=1)[None, :])[0])
    draws = _excess(block_weights(n_blocks, resamples, seed) @ counts.T)
    usable = draws[np.isfinite(draws)]
    said = value is not None and n_blocks > 1 and len(usable) > 0
    side = (1 - level) / 2
    return Exposure(
        share_of_requests=float(met.mean()),
        share_of_tail=float(met[tail].mean()),
        excess=Estimate(
            value=value,
            low=float(np.quantile(usable, side)) if said else None,
            high=float(np.quantile(usable, 1 - side)) if said else None,
            level=level,
            unit="share",
            support=Support.REDUCTION,
            method=f"bootstrap over time blocks, {resamples} resamples",
            estimand=f"share of requests beyond p{quantile * 100:g} that comes with a collection under way",
            n_trials=1,
            n_requests=len(start),
            seed=seed,
            warnings=(why,) if why else (),
        ),
    )


def _met(start: FloatArray, ordinary_s: float, spans: Sequence[Span]) -> npt.NDArray[np.bool_]:
    if not spans:
        return np.zeros(len(start), dtype=bool)
    low, high = np.array(spans, dtype=np.float64).T
    at = np.searchsorted(low - ordinary_s, start, side="right") - 1
    return np.asarray((at >= 0) & (start <= high[np.maximum(at, 0)]))


def _excess(counts: FloatArray) -> FloatArray:
    """1 - (share of the others in the tail) / (share of all in the tail), for each row of four counts."""
    others, slow_others, everyone, slow = np.asarray(counts, dtype=np.float64).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - (slow_others / others) / (slow / everyone))


def _why_not(met: npt.NDArray[np.bool_], tail: npt.NDArray[np.bool_]) -> str | None:
    n_met = int(met.sum())
    if n_met < FEWEST or len(met) - n_met < FEWEST:
        return f"{n_met} of {len(met)} requests met a collection: too few on one side to compare"
    if int(tail.sum()) < MIN_TAIL:
        return f"fewer than {MIN_TAIL} requests beyond the quantile"
    return None
