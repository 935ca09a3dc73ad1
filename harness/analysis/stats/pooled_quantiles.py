# SPDX-License-Identifier: Apache-2.0
"""The quantile of all requests of all trials together, with the trial as the unit of its interval.

A pooled quantile answers "how slow is one request in a hundred, whichever process served it"; the
geometric mean of per-trial quantiles answers another question. Both are offered; the name says which.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import Floats, fraction, request_arrays
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.quantiles import n_beyond, quantile_refused, rank
from harness.errors import InputError
from harness.model import Estimate

#: Width of a histogram bin of the cluster bootstrap, as a share of the value.
BIN_SHARE = 0.001


def pooled_quantile(
    trials: Sequence[ArrayLike],
    q: float,
    *,
    level: float = 0.95,
    unit: str = "s",
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the q quantile of the pooled requests with a delete-one-trial jackknife t interval.

    Args:
        trials: one array of requests, shape (n_i,), per trial. Trials weigh as many requests as they have.

    Returns:
        The estimate; the jackknife works on the logarithm, so all values must be positive (otherwise there
        is no interval). Refused (value ``None``) when p99.9 or beyond has, in any trial, fewer than 100
        requests beyond it.

    Raises:
        PseudoReplicationError: one flat array of requests instead of one per trial.
    """
    parts, q = request_arrays(trials, "trials"), fraction(q, "q")
    fraction(level, "level")
    method, estimand = "delete-one-trial jackknife t (log scale)", f"p{q * 100:g} of the pooled requests"
    facts = {"level": level, "unit": unit, "method": method, "estimand": estimand, "n_trials": len(parts)}
    facts |= {"n_requests": sum(part.size for part in parts), "inputs": inputs}
    refused = _refused(parts, q)
    if refused:
        return Estimate.model_validate(facts | {"value": None, "warnings": (refused,)})
    whole, without = leave_one_out(parts, q)
    if len(parts) < 2 or min(whole, float(without.min())) <= 0:
        why = "one trial: no interval over trials" if len(parts) < 2 else "values of zero: no logarithm"
        return Estimate.model_validate(facts | {"value": whole, "warnings": (why,)})
    low, high = _jackknife_t(np.log(whole), np.log(without), level)
    return Estimate.model_validate(facts | {"value": whole} | _bounds(low, high))


def cluster_bootstrap_quantile(
    trials: Sequence[ArrayLike], q: float, *, n_resamples: int = 2000, seed: int = 0
) -> Floats:
    """Return draws of the pooled q quantile with whole trials resampled, shape (n_resamples,).

    Each trial becomes a histogram of logarithmic bins 0.1 % wide; a resample is a row of weights times
    the matrix of histograms. Draws are exact to half a bin. Percentiles of few trials are too narrow:
    :func:`pooled_quantile` is the default.

    Raises:
        InputError: a value of zero or less.
    """
    parts, q = request_arrays(trials, "trials"), fraction(q, "q")
    smallest = min(float(part.min()) for part in parts)
    if smallest <= 0:
        raise InputError("logarithmic bins need positive values", found=smallest, allowed="above 0")
    step = np.log1p(BIN_SHARE)
    bins = [np.floor((np.log(part) - np.log(smallest)) / step).astype(np.int64) for part in parts]
    n_bins = 1 + max(int(b.max()) for b in bins)
    # only from the lowest bin that can matter up: quantiles are searched in cumulative counts
    matrix = np.cumsum(np.array([np.bincount(b, minlength=n_bins) for b in bins], dtype=np.float64), axis=1)
    k = len(parts)
    weights = (
        np.random.default_rng(seed).multinomial(k, np.full(k, 1 / k), size=n_resamples).astype(np.float64)
    )
    draws = np.empty(n_resamples)
    for start in range(0, n_resamples, 250):  # bounds the memory at 250 x bins
        counts = weights[start : start + 250] @ matrix
        wanted = np.ceil(counts[:, -1] * q - 1e-9)
        draws[start : start + 250] = (counts < wanted[:, None]).sum(axis=1)
    return np.asarray(smallest * np.exp((draws + 0.5) * step))


def leave_one_out(parts: Sequence[Floats], q: float) -> tuple[float, Floats]:
    """Return the pooled quantile, and that without each trial in turn, shape (k,)."""
    values = np.concatenate(parts)
    owner = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    order = np.argsort(values, kind="stable")
    return leave_one_out_of_sorted(values[order], owner[order], np.array([p.size for p in parts]), q)


def leave_one_out_of_sorted(
    values: Floats,
    owner: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    sizes: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    q: float,
) -> tuple[float, Floats]:
    """As :func:`leave_one_out`, from the sorted upper tail: the largest ``values``, whose trial is ``owner``.

    ``sizes``: how many requests each trial has in all. Ranks are counted from the top, so the requests
    that are not handed over only need to be smaller.
    """
    total = int(sizes.sum())
    whole = float(values[values.size - 1 - (total - rank(total, q))])
    if sizes.size < 2:
        return whole, np.array([whole])
    without = np.empty(sizes.size)
    for i, size in enumerate(sizes):
        rest = total - int(size)
        from_top = rest - rank(rest, q)
        # the wanted value lies among the top (from_top + size + 1), whoever owns them
        top = values[max(0, values.size - from_top - int(size) - 1) :]
        others = top[owner[values.size - top.size :] != i]
        without[i] = others[others.size - 1 - from_top]
    return whole, without


def _jackknife_t(whole: float, without: Floats, level: float) -> tuple[float, float]:
    half = float(t_critical(level, without.size - 1)) * np.sqrt(jackknife_variance(without))
    return float(np.exp(whole - half)), float(np.exp(whole + half))


def jackknife_variance(without: Floats) -> float:
    """Return the jackknife variance from the delete-one values, shape (k,)."""
    k = without.size
    return float((k - 1) / k * np.sum((without - without.mean()) ** 2))


def _bounds(low: float, high: float) -> dict[str, object]:
    if not (np.isfinite(low) and np.isfinite(high)) or high <= low * (1 + 1e-9):
        return {"warnings": ("no variation between trials: no interval",)}
    return {"low": low, "high": high}


def _refused(parts: Sequence[Floats], q: float) -> str | None:
    fewest = min(part.size for part in parts)
    why = quantile_refused(fewest, q)
    return (
        None
        if why is None
        else f"{why} in every trial (the smallest has {fewest}, {n_beyond(fewest, q):.3g})"
    )
