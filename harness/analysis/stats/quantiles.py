# SPDX-License-Identifier: Apache-2.0
"""Quantiles of the requests of one trial: exact bootstrap, and intervals that respect autocorrelation.

The sample quantile is an order statistic throughout: of n sorted values the ``ceil(n q)``-th.
"""

from __future__ import annotations

from math import ceil

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import Floats, finite, fraction
from harness.analysis.stats.intervals import t_critical

#: Requests beyond the quantile: fewer give no interval; p99.9 and beyond is then refused altogether.
FEWEST_BEYOND = 10
EXTREME = 0.999
FEWEST_BEYOND_EXTREME = 100

N_BATCHES = 30

#: Columns of trials: the mean, and each quantile with its share.
MEAN = "latency_mean_s"
LATENCIES = {
    "latency_p50_s": 0.50,
    "latency_p90_s": 0.90,
    "latency_p95_s": 0.95,
    "latency_p99_s": 0.99,
    "latency_p999_s": 0.999,
}


def rank(n: int, q: float) -> int:
    """Return which of n sorted values, counted from 1, is the q quantile."""
    return min(n, max(1, ceil(round(n * q, 6))))


def n_beyond(n: int, q: float) -> float:
    """Return how many of n requests are expected in the thinner tail beyond the q quantile."""
    return n * min(q, 1 - q)


def quantile_refused(n: int, q: float) -> str | None:
    """Return why a trial of n requests cannot tell its q quantile; ``None``: it can.

    p99.9 and beyond needs 100 requests beyond it, any other quantile one.
    """
    needed = FEWEST_BEYOND_EXTREME if q >= EXTREME else 1
    # 1e-6: n (1 - q) of whole requests may come out a rounding error below
    if n_beyond(n, q) >= needed - 1e-6:
        return None
    return f"refused: {n_beyond(n, q):.3g} requests beyond p{q * 100:g}, {needed} needed"


def bootstrap_quantile(values: ArrayLike, q: float, *, n_resamples: int = 10_000, seed: int = 0) -> Floats:
    """Return ``n_resamples`` draws of the q quantile's ordinary bootstrap distribution, shape (n_resamples,).

    Exact and without resampling: the j-th smallest of n uniform draws is Beta(j, n - j + 1), and drawing
    with replacement from sorted values x is taking x[ceil(n U)]. Needs no more than a partial sort.
    Requests must be exchangeable: autocorrelated ones need the interval of :func:`woodruff_ranks`.

    Raises:
        InputError: see :func:`harness.analysis.stats.inputs.finite`; q not in (0, 1).
    """
    x, q = finite(values, "values"), fraction(q, "q")
    n, j = x.size, rank(x.size, q)
    uniform = np.random.default_rng(seed).beta(j, n - j + 1, n_resamples)
    index = np.minimum((uniform * n).astype(np.int64), n - 1)
    first, last = int(index.min()), int(index.max())
    window = np.sort(np.partition(x, [first, last])[first : last + 1])
    return np.asarray(window[index - first])


def woodruff_ranks(
    x: Floats, value: Floats, q: float, level: float, n_batches: int = N_BATCHES
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int64]], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return the ranks (from 1) of the interval's ends for trials ``x`` of shape (trials, n) in time order.

    ``value``: each trial's quantile, shape (trials,).
    """
    n_trials, n = x.shape
    size = n // n_batches
    below = x[:, : size * n_batches] <= value[:, None]
    shares = below.reshape(n_trials, n_batches, size).mean(axis=-1)
    half = t_critical(level, n_batches - 1) * shares.std(axis=-1, ddof=1) / np.sqrt(n_batches)
    lower = np.clip(np.floor(n * (q - half)), 1, n).astype(np.int64)
    upper = np.clip(np.ceil(n * (q + half)), 1, n).astype(np.int64)
    return lower, upper


def order_statistic_ranks(n: int, q: float, level: float) -> tuple[int, int]:
    """Return the ranks (from 1) whose interval holds the q quantile of n independent requests."""
    half = float(scipy.special.ndtri(0.5 + level / 2)) * np.sqrt(n * q * (1 - q))
    # the binomial law is normal enough from ten requests beyond the quantile on, and rounding is outwards
    return max(1, int(np.floor(n * q - half))), min(n, int(np.ceil(n * q + half)) + 1)
