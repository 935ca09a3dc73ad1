# SPDX-License-Identifier: Apache-2.0
"""Do the load generator's clock and the log's clock agree well enough to attribute anything?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.analysis.attribution.spans import Span
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen

MIN_PAUSES = 5
#: Offsets beyond this are not looked for, and none is told to less than half of a load tool's milliseconds.
SEARCH_S, RESOLUTION_S = 5.0, 0.0005


class ClockOffset(Frozen):
    """Requests' clock minus the log's clock."""

    offset_s: float | None = None  # None: cannot be told from these data
    supports_attribution: bool = False  # |offset| is at most half the median pause
    why: str


def estimate_clock_offset(
    completion_s: FloatArray, pauses: Sequence[Span], *, median_service_s: float
) -> ClockOffset:
    """Return the offset: mode of (first completion after a gap - pause end), less the wait for an answer at any moment.

    Args:
        completion_s: when each answer came, shape (n,), on the requests' clock. pauses: on the log's clock.
        median_service_s: ordinary latency without queueing.

    Raises:
        InputError: the service time is negative, or a time is not finite.
    """
    if not 0 <= median_service_s < np.inf:
        raise InputError("a service time cannot be negative", found=median_service_s, allowed="seconds >= 0")
    if not (np.isfinite(completion_s).all() and all(np.isfinite(pause).all() for pause in pauses)):
        raise InputError("times must be finite", found="NaN or infinity", allowed="seconds")
    lengths = np.array([end - start for start, end in pauses])
    if len(pauses) < MIN_PAUSES or len(completion_s) < 2:
        return ClockOffset(why=f"fewer than {MIN_PAUSES} pauses, or no completions")
    done = np.sort(np.asarray(completion_s, dtype=np.float64))
    gap_ends = _ends_of_long_gaps(done, lengths)
    pause_ends = np.array([end for _, end in pauses])
    low, high = (np.searchsorted(gap_ends, pause_ends + by) for by in (-SEARCH_S, SEARCH_S))
    differences = np.concatenate(
        [gap_ends[a:b] - end for a, b, end in zip(low, high, pause_ends, strict=True)]
    )
    if not len(differences):
        return ClockOffset(why=f"no gap in completions within {SEARCH_S:g} s of any pause")
    width = max(RESOLUTION_S, 0.1 * float(np.median(lengths)))
    ordered = np.sort(differences)
    in_window = np.searchsorted(ordered, ordered + 2 * width, side="right") - np.arange(len(ordered))
    best = int(np.argmax(in_window))
    agreeing = int(in_window[best])
    by_chance = len(differences) * 2 * width / (2 * SEARCH_S)
    mode = float(np.median(ordered[best : best + agreeing]))
    needed = by_chance + 4 * np.sqrt(by_chance + 1) + 2
    if agreeing < needed or agreeing < 0.2 * min(len(pauses), len(gap_ends)):
        why = f"{agreeing} coincidences where chance gives {by_chance:.1f}: no offset is significant"
        return ClockOffset(why=why)
    offset = mode - min(_wait_for_answer_s(done, 0.5 * float(lengths.min())), median_service_s)
    allowed = 0.5 * float(np.median(lengths))
    if abs(offset) <= max(allowed, width):
        why = "the clocks agree to within half the median pause"
        return ClockOffset(offset_s=offset, supports_attribution=True, why=why)
    apart = f"the clocks are {offset * 1e3:.1f} ms apart"
    why = f"{apart}, more than half the median pause ({allowed * 1e3:.1f} ms)"
    return ClockOffset(offset_s=offset, why=why)


def _wait_for_answer_s(done: FloatArray, longest_s: float) -> float:
    """Median time from a moment to the next answer: solves sum(max(g - x, 0)) = sum(g) / 2 over gaps below
    ``longest_s``."""
    gaps = np.sort(np.diff(done))
    gaps = gaps[gaps < longest_s]
    if not len(gaps) or gaps.sum() <= 0:
        return 0.0
    n_longer = np.arange(len(gaps), 0, -1)
    longer_sum = np.cumsum(gaps[::-1])[::-1]
    beyond = longer_sum - n_longer * gaps
    i = int(np.argmax(beyond <= gaps.sum() / 2))
    return float((longer_sum[i] - gaps.sum() / 2) / n_longer[i])


def _ends_of_long_gaps(done: FloatArray, lengths: FloatArray) -> FloatArray:
    """Ends of the longest gaps, at most three for each pause and none shorter than half the shortest pause."""
    gaps = np.diff(done)
    wanted = min(3 * len(lengths), len(gaps))
    longest = np.argpartition(gaps, -wanted)[-wanted:]
    longest = longest[gaps[longest] >= 0.5 * lengths.min()]
    return np.asarray(np.sort(done[longest + 1]))
