# SPDX-License-Identifier: Apache-2.0
"""Quantiles of the requests of one trial: exact bootstrap, and intervals that respect autocorrelation.

The sample quantile is an order statistic throughout: of n sorted values the ``ceil(n q)``-th.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.estimates import widest
from harness.analysis.stats.inputs import Floats, finite, fraction
from harness.analysis.stats.intervals import t_critical
from harness.model import Estimate, support_of

QuantileMethod = Literal["woodruff", "order_statistic", "bootstrap"]

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
    Requests must be exchangeable: for autocorrelated ones use :func:`quantile_ci`.

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


def quantile_ci(
    values: ArrayLike,
    q: float,
    *,
    method: QuantileMethod = "woodruff",
    level: float = 0.95,
    unit: str = "s",
    n_batches: int = N_BATCHES,
    n_resamples: int = 10_000,
    seed: int = 0,
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the q quantile of one trial's requests with an interval. It says nothing about other trials.

    Args:
        values: one per request in time order, shape (n,).
        method: ``woodruff``: interval of the share below, its variance by batch means, read back through
            the empirical distribution (Woodruff 1952); holds for autocorrelated requests.
            ``order_statistic``: binomial ranks; ``bootstrap``: exact ordinary bootstrap; both for
            independent requests only.

    Returns:
        The estimate. p99.9 with fewer than 100 requests beyond it is refused (value ``None``); with fewer
        than 10 beyond, or fewer than 10 per batch, there is no interval.
    """
    x, q = finite(values, "values"), fraction(q, "q")
    fraction(level, "level")
    n = x.size
    refused = quantile_refused(n, q)
    warnings: tuple[str, ...] = (refused,) if refused else ()
    value = low = high = None
    if refused is None:
        value = float(np.partition(x, rank(n, q) - 1)[rank(n, q) - 1])
        if n_beyond(n, q) < FEWEST_BEYOND - 1e-6:
            warnings = (f"{n_beyond(n, q):.3g} requests beyond p{q * 100:g}: too few for an interval",)
        elif method == "woodruff" and n < 10 * n_batches:
            warnings = (f"{n} requests: too few for {n_batches} batches",)
        else:
            low, high = _interval(
                x,
                q=q,
                value=value,
                method=method,
                level=level,
                n_batches=n_batches,
                n_resamples=n_resamples,
                seed=seed,
            )
    if low is not None and low == high:
        low = high = None
        warnings = ("both ends have the same value: the quantile is below the resolution",)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        unit=unit,
        support=widest(x, support_of(unit)),
        method=_NAMES[method],
        estimand=f"p{q * 100:g} of the requests of this trial",
        n_trials=1,
        n_requests=n,
        seed=seed if method == "bootstrap" else None,
        inputs=inputs,
        warnings=warnings,
    )


_NAMES = {
    "woodruff": f"Woodruff, variance by batch means ({N_BATCHES} batches unless said)",
    "order_statistic": "binomial order statistics (independent requests)",
    "bootstrap": "exact ordinary bootstrap through the Beta law (independent requests)",
}


def _interval(
    x: Floats,
    *,
    q: float,
    value: float,
    method: QuantileMethod,
    level: float,
    n_batches: int,
    n_resamples: int,
    seed: int,
) -> tuple[float, float]:
    if method == "bootstrap":
        draws = bootstrap_quantile(x, q, n_resamples=n_resamples, seed=seed)
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        return float(low), float(high)
    if method == "order_statistic":
        lower, upper = order_statistic_ranks(x.size, q, level)
    else:
        lows, highs = woodruff_ranks(x[None, :], np.array([value]), q, level, n_batches)
        lower, upper = int(lows[0]), int(highs[0])
    ends = np.partition(x, sorted({lower - 1, upper - 1}))
    return float(ends[lower - 1]), float(ends[upper - 1])


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
