# SPDX-License-Identifier: Apache-2.0
"""The rolling median of a series, and of what is left of it without some of its values.

Stalls are found in rounds, each of which leaves out other requests. A median whose window lost nothing is that of the
whole series, so that only those near a gap are computed again: the results are the same to the last bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

FloatArray = npt.NDArray[np.float64]


class RollingMedian:
    """Of values, shape (n,), n >= 1, over ``window`` of them, an odd number; beyond the ends the last value goes on."""

    def __init__(self, values: FloatArray, window: int) -> None:
        self._values, self._window = values, window
        self.whole = _filtered(values, window)

    def of(self, used: npt.NDArray[np.intp], window: int) -> FloatArray:
        """Return the rolling median of some of the values alone, shape (m,).

        Args:
            used: their places, ascending, shape (m,), m >= 1. window: as of the whole, an odd number.
        """
        n, m, half = len(self._values), len(used), window // 2
        if window == self._window and m == n:
            return self.whole
        values = self._values[used]
        if window != self._window or m < window:
            return _filtered(values, window)
        gone = np.ones(n, dtype=np.int64)
        gone[used] = 0
        n_gone = np.append(0, np.cumsum(gone))  # before each place
        touched = n_gone[np.minimum(used + half + 1, n)] > n_gone[np.maximum(used - half, 0)]
        begins = np.flatnonzero(touched & ~np.append(False, touched[:-1]))
        ends = np.flatnonzero(touched & ~np.append(touched[1:], False)) + 1
        if int((ends - begins + window).sum()) >= m:  # nearly all of them: in one go
            return _filtered(values, window)
        found = self.whole[used]
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            low = max(min(begin - half, m - window), 0)
            high = min(max(end + half, low + window), m)
            found[begin:end] = _filtered(values[low:high], window)[begin - low : end - low]
        return found


def _filtered(values: FloatArray, window: int) -> FloatArray:
    return np.asarray(scipy.ndimage.median_filter(values, size=window, mode="nearest"), dtype=np.float64)
