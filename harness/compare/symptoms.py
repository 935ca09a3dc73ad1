# SPDX-License-Identifier: Apache-2.0
"""What the requests of one file show by themselves: a ramp, a clock that jumped, an end that is missing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.compare.run import Symptom
from harness.formats.arrays import FloatArray
from harness.formats.jtl_other_columns import JtlSides
from harness.formats.table import RequestTable
from harness.model.digits import plain
from harness.report.loop import Kind

RAMP, CLOCK, CUT = "ramp_included", "clock_jump", "truncated_file"
#: Fewer requests tell no ramp: a tenth of them is too few for a rate.
FEWEST_FOR_RAMP = 1000
_SLICES, _FIRST = 20, 2
#: The first tenth of a run is a ramp below this share of the later rate, and cold above this multiple of the median.
_SLOW_START, _COLD_START = 0.7, 1.5
_ALL_USERS, _LONGEST_RAMP = 0.9, 0.05
#: A clock that runs backwards by less may be the order in which threads write.
_BACKWARDS_S = 2.0
#: So many rows in a row are behind others: no longer the order in which threads write.
_FEWEST_BEHIND = 20
#: A gap is a jump where nothing was sent or answered for this long, and for so many usual gaps.
_GAP_S, _GAPS = 5.0, 100.0


def symptoms_of(table: RequestTable, *, sides: JtlSides | None, loop: Kind) -> list[Symptom]:
    """Return what one file shows; nothing of time where it has no time stamps.

    Args:
        sides: threads and users of its first rows; None: it does not name them.
    """
    found = []
    if table.unreadable.n_cut or any("ends early" in note or "is damaged" in note for note in table.notes):
        found.append(
            Symptom(trap=CUT, text="ends in the middle of a row: the tool was stopped, or the disk was full")
        )
    if not table.has_start_times or table.n_requests < 2:
        return found
    if (jump := clock_jump(table.start_epoch_s, table.latency_s)) is not None:
        found.append(Symptom(trap=CLOCK, text=jump))
    elif (ramp := ramp_of(table, sides=sides, loop=loop)) is not None:
        found.append(Symptom(trap=RAMP, text=ramp))
    return found


def clock_jump(start_s: FloatArray, latency_s: FloatArray) -> str | None:
    """Return how far the clock jumped; ``None``: it did not.

    Args:
        start_s, latency_s: in the order of the file, shapes (n,), n > 1.
    """
    # Tools write rows when answers come, or sort them by start: one of the two orders is kept. Threads that were
    # held up write some rows late, among others; behind a clock that was set back, all rows are behind.
    back_s = np.minimum(*(np.maximum.accumulate(at) - at for at in (start_s, start_s + latency_s)))
    if _longest(back_s > _BACKWARDS_S) >= _FEWEST_BEHIND:
        most = plain(float(back_s.max()))
        return f"time stamps run backwards by {most} s: a clock was set, or runs were joined in one file"
    order = np.argsort(start_s, kind="stable")
    start = start_s[order]
    busy_until = np.maximum.accumulate(start + latency_s[order])
    gap_s = float((start[1:] - busy_until[:-1]).max())
    if gap_s > max(_GAP_S, _GAPS * float(np.median(np.diff(start)))):
        return f"nothing was sent or answered for {plain(gap_s)} s: a clock was set, or the machine slept"
    return None


def _longest(flags: npt.NDArray[np.bool_]) -> int:
    """The longest stretch of flags that are set, shape (n,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return int(np.diff(edges)[::2].max()) if len(edges) else 0


def ramp_of(table: RequestTable, *, sides: JtlSides | None, loop: Kind) -> str | None:
    """Return what the first requests have that the later ones have not; ``None``: nothing, or too few requests."""
    if table.n_requests < FEWEST_FOR_RAMP:
        return None
    order = np.argsort(table.start_epoch_s, kind="stable")
    start, latency, ok = table.start_epoch_s[order], table.latency_s[order], table.ok[order]
    span_s = float(start[-1] - start[0])
    if span_s <= 0:
        return None
    place = np.minimum(((start - start[0]) / span_s * _SLICES).astype(np.int64), _SLICES - 1)
    counts = np.bincount(place, minlength=_SLICES)
    usual = float(np.median(counts[_FIRST:]))
    first = float(counts[:_FIRST].mean())
    if first < _SLOW_START * usual:
        per_s = _SLICES / span_s
        return f"begins with {plain(first * per_s)} requests/s and goes on with {plain(usual * per_s)}"
    if loop == "closed" and sides is not None and sides.all_threads is not None:
        users = sides.all_threads
        most = float(np.nanmax(users)) if np.isfinite(users).any() else 0.0
        full = np.flatnonzero(users >= _ALL_USERS * most)
        if most and (until_s := float(sides.start_s[full[0]] - start[0])) > _LONGEST_RAMP * span_s:
            return f"takes {plain(until_s)} s to reach all of its {most:.0f} users"
    cold, warm = latency[ok & (place < _FIRST)], latency[ok & (place >= _SLICES // 2)]
    if len(cold) and len(warm) and np.median(cold) > _COLD_START * np.median(warm) > 0:
        times = plain(float(np.median(cold) / np.median(warm)), 2)
        return f"its first tenth has {times} times the p50 of its second half: the warm-up is included"
    return None
