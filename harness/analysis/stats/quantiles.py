# SPDX-License-Identifier: Apache-2.0
"""Quantiles and means of the requests of one trial, with intervals that know that requests are correlated.

The sample quantile is an order statistic: of n sorted values the ``ceil(n q)``-th.
"""

from __future__ import annotations

from math import ceil

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import Floats, finite, fraction
from harness.analysis.stats.intervals import is_constant, t_critical
from harness.formats.arrays import IntArray

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
    """Return why a trial of n requests cannot tell its q quantile (100 beyond p99.9, else one); ``None``: it can."""
    needed = FEWEST_BEYOND_EXTREME if q >= EXTREME else 1
    # 1e-6: n (1 - q) of whole requests may come out a rounding error below
    if n_beyond(n, q) >= needed - 1e-6:
        return None
    return f"refused: {n_beyond(n, q):.3g} requests beyond p{q * 100:g}, {needed} needed"


def woodruff_ranks(x: Floats, value: Floats, q: float, level: float) -> tuple[IntArray, IntArray]:
    """Return the ranks (from 1) of the interval's ends for trials ``x``, shape (trials, n), in time order."""
    n_trials, n = x.shape
    size = n // N_BATCHES
    below = x[:, : size * N_BATCHES] <= value[:, None]
    shares = below.reshape(n_trials, N_BATCHES, size).mean(axis=-1)
    half = t_critical(level, N_BATCHES - 1) * shares.std(axis=-1, ddof=1) / np.sqrt(N_BATCHES)
    lower = np.clip(np.floor(n * (q - half)), 1, n).astype(np.int64)
    upper = np.clip(np.ceil(n * (q + half)), 1, n).astype(np.int64)
    return lower, upper


def order_statistic_ranks(n: int, q: float, level: float) -> tuple[int, int]:
    """Return the ranks (from 1) whose interval holds the q quantile of n independent requests."""
    half = float(scipy.special.ndtri(0.5 + level / 2)) * np.sqrt(n * q * (1 - q))
    # the binomial law is normal enough from ten requests beyond the quantile on, and rounding is outwards
    return max(1, int(np.floor(n * q - half))), min(n, int(np.ceil(n * q + half)) + 1)


def jackknife_variance(without: Floats) -> float:
    """Return the jackknife variance from the delete-one values, shape (k,)."""
    k = without.size
    return float((k - 1) / k * np.sum((without - without.mean()) ** 2))


def batch_means_ci(values: ArrayLike, *, level: float = 0.95) -> tuple[float, float] | None:
    """Return the interval of the mean of one trial's requests in time order, shape (n,), from batch means; ``None``:
    few requests, constant values, or a few batches hold most of the time, so that it would reach below 0."""
    x = finite(values, "values")
    fraction(level, "level")
    if x.size < 2 * N_BATCHES or is_constant(x):
        return None
    size = x.size // N_BATCHES
    means = x[: size * N_BATCHES].reshape(N_BATCHES, size).mean(axis=1)
    half = float(t_critical(level, N_BATCHES - 1)) * float(means.std(ddof=1)) / np.sqrt(N_BATCHES)
    low, high = float(x.mean()) - half, float(x.mean()) + half
    return None if low < 0 <= x.min() else (low, high)
