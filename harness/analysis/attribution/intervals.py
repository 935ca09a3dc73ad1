# SPDX-License-Identifier: Apache-2.0
"""Intervals for attribution: a bootstrap over time blocks of one trial.

Requests that follow each other are alike, so stretches of time are drawn, not requests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    latency: FloatArray,
    counterfactual: FloatArray,
    blocks: npt.NDArray[np.intp],
    weights: FloatArray,
    facts: Facts,
    words: str,
    clear: npt.NDArray[np.bool_] | None = None,
) -> Estimate:
    """Return the share of the quantile that is gone in ``counterfactual``.

    Of the ``clear`` requests only it is a reduction: they are others than those that met a pause, and may be slower.
    """
    measured = float(np.quantile(latency, facts.quantile))
    estimand = f"share of p{facts.quantile * 100:g} that goes {words}"
    support = Support.SHARE if clear is None else Support.REDUCTION
    kept = np.ones(len(latency), dtype=bool) if clear is None else clear
    if np.count_nonzero(kept) * (1 - facts.quantile) < MIN_TAIL or measured <= 0:
        none = estimate_from(None, np.empty(0), facts, estimand, support)
        return none.model_copy(update={"warnings": (*none.warnings, "too few requests clear of every pause")})
    without = float(np.quantile(counterfactual[kept], facts.quantile))
    low = max(float(min(latency.min(), counterfactual.min())), 1e-9)
    edges = np.geomspace(low, max(float(latency.max()), low * 1.001), _BINS)
    with_q = resampled_quantile(latency, blocks, weights, edges, facts.quantile)
    without_q = resampled_quantile(counterfactual[kept], blocks[kept], weights, edges, facts.quantile)
    return estimate_from(1 - without / measured, 1 - without_q / with_q, facts, estimand, support)


def estimate_from(
    value: float | None, draws: FloatArray, facts: Facts, estimand: str, support: Support = Support.SHARE
) -> Estimate:
    """Return a value with the percentile interval of its ``draws``; none for too few requests in the tail."""
    tail = (1 - facts.level) / 2
    few = facts.n_requests * (1 - facts.quantile) < MIN_TAIL
    usable = draws[np.isfinite(draws)]
    said = value is not None and not few and len(usable) > 0
    low = float(np.quantile(usable, tail)) if said else None
    high = float(np.quantile(usable, 1 - tail)) if said else None
    why: tuple[str, ...] = ()
    if few:
        why = (f"fewer than {MIN_TAIL} requests beyond the quantile: no interval",)
    elif value is None or not said:
        why = ("it cannot be said of these requests",)
    elif low == high:
        why = ("the same in every resample: nothing in this trial makes it uncertain, another trial may",)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=facts.level,
        unit="share",
        support=support,
        method=f"bootstrap over time blocks, {facts.resamples} resamples",
        estimand=estimand,
        n_trials=1,
        n_requests=facts.n_requests,
        seed=facts.seed,
        warnings=why,
    )


def resampled_quantile(
    values: FloatArray, blocks: npt.NDArray[np.intp], weights: FloatArray, edges: FloatArray, quantile: float
) -> FloatArray:
    """Quantile of each resample, to within one bin: counts per block times how often the block was drawn.

    Only values near the quantile and beyond are put into bins; of the others it is enough to know how
    many there are in each block. When a resample's quantile falls among those after all, more are taken.
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


def block_weights(n_blocks: int, resamples: int, seed: int) -> FloatArray:
    """Return how often each block is drawn in each resample, shape (resamples, n_blocks)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=resamples).astype(np.float64)


def time_blocks(start_s: FloatArray, block_s: float) -> npt.NDArray[np.intp]:
    """Return the number of the time block that each request started in, shape (n,); empty blocks have none."""
    return np.asarray(np.unique(((start_s - start_s.min()) / block_s).astype(int), return_inverse=True)[1])
