# SPDX-License-Identifier: Apache-2.0
"""Latencies of which only counts are known: percentiles are exact, and intervals come from batches of whole blocks.

Estimators and formulas are those of ``bounded_quantile`` and ``batch_means_ci``. Only the edges of the batches lie
elsewhere: at an edge of a block, because the number of requests is not known while they are counted.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from harness.analysis.load.coordinated_omission import WithMissing, with_missing_of_counts
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.quantiles import N_BATCHES, rank
from harness.formats.arrays import FloatArray, IntArray
from harness.report.spread import LEVEL, Bounded, bounded_quantile

#: A batch of fewer requests than this share of an even one would count for too much.
_LEAST_SHARE = 0.5


class CountedLatencies:
    """One group of a tally. Every number is that of the latencies which were counted.

    Args:
        values: different latencies in seconds, ascending, shape (d,), d > 0.
        code, count: which of them, and how often, shapes (k,).
        block: in which block of the file, shape (k,); ``None``: it is not known, and there are no intervals.
    """

    def __init__(
        self, values: FloatArray, code: IntArray, count: IntArray, *, block: IntArray | None
    ) -> None:
        self._values, self._code, self._count, self._block = values, code, count, block
        self._total = np.bincount(code, weights=count, minlength=len(values)).astype(np.int64)
        self._up_to = np.cumsum(self._total)

    @property
    def n(self) -> int:
        """How many latencies there are."""
        return int(self._up_to[-1])

    @property
    def has_batches(self) -> bool:
        """Whether they can be parted into batches of about equal size."""
        return self._batches is not None

    def at(self, ranks: IntArray) -> FloatArray:
        """Return the latencies of these ranks, counted from 1."""
        return np.asarray(self._values[np.searchsorted(self._up_to, ranks)])

    def median(self) -> float:
        """Return the median."""
        return float(self.at(np.array([(self.n + 1) // 2, self.n // 2 + 1])).mean())

    def mean(self) -> Bounded:
        """Return the mean with its interval from batch means."""
        value = float(self._values @ self._total) / self.n
        if self._batches is None or len(self._values) == 1:
            return Bounded(value)
        means = self._batches @ self._values / self._batches.sum(axis=1)
        half = _half(means)
        if value - half < 0:
            return Bounded(value)
        return Bounded(value, value - half, value + half)

    def quantile(self, q: float) -> Bounded:
        """Return the order statistic with its interval."""
        return bounded_quantile(self, q)

    def ends(self, q: float) -> tuple[float, float]:
        """Return the ends of Woodruff's interval."""
        assert self._batches is not None  # has_batches says so
        last = int(np.searchsorted(self._up_to, rank(self.n, q)))
        half = _half(self._batches[:, : last + 1].sum(axis=1) / self._batches.sum(axis=1))
        lower = np.clip(np.floor(self.n * (q - half)), 1, self.n)
        upper = np.clip(np.ceil(self.n * (q + half)), 1, self.n)
        low, high = self.at(np.array([lower, upper]).astype(np.int64)).tolist()
        return low, high

    def with_missing(self, interval_s: float) -> WithMissing | None:
        """Return them and those that waiting left out; ``None``: these would be far too many."""
        return with_missing_of_counts(self._values, self._total, interval_s)

    @cached_property
    def _batches(self) -> FloatArray | None:
        """How often each latency occurs in each batch, shape (N_BATCHES, d); ``None``: they lie too close together."""
        if self._block is None:
            return None
        per_block = np.bincount(self._block, weights=self._count)
        middle = np.cumsum(per_block) - per_block / 2
        batch = np.minimum((middle * N_BATCHES / self.n).astype(np.int64), N_BATCHES - 1)
        d = len(self._values)
        each = np.bincount(batch[self._block] * d + self._code, weights=self._count, minlength=N_BATCHES * d)
        table = np.asarray(each.reshape(N_BATCHES, d), dtype=np.float64)
        return table if table.sum(axis=1).min() >= _LEAST_SHARE * self.n / N_BATCHES else None


def _half(of_batches: FloatArray) -> float:
    """Half the width of the interval of the mean of one number a batch."""
    return float(t_critical(LEVEL, N_BATCHES - 1) * of_batches.std(ddof=1) / np.sqrt(N_BATCHES))
