# SPDX-License-Identifier: Apache-2.0
"""The correction by the expected interval where only counts of latencies are known, and none of them is written out.

One latency of a minute stands for as many missing requests as there are intervals in it. They lie evenly spaced, so
how many lie below a limit follows from the limit, and a percentile is found by bisection.
"""

from __future__ import annotations

import numpy as np

from harness.analysis.load.coordinated_omission import MOST_ADDED, n_missing
from harness.formats.arrays import FloatArray, IntArray

#: Halvings of the span from 0 to the longest latency; what is left is told apart by the values themselves.
_HALVINGS = 50


def with_missing_of_counts(values_s: FloatArray, counts: IntArray, interval_s: float) -> WithMissing | None:
    """Return the latencies and those that waiting left out; ``None``: these would be far too many.

    Args:
        values_s: different latencies, shape (d,), d > 0. counts: how often each occurs, shape (d,).

    Raises:
        InputError: the interval is not positive.
    """
    n_each = n_missing(values_s, interval_s)
    if float(n_each.astype(np.float64) @ counts) > MOST_ADDED * int(
        counts.sum()
    ):  # whole numbers may overflow
        return None
    return WithMissing(values_s, counts, n_each, interval_s)


class WithMissing:
    """Latencies L, each with L - I, L - 2 I, ... down to I, in ascending order.

    Args:
        values_s, counts: as ``with_missing_of_counts``. n_each: how many requests each left out, shape (d,).
    """

    def __init__(self, values_s: FloatArray, counts: IntArray, n_each: IntArray, interval_s: float) -> None:
        self._values, self._counts, self._n_each, self._interval_s = values_s, counts, n_each, interval_s
        self.n = int(counts.sum()) + int(n_each @ counts)

    def at(self, ranks: IntArray) -> FloatArray:
        """Return the latencies of these ranks, counted from 1, in seconds, shape of ``ranks``."""
        return np.array([self._at(int(one)) for one in ranks])

    def _at(self, rank: int) -> float:
        low, high = 0.0, float(self._values.max())
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._n_up_to(middle) >= rank else (middle, high)
        # The latency itself, not the end of a bisection near it.
        back = np.clip(np.rint((self._values - high) / self._interval_s), 0, self._n_each)
        near = self._values - back * self._interval_s
        return float(near[np.argmin(np.abs(near - high))])

    def _n_up_to(self, limit_s: float) -> int:
        first = np.maximum(np.ceil((self._values - limit_s) / self._interval_s), 1)
        added = np.clip(self._n_each - first + 1, 0, self._n_each).astype(np.int64)
        return int(((self._values <= limit_s) + added) @ self._counts)
