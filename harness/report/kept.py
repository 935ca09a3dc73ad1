# SPDX-License-Identifier: Apache-2.0
"""What is kept of the successful requests of a file: their latencies one by one, and of a long file their counts.

A long file is counted as an HdrHistogram counts: whole steps of the tool's clock, so that nothing is rounded, and above
``MOST_STEPS`` of them in ``GRID`` steps of one width between two powers of two. The counts are kept block by block in
the order of the file, because an interval needs to know how requests follow each other. Where there are too many
blocks, two neighbours become one.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.analysis.load.coordinated_omission import WithMissing, with_missing_of_counts
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.quantiles import N_BATCHES, rank
from harness.formats.arrays import FloatArray, IntArray
from harness.report.numbers import percent
from harness.report.spread import LEVEL, Bounded, EveryLatency, Spread

#: Places in a list of names, in as few bytes as the list needs.
NarrowCodeArray = npt.NDArray[np.unsignedinteger]
#: Latencies that are kept one by one, with one small number for the name of each.
MOST_KEPT = 2_000_000
#: Steps of the clock that are counted one by one: milliseconds up to half a minute.
MOST_STEPS = 1 << 15
GRID = 1 << 10
#: The largest error of a rounded latency, as a share of it.
GRID_ERROR = 1 / (2 * GRID)
#: Requests of a block at first, blocks that are kept at most, and at least: two for each batch of an interval.
BLOCK_ROWS, MOST_BLOCKS, FEWEST_BLOCKS = 4096, 1024, 60
#: Counts that are kept before blocks are joined, and then names; 16 bytes each.
MOST_COUNTS = 1_000_000
#: A count is of a name, a block and a cell, which are one number.
_CELL_BITS, _BLOCK_BITS = 17, 11
_CELLS, _BLOCKS = 1 << _CELL_BITS, 1 << _BLOCK_BITS
#: Far above a year in nanoseconds.
_MOST_CELLED = 2.0**79
#: A batch of fewer requests than this share of an even one would count for too much.
_LEAST_SHARE = 0.5


def cells_of(steps: FloatArray) -> IntArray:
    """Return where latencies are counted, given in steps of a clock, 0 or more, shape (n,)."""
    whole = np.rint(steps)
    mantissa, exponent = np.frexp(np.minimum(whole, _MOST_CELLED))
    beyond = (
        MOST_STEPS
        + (exponent - MOST_STEPS.bit_length()) * GRID
        + ((mantissa - 0.5) * 2 * GRID).astype(np.int64)
    )
    return np.asarray(np.where(whole <= MOST_STEPS, whole.astype(np.int64), beyond + 1))


def steps_of(cells: IntArray) -> FloatArray:
    """Return the latencies that cells stand for, in steps of the clock: ``GRID_ERROR`` off at most."""
    exponent, place = np.divmod(np.maximum(cells - MOST_STEPS - 1, 0), GRID)
    middle = np.ldexp(0.5 + (place + 0.5) / (2 * GRID), exponent + MOST_STEPS.bit_length())
    return np.asarray(np.where(cells <= MOST_STEPS, cells.astype(np.float64), middle))


class Counts:
    """How often each latency occurs, by name and by block. Its memory is bounded, however many are added.

    ``exact``: none was rounded. ``left_out``: names whose latencies are known of all names together alone.

    Args:
        resolution_s: the smallest step of the tool's clock.
    """

    def __init__(self, resolution_s: float, *, most: int = MOST_COUNTS) -> None:
        self._per_s, self._most = float(max(1, round(1 / resolution_s))), most
        self.n, self.block_rows, self.exact = 0, BLOCK_ROWS, True
        self.left_out: frozenset[int] = frozenset()
        self._key = self._count = np.zeros(0, dtype=np.int64)

    def add(self, latency_s: FloatArray, name: NarrowCodeArray) -> None:
        """Count the next requests, in the order of the file, shapes (n,): seconds, and the code of each one's name."""
        self.n += len(latency_s)
        while self.n > MOST_BLOCKS * self.block_rows:
            self._join_blocks()
        cells = cells_of(latency_s * self._per_s)
        self.exact &= not bool((cells > MOST_STEPS).any())
        block = np.arange(self.n - len(cells), self.n) // self.block_rows
        group = np.where(np.isin(name, list(self.left_out)), 0, name.astype(np.int64) + 1)
        key, count = np.unique((group * _BLOCKS + block) * _CELLS + cells, return_counts=True)
        self._sum_up(np.concatenate([self._key, key]), np.concatenate([self._count, count]))
        while len(self._key) > self._most and self.n >= 2 * FEWEST_BLOCKS * self.block_rows:
            self._join_blocks()
        while len(self._key) > self._most and self._leave_out_rare():
            pass

    def _join_blocks(self) -> None:
        """Make one block of two neighbours."""
        self.block_rows *= 2
        before, cell = np.divmod(self._key, _CELLS)
        group, block = np.divmod(before, _BLOCKS)
        self._sum_up((group * _BLOCKS + block // 2) * _CELLS + cell, self._count)

    def _sum_up(self, key: IntArray, count: IntArray) -> None:
        """Take these counts in place of all, those of one key together."""
        self._key, place = np.unique(key, return_inverse=True)
        self._count = np.bincount(place, weights=count, minlength=len(self._key)).astype(np.int64)

    def _leave_out_rare(self) -> bool:
        """Count the less frequent half of the names without their names; whether there was one."""
        group, rest = np.divmod(self._key, _BLOCKS * _CELLS)
        names, place = np.unique(group, return_inverse=True)
        order = np.argsort(-np.bincount(place, weights=self._count), kind="stable")
        rare = [item for item in names[order[len(names) // 2 :]].tolist() if item]
        self.left_out |= {item - 1 for item in rare}
        self._sum_up(np.where(np.isin(group, rare), 0, group) * _BLOCKS * _CELLS + rest, self._count)
        return bool(rare)

    def of(self, name: int | None = None) -> CountedLatencies | None:
        """Return the latencies of one name, ``None``: of all; ``None``: there are none, or they were left out."""
        group, rest = np.divmod(self._key, _BLOCKS * _CELLS)
        own = slice(None) if name is None else group == name + 1
        key, place = np.unique(rest[own], return_inverse=True)
        if not len(key):
            return None
        block, cell = np.divmod(key, _CELLS)
        cells, code = np.unique(cell, return_inverse=True)
        count = np.bincount(place, weights=self._count[own]).astype(np.int64)
        return CountedLatencies(steps_of(cells) / self._per_s, code, count, block)


class CountedLatencies(Spread):
    """Latencies of which only counts are known.

    Estimators and formulas are those of ``EveryLatency``. Only the edges of the batches lie elsewhere: at an edge of a
    block, because the number of requests is not known while they are counted.

    Args:
        values: different latencies in seconds, ascending, shape (d,), d > 0.
        code, count, block: which of them, how often, and in which block of the file, shapes (k,).
    """

    def __init__(self, values: FloatArray, code: IntArray, count: IntArray, block: IntArray) -> None:
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

    def mean(self) -> Bounded:
        """Return the mean with its interval from batch means."""
        value = float(self._values @ self._total) / self.n
        if self._batches is None or len(self._values) == 1:
            return Bounded(value)
        half = _half(self._batches @ self._values / self._batches.sum(axis=1))
        return Bounded(value) if value - half < 0 else Bounded(value, value - half, value + half)

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
        """Return them and those that waiting left out."""
        return with_missing_of_counts(self._values, self._total, interval_s)

    @cached_property
    def _batches(self) -> FloatArray | None:
        """How often each latency occurs in each batch, shape (N_BATCHES, d); ``None``: they lie too close together."""
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


class Kept:
    """The latencies of one file. Memory is bounded: 9 bytes for each of ``MOST_KEPT`` requests, then counts.

    Args:
        resolution_s: the smallest step of the tool's clock.
    """

    def __init__(self, resolution_s: float) -> None:
        self._resolution_s, self._most, self._n = resolution_s, MOST_KEPT, 0
        self._latency: list[FloatArray] = []
        self._codes: list[NarrowCodeArray] = []
        self._counts: Counts | None = None

    def take(self, latency_s: FloatArray, codes: NarrowCodeArray) -> None:
        """Add the next requests in the order of their starts, shapes (n,): latency in seconds, code of the name."""
        self._n += len(latency_s)
        self._latency.append(latency_s)
        self._codes.append(codes)
        if self._n <= self._most:
            return
        self._counts = self._counts or Counts(self._resolution_s)
        while self._latency:
            self._counts.add(self._latency.pop(0), self._codes.pop(0))

    @property
    def n(self) -> int:
        """How many requests were taken."""
        return self._n

    @cached_property
    def whole(self) -> Spread:
        """All of them. Ask when nothing more is taken."""
        if self._counts is not None:
            counted = self._counts.of()
            assert counted is not None  # there are more than MOST_KEPT
            return counted
        if len(self._latency) != 1:
            whole, n_there = np.empty(self._n), 0
            while self._latency:  # one after the other, so that all are never there twice
                part = self._latency.pop(0)
                whole[n_there : n_there + len(part)] = part
                n_there += len(part)
            self._latency = [whole]
        return EveryLatency(self._latency[0])

    def of_name(self, code: int) -> Spread | None:
        """Return the latencies of one name; ``None``: they were not kept, or there are none."""
        if self._counts is not None:
            return self._counts.of(code)
        whole = self.whole
        assert isinstance(whole, EveryLatency)  # there are no counts
        return EveryLatency(whole.latency_s[self._joined_codes == code])

    @cached_property
    def _joined_codes(self) -> NarrowCodeArray:
        return self._codes[0] if len(self._codes) == 1 else np.concatenate(self._codes)

    def about(self, *, names_shown: int) -> tuple[list[str], list[str]]:
        """Return what is to be known about the counts: warnings of this file, and notes of any long one.

        Args:
            names_shown: rows of names in the report.
        """
        if self._counts is None:
            return [], []
        notes = []
        if not self._counts.exact:
            notes.append(
                f"more than {self._most:,} requests, some above {MOST_STEPS:,} steps of the tool's clock: these are "
                f"rounded, and mean, percentiles and maximum are off by at most {percent(GRID_ERROR)}"
            )
        if names_shown > 1 and self._counts.left_out:
            notes.append(
                "by request: latencies only of the names with most requests in the first part of the file"
            )
        percentiles = "exact percentiles" if self._counts.exact else "percentiles"
        return notes, [
            f"more than {self._most:,} successful requests: {percentiles} come from how often each latency occurs, "
            "and intervals from 30 batches of about equal size"
        ]
