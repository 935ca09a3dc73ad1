# SPDX-License-Identifier: Apache-2.0
"""What is kept of the successful requests of a file: their latencies one by one, and of a long file their counts."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.formats.arrays import FloatArray
from harness.report.numbers import percent
from harness.report.spread import EveryLatency, Spread
from harness.report.tally import GRID_ERROR, MOST_VALUES, Tally

#: Places in a list of names, in as few bytes as the list needs.
NarrowCodeArray = npt.NDArray[np.unsignedinteger]
#: Latencies that are kept one by one, with one small number for the name of each.
MOST_KEPT = 2_000_000


class Kept:
    """The latencies of one file. Memory is bounded: 9 bytes for each of ``MOST_KEPT`` requests, then counts."""

    def __init__(self) -> None:
        self._most, self._n = MOST_KEPT, 0
        self._latency: list[FloatArray] = []
        self._codes: list[NarrowCodeArray] = []
        self._all: Tally | None = None
        self._by_name: Tally | None = None

    def take(self, latency_s: FloatArray, codes: NarrowCodeArray) -> None:
        """Add the next requests in the order of their starts, shapes (n,): latency in seconds, code of the name."""
        self._n += len(latency_s)
        self._latency.append(latency_s)
        self._codes.append(codes)
        if self._n <= self._most:
            return
        self._all = self._all or Tally()
        while self._latency:
            latency_s, codes = self._latency.pop(0), self._codes.pop(0)
            if self._by_name is None and codes.any():
                self._by_name = copy(self._all)  # up to here all requests have the first name
            values, code = np.unique(latency_s, return_inverse=True)
            self._all.add(values, code)
            if self._by_name is not None:
                self._by_name.add(values, code, codes)

    @property
    def n(self) -> int:
        """How many requests were taken."""
        return self._n

    @cached_property
    def whole(self) -> Spread:
        """All of them. Ask when nothing more is taken."""
        if self._all is not None:
            counted = self._all.of()
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
        if self._all is not None:
            return (self._by_name or self._all).of(code)
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
        if self._all is None:
            return [], []
        notes = []
        if not self._all.exact:
            notes.append(
                f"more than {MOST_VALUES:,} different latencies among more than {self._most:,} requests: they are "
                f"rounded, and mean, percentiles and maximum are off by at most {percent(GRID_ERROR)}"
            )
        by_name = self._by_name
        if by_name is not None and names_shown > 1 and not by_name.has_blocks:
            notes.append("by request: no intervals, because the names have too many different latencies")
        if by_name is not None and names_shown > 1 and by_name.left_out:
            notes.append(
                "by request: latencies only of the names with most requests in the first part of the file"
            )
        percentiles = "exact percentiles" if self._all.exact else "percentiles"
        return notes, [
            f"more than {self._most:,} successful requests: {percentiles} come from how often each latency occurs, "
            "and intervals from 30 batches of about equal size"
        ]
