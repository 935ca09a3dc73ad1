# SPDX-License-Identifier: Apache-2.0
"""The exact bootstrap of a quantile against the one that really draws."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.analysis.stats.quantiles import bootstrap_quantile, rank
from harness.tests.benchmarks.ratio import Ratio

N_VALUES, N_RESAMPLES, REPEATS, QUANTILE = 1_000_000, 10_000, 9, 0.99
#: What ``scipy.stats.bootstrap`` is asked for; its time is scaled up, for it grows with the count.
PEER_RESAMPLES = 20
LIMIT_S = 0.05


def bench_bootstrap(root: Path) -> tuple[Ratio, ...]:
    """Time both on the same values. Both give the ordinary bootstrap distribution."""
    values = np.random.default_rng(1).lognormal(0.0, 0.5, N_VALUES)
    took_s = []
    for seed in range(REPEATS):
        began = time.perf_counter()
        bootstrap_quantile(values, QUANTILE, n_resamples=N_RESAMPLES, seed=seed)
        took_s.append(time.perf_counter() - began)
    at = rank(N_VALUES, QUANTILE) - 1

    def quantile(sample: npt.NDArray[np.float64]) -> np.float64:
        return np.float64(np.partition(sample, at)[at])

    began = time.perf_counter()
    stats.bootstrap(
        (values,), quantile, n_resamples=PEER_RESAMPLES, batch=1, vectorized=False, method="percentile",
        rng=np.random.default_rng(1),
    )  # fmt: skip
    peer_s = (time.perf_counter() - began) * N_RESAMPLES / PEER_RESAMPLES
    name = f"{N_RESAMPLES:,} resamples of p99 of {N_VALUES:,} values"
    return (Ratio(name, took_s, "s", "scipy.stats.bootstrap", (peer_s,), LIMIT_S, of_value=True),)
