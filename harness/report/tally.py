# SPDX-License-Identifier: Apache-2.0
"""How often each latency occurs: what is kept of a file that has too many requests to keep each of them.

Load tools write whole milliseconds or microseconds, so that a file has few different latencies however long it is, and
their counts are exact. Where there are too many different ones after all, they are rounded to a log-linear grid: steps
of one width between two powers of two.

The counts are kept block by block in the order of the file, because an interval needs to know how requests follow each
other. Whenever there are too many blocks, or too many counts, two neighbours become one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.formats.arrays import FloatArray, IntArray
from harness.report.counted import CountedLatencies

#: Different latencies that are kept apart; whole milliseconds up to 20 s.
MOST_VALUES = 20_000
#: Steps between zero and a power of two. A latency lies in the upper half of them, and is at most half a step off.
GRID_STEPS = 1024
#: The largest error of a rounded latency, as a share of it.
GRID_ERROR = 1 / GRID_STEPS
#: Requests of a block at first, and blocks that are kept at most.
BLOCK_ROWS, MOST_BLOCKS = 4096, 1024
#: Blocks are not joined to fewer than this for the sake of memory: two for each batch of an interval.
FEWEST_BLOCKS = 60
#: Counts that are kept before blocks are joined; 24 bytes each.
MOST_COUNTS = 1_000_000
#: Names whose counts are kept where all names together have too many.
MOST_GROUPS = 100
#: More than the number of a block at any time.
_STRIDE = 1 << 20


def on_grid(latency_s: FloatArray) -> FloatArray:
    """Return latencies at most ``GRID_ERROR`` of their size away, of which there are few different ones.

    Args:
        latency_s: seconds, shape (n,), 0 or more. Rounding twice changes nothing.
    """
    mantissa, exponent = np.frexp(latency_s)
    return np.asarray(np.ldexp(np.round(mantissa * GRID_STEPS) / GRID_STEPS, exponent))


class Tally:
    """Counts of latencies, apart by group (the code of a name; all 0: no groups) and by block.

    ``exact``: latencies are those of the file. ``has_blocks``: the order is known. ``left_out``: codes of groups whose
    counts were given up. Its memory is bounded, however many requests are added.
    """

    def __init__(self, *, most_values: int = MOST_VALUES, most_counts: int = MOST_COUNTS) -> None:
        self._most_values, self._most_counts = most_values, most_counts
        self.n, self.block_rows = 0, BLOCK_ROWS
        self.exact = self.has_blocks = True
        self.left_out: frozenset[int] = frozenset()
        self._values = np.zeros(0)
        self._cell = self._count = np.zeros(0, dtype=np.int64)  # cell: group and block in one number
        self._code = np.zeros(0, dtype=np.int64)

    def add(
        self, values_s: FloatArray, code: IntArray, group: npt.NDArray[np.unsignedinteger] | None = None
    ) -> None:
        """Count the next requests, in the order of the file.

        Args:
            values_s: their different latencies in seconds, ascending, shape (d,). code: which of them each request
                has, shape (n,). group: the code of each one's name, shape (n,); ``None``: 0.
        """
        if not len(code):
            return
        place = self.n + np.arange(len(code))
        cell = place // self.block_rows if self.has_blocks else np.zeros_like(place)
        if group is not None:
            cell += group.astype(np.int64) * _STRIDE
        self.n += len(code)
        values = values_s if self.exact else on_grid(values_s)
        every = np.union1d(self._values, values)
        was = np.searchsorted(every, self._values)[self._code]
        now = np.searchsorted(every, values)[code]
        self._values = every
        self._sum_up(
            np.concatenate([self._cell, cell]),
            np.concatenate([was, now]),
            np.concatenate([self._count, np.ones(len(code), dtype=np.int64)]),
        )
        self._shrink()

    def of(self, group: int = 0) -> CountedLatencies | None:
        """Return the latencies of one group; ``None``: there are none, or their counts were given up."""
        own = self._cell // _STRIDE == group
        if group in self.left_out or not own.any():
            return None
        used, code = np.unique(self._code[own], return_inverse=True)
        return CountedLatencies(
            self._values[used],
            code,
            self._count[own],
            block=self._cell[own] % _STRIDE if self.has_blocks else None,
        )

    @property
    def _n_blocks(self) -> int:
        return -(-self.n // self.block_rows) if self.has_blocks else 1

    def _sum_up(self, cell: IntArray, code: IntArray, count: IntArray) -> None:
        """Take these counts in place of all, those of one cell and latency together."""
        n_values = len(self._values)
        keys, place = np.unique(cell * n_values + code, return_inverse=True)
        self._count = np.bincount(place, weights=count, minlength=len(keys)).astype(np.int64)
        self._cell, self._code = keys // n_values, keys % n_values

    def _shrink(self) -> None:
        if self.exact and len(self._values) > self._most_values:
            self.exact = False
            self._values, code = np.unique(on_grid(self._values), return_inverse=True)
            self._sum_up(self._cell, code[self._code], self._count)
        while self._n_blocks > MOST_BLOCKS or (self._too_many and self._n_blocks >= 2 * FEWEST_BLOCKS):
            self.block_rows *= 2
            group, block = np.divmod(self._cell, _STRIDE)
            self._sum_up(group * _STRIDE + block // 2, self._code, self._count)
        groups = np.unique(self._cell // _STRIDE)
        if not self._too_many or len(groups) == 1:
            return
        self.has_blocks = False
        self._sum_up(self._cell // _STRIDE * _STRIDE, self._code, self._count)
        if self._too_many and len(groups) > MOST_GROUPS:
            self._keep_most_frequent()

    @property
    def _too_many(self) -> bool:
        return len(self._count) > self._most_counts

    def _keep_most_frequent(self) -> None:
        groups, place = np.unique(self._cell // _STRIDE, return_inverse=True)
        n_each = np.bincount(place, weights=self._count)
        retained = np.argsort(-n_each, kind="stable")[:MOST_GROUPS]
        self.left_out |= frozenset(np.delete(groups, retained).tolist())
        own = np.isin(place, retained)
        self._cell, self._code, self._count = self._cell[own], self._code[own], self._count[own]
