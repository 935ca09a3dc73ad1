# SPDX-License-Identifier: Apache-2.0
"""wrk's latency histogram: as wrk left it, corrected, and with the correction undone.

When its load is over, wrk divides the time by the answers of a connection: the expected interval ``e``, in
whole microseconds. Then, for every latency ``n`` above ``2e`` and each of its counts, it counts a request that
was never sent at ``n - e``, ``n - 2e`` and so on, as long as that is above ``e`` (``stats_correct`` in wrk's
``stats.c``, wrk 4.0 to 4.2). So above ``e`` the histogram is ``corrected[m] = made[m] + corrected[m + e]``, with
``made`` what requests really took, and ``made[m] = corrected[m] - corrected[m + e]`` gives it back, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.errors import InputError
from harness.formats.source import SourceNotes, read_text_pieces

#: Of the file that our script has wrk write: how far each latency lies above the one before, which packs far
#: smaller than the latencies themselves, and how many requests took it.
HEADER = "step_us,count"
#: How a latency of wrk came about, in words for the record.
UNDONE = "from wrk's histogram, its correction undone"
LEFT = "as wrk reports them, with requests that were never sent"

Whole = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class LatencyHistogram:
    """How many requests took how long. Values ascend, counts are positive; both of shape (n_values,)."""

    value_us: Whole
    count: Whole

    @property
    def n(self) -> int:
        """Requests."""
        return int(self.count.sum())

    @property
    def mean_s(self) -> float | None:
        """Mean latency; None without requests."""
        return int((self.value_us * self.count).sum()) / self.n / 1e6 if self.n else None

    def quantile_s(self, share: float) -> float:
        """Of n requests in the order of their latency the ``ceil(n share)``-th."""
        place = min(self.n, max(1, math.ceil(round(self.n * share, 6))))
        return float(self.value_us[np.searchsorted(np.cumsum(self.count), place)]) / 1e6


def expected_interval_us(*, duration_us: int, n_answers: int, connections: int) -> int:
    """Return the interval by which wrk corrects; 0: it does not, for it had less than an answer a connection.

    ``duration_us``, ``n_answers``: ``summary.duration`` and ``summary.requests`` of wrk's ``done``. ``connections``:
    as they were asked for (``-c``).
    """
    rounds = n_answers // connections
    return duration_us // rounds if rounds else 0


def undo_correction(corrected: LatencyHistogram, interval_us: int, *, n_recorded: int) -> LatencyHistogram:
    """Return the latencies of the requests that were sent, in whole numbers.

    ``corrected``: from the least latency that was measured on; wrk hides what it made up below that. ``interval_us``:
    of :func:`expected_interval_us`. ``n_recorded``: how many requests wrk measured: all answers but those that came
    after its time limit. Raises InputError: this histogram cannot have come from ``n_recorded`` requests by this
    interval.
    """
    value, count = corrected.value_us, corrected.count
    left = count.copy()
    if interval_us > 0 and value.size:
        made_at = value - interval_us
        made = (made_at > interval_us) & (made_at >= value[0])
        place = np.searchsorted(value, made_at[made])
        if (value[place] != made_at[made]).any():
            raise InputError(
                f"no correction by {interval_us} us made this histogram: it leaves out what that would count"
            )
        left[place] -= count[made]
    if (left < 0).any():
        raise InputError(f"no correction by {interval_us} us made this histogram: counts below zero are left")
    some = left > 0
    histogram = LatencyHistogram(value_us=value[some], count=left[some])
    if histogram.n != n_recorded:
        raise InputError(
            f"with its correction by {interval_us} us undone the histogram has {histogram.n} requests,"
            f" and wrk measured {n_recorded}"
        )
    return histogram


def read_wrk_histogram(path: Path) -> LatencyHistogram:
    """Read the file that our script has wrk write, gzipped or not; raises InputError: it cannot be read, is cut off, or
    is none."""
    try:
        header, *lines = b"".join(read_text_pieces(path, SourceNotes())).decode().splitlines()
        rows = [(int(step), int(n)) for step, n in (line.split(",") for line in lines)]
        step, count = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        sound = header == HEADER and (count > 0).all() and (step[:1] >= 0).all() and (step[1:] > 0).all()
    except (ValueError, OverflowError) as problem:
        raise InputError("not a wrk histogram", file=path, allowed=f"{HEADER} and whole numbers") from problem
    if not sound:
        raise InputError("not a wrk histogram", file=path, allowed=f"{HEADER}, both above zero")
    return LatencyHistogram(value_us=np.cumsum(step), count=count)
