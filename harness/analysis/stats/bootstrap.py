# SPDX-License-Identifier: Apache-2.0
"""Bootstraps over trials. Offered, never the default: the percentile ones are too narrow for few trials."""

from __future__ import annotations

import numpy as np

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import Bounds, mean_and_error, two_sample_error

#: A trial's requests are cut into this many batches in time order, so that resampling them
#: keeps most of their autocorrelation.
N_BATCHES = 30


def bootstrap_t(la: Floats, lb: Floats, *, paired: bool, level: float, seed: int, n_resamples: int) -> Bounds:
    """Return the studentised bootstrap interval of mean(la) - mean(lb) (Efron & Tibshirani 1993, 12.5)."""
    rng = np.random.default_rng(seed)
    if paired:
        d = la - lb
        centre, error, df = mean_and_error(d)
        if df < 1:
            return Bounds(centre=centre, low=np.asarray(np.nan), high=np.asarray(np.nan))
        means, errors, _ = mean_and_error(d[rng.integers(0, d.size, (n_resamples, d.size))])
    else:
        centre = np.asarray(la.mean() - lb.mean())
        error, _ = two_sample_error(la, lb, welch=True)
        ra = la[rng.integers(0, la.size, (n_resamples, la.size))]
        rb = lb[rng.integers(0, lb.size, (n_resamples, lb.size))]
        means = ra.mean(axis=-1) - rb.mean(axis=-1)
        errors, _ = two_sample_error(ra, rb, welch=True)
    usable = errors > 0
    if not np.any(usable):
        return Bounds(centre=centre, low=np.asarray(np.nan), high=np.asarray(np.nan))
    t = (means[usable] - centre) / errors[usable]
    t_low, t_high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    return Bounds(centre=centre, low=centre - t_high * error, high=centre - t_low * error)


def hierarchical_bootstrap(
    a: tuple[Floats, ...], b: tuple[Floats, ...], *, paired: bool, level: float, seed: int, n_resamples: int
) -> Bounds:
    """Return the percentile interval of mean(a) / mean(b): trials are resampled, then batches within them.

    ``a`` and ``b`` hold one array of requests per trial, in time order; one number per trial is a trial
    of one batch, and then this is the plain bootstrap over trials.
    """
    rng = np.random.default_rng(seed)
    ma, mb = _batch_means(a), _batch_means(b)
    centre = np.asarray(ma.mean() / mb.mean())
    if min(len(a), len(b)) < 2:
        return Bounds(centre=centre, low=np.asarray(np.nan), high=np.asarray(np.nan))
    which_a = rng.integers(0, len(a), (n_resamples, len(a)))
    which_b = which_a if paired else rng.integers(0, len(b), (n_resamples, len(b)))
    ratios = _resampled_mean(ma, which_a, rng) / _resampled_mean(mb, which_b, rng)
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    return Bounds(centre=centre, low=np.asarray(low), high=np.asarray(high))


def _batch_means(trials: tuple[Floats, ...]) -> Floats:
    """Return the means of batches in time order, shape (trials, batches)."""
    n = min(N_BATCHES, *(trial.size for trial in trials))
    return np.asarray([[part.mean() for part in np.array_split(trial, n)] for trial in trials])


def _resampled_mean(
    means: Floats, which: np.ndarray[tuple[int, ...], np.dtype[np.int64]], rng: np.random.Generator
) -> Floats:
    n_batches = means.shape[1]
    total = np.zeros(which.shape[0])
    for trial in which.T:  # one resampled trial at a time bounds the memory
        batches = rng.integers(0, n_batches, (which.shape[0], n_batches))
        total += means[trial[:, None], batches].mean(axis=-1)
    return total / which.shape[1]
