# SPDX-License-Identifier: Apache-2.0
"""Several runs in one file: JMeter appends to a file that is there, and people join files.

Between two runs nothing is in flight for long. A tool that writes times since its own start begins again near zero.
Rows of generators that ran at once overlap in time: they are one run, in whatever order they stand in the file.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.formats.arrays import BoolArray, CodeArray, FloatArray
from harness.model import Frozen
from harness.model.digits import plain

#: A gap is a jump where nothing was sent or answered for this long, and for so many usual gaps.
GAP_S, GAPS = 5.0, 100.0
#: The shortest jump is so many times longer than the longest gap that is none: users who began together and think for
#: a while leave gaps that grow shorter from one to the next, and no such step.
_APART = 3.0
#: So many gaps whose lengths differ by less than this share are a plan.
_MANY, _ALIKE = 5, 0.5
#: A clock that runs backwards by less may be the order in which threads write.
_BACKWARDS_S = 2.0
#: So many rows in a row are behind others: no longer the order in which threads write.
_FEWEST_BEHIND = 20
#: Rows that stand in the order of something else go back more often than this, as a share: of a whole file, and of
#: the rows behind a later one.
_ELSEWHERE, _ELSEWHERE_BEHIND = 0.1, 0.02
#: Times since a start that begin again lie below this share of the greatest before them, and so far below.
_AGAIN, _AGAIN_S = 0.2, 0.2


class RunPart(Frozen):
    """One of several runs in a file."""

    start_epoch_s: float | None = Field(description="None: times count from the tool's own start")
    duration_s: float
    requests: int
    errors: int
    throughput_per_s: float | None = Field(description="answers per second, errors included")


def runs_of(
    start_s: FloatArray, latency_s: FloatArray, ok: BoolArray, *, from_zero: bool
) -> tuple[RunPart, ...]:
    """Return the runs in the order of time, or of the file where its times begin again.

    ``start_s``, ``latency_s`` and ``ok``: in the order of the file, shapes (n,), n > 0. ``from_zero``: times are
    since the tool's own start.
    """
    if from_zero:
        inner = restarts(start_s, latency_s)
        start, end, right = start_s, start_s + latency_s, ok
    else:
        order = np.argsort(start_s, kind="stable")
        start, end, right = start_s[order], start_s[order] + latency_s[order], ok[order]
        gaps_s = _gaps_s(start, end)
        inner = (
            (np.flatnonzero(gaps_s > _longest_usual_gap_s(start, gaps_s)) + 1).tolist() if len(gaps_s) else []
        )
    edges = [slice(low, high) for low, high in pairwise([0, *inner, len(start)])]
    pauses = np.array([start[after].min() - end[before].max() for before, after in pairwise(edges)])
    if not from_zero and len(pauses) >= _MANY and np.ptp(pauses) <= _ALIKE * np.median(pauses):
        edges = [slice(0, len(start))]  # pauses of one length are part of the load: requests come in bursts
    return tuple(_part(start[some], end[some], right[some], from_zero=from_zero) for some in edges)


def restarts(start_s: FloatArray, latency_s: FloatArray) -> list[int]:
    """Return the places at which times since a start begin again; none in a file that was sorted by something else.

    ``start_s`` and ``latency_s``: in the order of the file, shapes (n,), n > 0.
    """
    if start_s[-1] < start_s[0] or _share_back(start_s, latency_s, _AGAIN_S) > _ELSEWHERE:
        return []
    results: list[int] = []
    low = 0
    while low < len(start_s):
        most = np.maximum.accumulate(start_s[low:])
        behind = (start_s[low:] < _AGAIN * most) & (most - start_s[low:] > _AGAIN_S)
        # One late row is no new run: those that follow must lie before the greatest time, too.
        few = min(_FEWEST_BEHIND, max(1, (len(start_s) - low) // 4))
        before = np.convolve(start_s[low:] < most, np.ones(few), mode="valid") == few
        places = np.flatnonzero(behind[: len(before)] & before)
        if not len(places):
            return results
        low += int(places[0])
        results.append(low)
    return results


def clocks_apart_s(start_s: FloatArray, host: CodeArray) -> float | None:
    """Return by how much clocks of load generators differ whose rows stand side by side; ``None``: none is known to.

    ``start_s`` and ``host``: of each row in the order of the file, shapes (n,).
    """
    spans = []
    for code in np.unique(host):
        places = np.flatnonzero(host == code)
        spans.append((start_s[places].min(), start_s[places].max(), places[0], places[-1]))
    beside = (
        float(after[0] - before[0])
        for before, after in pairwise(sorted(spans))
        if after[0] - before[1] > GAP_S and before[2] < after[3] and after[2] < before[3]
    )
    return max(beside, default=None)


def _share_back(start_s: FloatArray, latency_s: FloatArray, least_s: float) -> float:
    """The share of rows that stand behind a later one, by starts or by ends: whichever the file is in the order of."""
    steps = (np.diff(at) for at in (start_s, start_s + latency_s))
    return min(float(np.mean(step < -least_s)) if len(step) else 0.0 for step in steps)


def set_back_s(start_s: FloatArray, latency_s: FloatArray) -> float:
    """Return by how much time stamps go back and then on again, in seconds; 0: nowhere. Rows in the order of something
    else (newest first, by latency) do not.

    ``start_s`` and ``latency_s``: in the order of the file, shapes (n,), n > 0.
    """
    # Tools write rows when answers come, or sort them by start: one of the two orders is kept. Threads that were
    # held up write some rows late, among others; behind a clock that was set back, all rows are behind.
    back_s = np.minimum(*(np.maximum.accumulate(at) - at for at in (start_s, start_s + latency_s)))
    behind = start_s[_longest(back_s > _BACKWARDS_S)]
    if len(behind) < _FEWEST_BEHIND or behind[-1] < behind[0]:
        return 0.0
    return float(back_s.max()) if np.mean(np.diff(behind) < -_BACKWARDS_S) <= _ELSEWHERE_BEHIND else 0.0


def clock_jump(start_s: FloatArray, latency_s: FloatArray) -> str | None:
    """Return how far the clock jumped; ``None``: it did not.

    ``start_s`` and ``latency_s``: in the order of the file, shapes (n,), n > 1.
    """
    if back_s := set_back_s(start_s, latency_s):
        return f"time stamps run backwards by {plain(back_s)} s: runs were joined in one file, or a clock was set"
    order = np.argsort(start_s, kind="stable")
    start = start_s[order]
    gaps_s = _gaps_s(start, start + latency_s[order])
    gap_s = float(gaps_s.max())
    if gap_s > _longest_usual_gap_s(start, gaps_s):
        return (
            f"nothing was sent or answered for {plain(gap_s)} s: several runs were written into one file, a clock was "
            "set, or the machine slept"
        )
    return None


def _part(start: FloatArray, end: FloatArray, ok: BoolArray, *, from_zero: bool) -> RunPart:
    n, first_s = len(start), float(start.min())
    span_s = float(end.max()) - first_s
    return RunPart(
        start_epoch_s=None if from_zero else first_s, duration_s=span_s, requests=n,
        errors=int(n - np.count_nonzero(ok)), throughput_per_s=n / span_s if span_s > 0 else None,
    )  # fmt: skip


def _longest_usual_gap_s(start: FloatArray, gaps_s: FloatArray) -> float:
    """Return the length above which a gap is a jump, from sorted starts and the gaps between requests."""
    least_s = max(GAP_S, GAPS * float(np.median(np.diff(start))))
    ordered = np.sort(gaps_s)
    jumps = np.flatnonzero((ordered > least_s) & (ordered > _APART * np.append(0.0, ordered[:-1])))
    usual = ordered[: jumps[0]] if len(jumps) else ordered
    return max(least_s, float(usual[-1])) if len(usual) else least_s


def _gaps_s(start: FloatArray, end: FloatArray) -> FloatArray:
    """How long nothing is in flight before each start but the first, which ascend; less than 0: something is."""
    return np.asarray(start[1:] - np.maximum.accumulate(end)[:-1])


def _longest(flags: npt.NDArray[np.bool_]) -> slice:
    """The longest stretch of flags that are set, shape (n,); an empty one where none is."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))).reshape(-1, 2)
    return slice(*edges[np.argmax(np.diff(edges, axis=1))].tolist()) if len(edges) else slice(0)
