# SPDX-License-Identifier: Apache-2.0
"""Inside one trial: per-trial statistics from requests, and intervals that know requests are correlated.

An interval from here describes one process only. Compare variants with one number per trial.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats.estimates import widest
from harness.analysis.stats.inputs import Floats, finite, fraction
from harness.analysis.stats.intervals import is_constant, t_critical
from harness.analysis.stats.quantiles import N_BATCHES, rank
from harness.errors import InputError
from harness.model import Estimate, support_of


def batch_means_ci(
    values: ArrayLike, *, n_batches: int = N_BATCHES, level: float = 0.95, unit: str = "s"
) -> Estimate:
    """Return the mean of one trial's requests with an interval from the means of batches in time order.

    Args:
        values: one per request in time order, shape (n,), n >= 2 ``n_batches``. Batches must be long
            against the autocorrelation; with 30 of them the t interval is nearly as short as it gets.

    Returns:
        The estimate; without interval and with a warning for too few or constant values. A warning too
        when neighbouring batches still correlate.
    """
    x = finite(values, "values")
    fraction(level, "level")
    if n_batches < 2:
        raise InputError("too few batches", place="n_batches", found=n_batches, allowed="2 or more")
    value, low, high = float(x.mean()), None, None
    warnings: tuple[str, ...] = ()
    if x.size < 2 * n_batches:
        warnings = (f"{x.size} requests: too few for {n_batches} batches",)
    elif is_constant(x):
        warnings = ("constant values (below the resolution?): no interval",)
    else:
        means = _batches(x, n_batches)
        half = float(t_critical(level, n_batches - 1)) * float(means.std(ddof=1)) / np.sqrt(n_batches)
        low, high = value - half, value + half
        if low < 0 <= x.min():
            low = high = None
            warnings = ("a few batches hold most of the time: the interval reaches below 0, no interval",)
        elif n_batches >= 10 and _lag_one(means) > 2 / np.sqrt(n_batches):
            warnings = (
                "neighbouring batches still correlate (drift or warm-up?): the interval is too narrow",
            )
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        unit=unit,
        support=widest(x, support_of(unit)),
        method=f"batch means, {n_batches} batches",
        estimand="mean of the requests of this trial",
        n_trials=1,
        n_requests=x.size,
        warnings=warnings,
    )


def block_bootstrap_ci(
    values: ArrayLike,
    *,
    quantile: float | None = None,
    block_length: int | None = None,
    n_resamples: int = 999,
    level: float = 0.95,
    seed: int = 0,
    unit: str = "s",
) -> Estimate:
    """Return the mean, or one quantile, of one trial's requests with a circular block bootstrap interval.

    Args:
        values: one per request in time order, shape (n,). block_length: requests per block; by default
            n^(1/3) times the autocorrelation's reach, at most n / 10.

    Source: Politis & Romano 1992; percentile interval.
    """
    x = finite(values, "values")
    fraction(level, "level")
    what = "mean" if quantile is None else f"p{fraction(quantile, 'quantile') * 100:g}"
    value = float(x.mean()) if quantile is None else float(np.sort(x)[rank(x.size, quantile) - 1])
    low = high = None
    warnings: tuple[str, ...] = ()
    length = block_length or _block_length(x)
    if not 1 <= length <= x.size:
        raise InputError("block length", place="block_length", found=length, allowed=f"1 to {x.size}")
    if x.size < 10 * length or x.size < 20:
        warnings = (f"{x.size} requests: fewer than ten blocks of {length}, no interval",)
    elif is_constant(x):
        warnings = ("constant values (below the resolution?): no interval",)
    else:
        draws = _block_draws(x, length, quantile, n_resamples, seed)
        low, high = (float(v) for v in np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]))
        if low == high:
            low = high = None
            warnings = ("every resample gives the same value, which is below the resolution: no interval",)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        unit=unit,
        support=widest(x, support_of(unit)),
        method=f"circular block bootstrap, blocks of {length}, {n_resamples} resamples",
        estimand=f"{what} of the requests of this trial",
        n_trials=1,
        n_requests=x.size,
        seed=seed,
        warnings=warnings,
    )


def effective_sample_size(values: ArrayLike) -> Estimate:
    """Return how many independent requests the mean of these is worth, n / (1 + 2 sum of autocorrelations).

    The sum runs over Geyer's initial positive pairs (Geyer 1992). ``values``: in time order, shape (n,).
    ``None`` with a warning for constant or fewer than 10 values.
    """
    x = finite(values, "values")
    facts = {"unit": "requests", "method": "Geyer's initial positive sequence", "n_trials": 1}
    facts |= {"estimand": "effective number of independent requests", "n_requests": x.size}
    if x.size < 10 or is_constant(x):
        why = "fewer than ten values" if x.size < 10 else "constant values have no autocorrelation"
        return Estimate.model_validate(facts | {"value": None, "warnings": (why,)})
    why = "a diagnostic of one trial: it has no interval"
    return Estimate.model_validate(facts | {"value": x.size / _autocorrelation_time(x), "warnings": (why,)})


def _batches(x: Floats, n_batches: int) -> Floats:
    size = x.size // n_batches
    return np.asarray(x[: size * n_batches].reshape(n_batches, size).mean(axis=1))


def _lag_one(x: Floats) -> float:
    d = x - x.mean()
    return float(d[1:] @ d[:-1] / (d @ d))


def _autocorrelation_time(x: Floats) -> float:
    d = x - x.mean()
    size = 1 << (2 * x.size - 1).bit_length()
    spectrum = np.fft.rfft(d, size)
    acf = np.fft.irfft(spectrum * np.conj(spectrum), size)[: x.size]
    acf = acf / acf[0]
    pairs = acf[: 2 * (x.size // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    last = int(negative[0]) if negative.size else pairs.size
    return max(float(2 * pairs[:last].sum() - 1), 1.0 / x.size)


def _block_length(x: Floats) -> int:
    reach = 1.0 if x.size < 10 or is_constant(x) else max(1.0, _autocorrelation_time(x))
    return max(1, min(int(np.ceil(x.size ** (1 / 3) * reach)), x.size // 10))


def _block_draws(x: Floats, length: int, quantile: float | None, n_resamples: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    n_blocks = -(-x.size // length)
    if quantile is None:  # the mean of a resample is the mean of its blocks' means
        wrapped = np.concatenate([[0.0], np.cumsum(np.concatenate([x, x[: length - 1]]))])
        means = (wrapped[length:] - wrapped[:-length]) / length
        return np.asarray([means[rng.integers(0, x.size, n_blocks)].mean() for _ in range(n_resamples)])
    offsets = np.arange(length)
    at = rank(x.size, quantile) - 1
    draws = np.empty(n_resamples)
    for i in range(n_resamples):  # one resample at a time bounds the memory
        index = (rng.integers(0, x.size, n_blocks)[:, None] + offsets).ravel()[: x.size] % x.size
        draws[i] = np.partition(x[index], at)[at]
    return draws
