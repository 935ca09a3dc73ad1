# SPDX-License-Identifier: Apache-2.0
"""Latencies of one trial counted in fine logarithmic bins: what is kept of a trial when quantiles are pooled.

A quantile of a pool needs no single request, only how many lie where. A million latencies come to a few
thousand bins, so that a session's trials can be held beside each other. A quantile read from the bins is off
by half a bin at the most, whatever trials are put together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from harness.formats.arrays import FloatArray, IntArray

#: Width of a bin as a share of the value, and the latency at which they begin; below it all is one bin.
BIN_SHARE, LEAST_S = 0.001, 1e-9
BIN_LOG = float(np.log1p(BIN_SHARE))


@dataclass(frozen=True)
class LatencyCounts:
    """How many latencies each bin has; only bins that have any, in ascending order. Arrays of one length."""

    bins: IntArray
    counts: IntArray

    @property
    def n(self) -> int:
        """How many latencies there are."""
        return int(self.counts.sum())


def counted(latency_s: FloatArray, step_s: float = 0.0) -> LatencyCounts:
    """Count latencies in seconds, shape (n,), n >= 0.

    Args:
        step_s: what a tool's clock rounds to. Equal latencies are spread evenly over one step, half of it to
            either side; without that, quantiles of a few steps would not move when a trial is left out.
    """
    spread = _ties_spread(latency_s, step_s) if step_s and len(latency_s) else latency_s
    bins = np.floor(np.log(np.maximum(spread, LEAST_S) / LEAST_S) / BIN_LOG).astype(np.int64)
    used, counts = np.unique(bins, return_counts=True)
    return LatencyCounts(used, counts.astype(np.int64))


def _ties_spread(latency_s: FloatArray, step_s: float) -> FloatArray:
    values, counts = np.unique(np.round(latency_s, 9), return_counts=True)
    place = np.arange(len(latency_s)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(values, counts) + ((place + 0.5) / np.repeat(counts, counts) - 0.5) * step_s


def pooled_and_without(trials: Sequence[LatencyCounts], quantile: float) -> tuple[float, FloatArray]:
    """Return the quantile in seconds of all trials together, and that without each trial in turn, shape (k,).

    NaN where no latency is left. The quantile is the order statistic that ``quantiles.rank`` names, to half a bin.
    """
    used = np.unique(np.concatenate([trial.bins for trial in trials]))
    if not len(used):
        return float("nan"), np.full(len(trials), np.nan)
    matrix = np.zeros((len(trials), len(used)), dtype=np.int64)
    for row, trial in zip(matrix, trials, strict=True):
        row[np.searchsorted(used, trial.bins)] = trial.counts
    whole = matrix.sum(axis=0)
    up_to = np.cumsum(np.vstack([whole, whole - matrix]), axis=1)
    found = np.array([_middle(used, row, quantile) for row in up_to])
    return float(found[0]), found[1:]


def _middle(used: IntArray, up_to: IntArray, quantile: float) -> float:
    total = int(up_to[-1])
    if total == 0:
        return float("nan")
    rank = min(total, max(1, ceil(round(total * quantile, 6))))
    return float(LEAST_S * np.exp((used[np.searchsorted(up_to, rank)] + 0.5) * BIN_LOG))
