# SPDX-License-Identifier: Apache-2.0
"""What the requests of a trial are worth, and percentiles over the requests of all trials, in two ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy  # loads its slow submodules when they are first used
from pydantic import Field

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.pooled_quantiles import cluster_bootstrap_quantile, pooled_quantile
from harness.analysis.stats.within_trial import batch_means_ci, block_bootstrap_ci, effective_sample_size
from harness.model import Estimate, Frozen

RESAMPLES = 200
LEVEL = 0.95


class Worth(Frozen):
    """How much the requests of one trial say of its own mean. Half-widths of 95 % intervals, as shares of the mean."""

    trial: str = Field(description="experiment/session/trial")
    n_requests: int
    effective: float | None = Field(
        description="how many independent requests they are worth; None: constant"
    )
    as_if_independent: float
    batch_means: float | None
    block_bootstrap: float | None


class PooledPercentile(Frozen):
    """One percentile of the requests of all trials of a variant, with the trial as its unit."""

    jackknife: Estimate
    cluster_low: float | None = Field(description="ends of the interval from whole trials drawn again")
    cluster_high: float | None


def worth_of(latency_s: Floats, trial: str, *, seed: int = 0) -> Worth:
    """Return what one trial's requests are worth.

    Args:
        latency_s: of correct answers in the order in which they were asked, shape (n,), n of 2 or more.

    Raises:
        InputError: empty, or not finite.
    """
    effective = effective_sample_size(latency_s)
    z = float(scipy.special.ndtri(0.5 + LEVEL / 2))
    mean = float(latency_s.mean())
    return Worth(
        trial=trial,
        n_requests=latency_s.size,
        effective=effective.value,
        as_if_independent=z * float(latency_s.std(ddof=1)) / np.sqrt(latency_s.size) / mean,
        batch_means=_half(batch_means_ci(latency_s, level=LEVEL)),
        block_bootstrap=_half(block_bootstrap_ci(latency_s, n_resamples=RESAMPLES, level=LEVEL, seed=seed)),
    )


def pooled_percentile(
    trials: Sequence[Floats], q: float, *, inputs: tuple[str, ...] = (), seed: int = 0
) -> PooledPercentile:
    """Return the q quantile over the requests of all trials; refused where a trial has too few beyond it.

    The interval is the jackknife's. Beside it stands that of the cluster bootstrap, which draws whole
    trials: of a handful of trials it is too narrow.

    Raises:
        InputError, PseudoReplicationError: as :func:`harness.analysis.stats.pooled_quantiles.pooled_quantile`.
    """
    found = pooled_quantile(trials, q, level=LEVEL, inputs=inputs)
    if found.value is None or found.low is None:
        return PooledPercentile(jackknife=found, cluster_low=None, cluster_high=None)
    draws = cluster_bootstrap_quantile(trials, q, seed=seed)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return PooledPercentile(jackknife=found, cluster_low=float(low), cluster_high=float(high))


def _half(estimate: Estimate) -> float | None:
    """Half the width of an interval, as a share of the value."""
    if estimate.low is None or estimate.high is None or not estimate.value:
        return None
    return (estimate.high - estimate.low) / 2 / estimate.value
