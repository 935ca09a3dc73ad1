# SPDX-License-Identifier: Apache-2.0
"""The latencies of the successful requests of a file, with order statistics and intervals over this one trial."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from harness.analysis.load.coordinated_omission import with_missing_requests
from harness.analysis.stats.quantiles import (
    FEWEST_BEYOND,
    N_BATCHES,
    batch_means_ci,
    n_beyond,
    quantile_refused,
    rank,
    woodruff_ranks,
)
from harness.formats.arrays import FloatArray, IntArray

LEVEL = 0.95
#: More ranks than this are read from sorted latencies.
_FEW_RANKS = 20


class Bounded(NamedTuple):
    """A statistic in seconds with its 95 % interval within this trial; ``None``: it cannot be said."""

    value: float | None
    low: float | None = None
    high: float | None = None


class EveryLatency:
    """Latencies in the order of their starts, shape (n,), seconds. n > 0 but for ``n`` itself.

    ``in_order`` False: in any order, and they may be moved; then nothing but ``at`` can be asked.
    """

    def __init__(self, latency_s: FloatArray, *, in_order: bool = True) -> None:
        self.latency_s, self.n, self._in_order = latency_s, len(latency_s), in_order

    @cached_property
    def _sorted(self) -> FloatArray:
        return np.sort(self.latency_s)

    def at(self, ranks: IntArray) -> FloatArray:
        """Return the latencies of these ranks, counted from 1, in seconds, shape of ``ranks``."""
        places = ranks - 1
        if self._in_order:  # asked for many of them, one after the other
            return np.asarray(self._sorted[places])
        if len(ranks) > _FEW_RANKS:
            self.latency_s.sort()
        else:
            self.latency_s.partition(np.unique(places))
        return np.asarray(self.latency_s[places])

    def median(self) -> float:
        """Return the median, of an even number the mean of the two in the middle."""
        return float(self.at(np.array([(self.n + 1) // 2, self.n // 2 + 1])).mean())

    def mean(self) -> Bounded:
        """Return the mean with its interval from batch means."""
        return Bounded(float(self.latency_s.mean()), *(batch_means_ci(self.latency_s) or ()))

    def quantile(self, q: float) -> Bounded:
        """Return the order statistic with Woodruff's interval; none where too few requests lie beyond it."""
        n = self.n
        if quantile_refused(n, q) is not None:
            return Bounded(None)
        value = float(self.at(np.array([rank(n, q)]))[0])
        if n_beyond(n, q) < FEWEST_BEYOND - 1e-6 or n < 10 * N_BATCHES:
            return Bounded(value)
        lower, upper = woodruff_ranks(self.latency_s[None, :], np.array([value]), q, LEVEL)
        low, high = self.at(np.append(lower, upper)).tolist()
        return Bounded(value) if low == high else Bounded(value, low, high)

    def with_missing(self, interval_s: float) -> EveryLatency | None:
        """Return them and those that waiting left out; ``None``: these would be far too many."""
        every = with_missing_requests(self.latency_s, interval_s)
        return None if every is None else EveryLatency(every, in_order=False)
