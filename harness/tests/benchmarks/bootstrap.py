# SPDX-License-Identifier: Apache-2.0
"""The exact bootstrap of a quantile against the one that really draws."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.analysis.stats.quantiles import bootstrap_quantile, rank
from harness.provenance import describe_place
from harness.tests.benchmarks.others import Others, judge, words
from harness.tests.benchmarks.result import BenchResult, BenchRow, over

N_VALUES, N_RESAMPLES = 1_000_000, 10_000
#: What ``scipy.stats.bootstrap`` is asked for; its time is scaled up, for it grows with the count.
PEER_RESAMPLES = 20
LIMIT_S = 0.05
REPEATS = 9
QUANTILE = 0.99


def bench_bootstrap(
    root: Path,
    *,
    seed: int = 1,
    n_values: int = N_VALUES,
    n_resamples: int = N_RESAMPLES,
    peer_resamples: int = PEER_RESAMPLES,
    repeats: int = REPEATS,
) -> BenchResult:
    """Time both on the same values."""
    values = np.random.default_rng(seed).lognormal(0.0, 0.5, n_values)
    others = Others()
    ours: list[float] = []
    for i in range(repeats):
        began = time.perf_counter()
        bootstrap_quantile(values, QUANTILE, n_resamples=n_resamples, seed=seed + i)
        ours.append(time.perf_counter() - began)
    began = time.perf_counter()
    _drawn(values, peer_resamples, seed)
    peer_s = (time.perf_counter() - began) * n_resamples / peer_resamples
    busy = others.share()
    value = float(np.median(ours))
    return BenchResult(
        name="bootstrap",
        question="How long do resamples of a quantile take, exactly through the Beta law, and drawn?",
        rows=(
            BenchRow(
                name=f"{n_resamples:,} resamples of p99 of {n_values:,} values",
                value=value, unit="s", low=min(ours), high=max(ours),
                peer="scipy.stats.bootstrap", peer_value=peer_s, ratio=over(value, peer_s),
                target=f"<= {LIMIT_S:g} s", holds=judge(LIMIT_S, ours, busy),
                said=f"the peer drew {peer_resamples} resamples; its time is scaled to {n_resamples:,}",
            ),
        ),
        notes=(
            f"median of {repeats}; the same law: both give the ordinary bootstrap distribution, "
            "which `verify quantile` holds against brute force",
            words(busy),
        ),
        place=describe_place(root),
    )  # fmt: skip


def _drawn(values: npt.NDArray[np.float64], n_resamples: int, seed: int) -> None:
    at = rank(len(values), QUANTILE) - 1

    def quantile(sample: npt.NDArray[np.float64]) -> np.float64:
        return np.float64(np.partition(sample, at)[at])

    stats.bootstrap(
        (values,), quantile, n_resamples=n_resamples, batch=1, vectorized=False, method="percentile",
        rng=np.random.default_rng(seed),
    )  # fmt: skip
