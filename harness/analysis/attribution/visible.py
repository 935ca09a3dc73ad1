# SPDX-License-Identifier: Apache-2.0
"""The shortest stall that one trial's requests can show, and how much each stall took from them.

Two things keep a stall from being told: the latency that is ordinary in the trial, and the short stops that the
scheduler of a real machine makes all the time. Both are taken from the trial itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.analysis.attribution.request_overlap import attribute_latency
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import CauseName, Span, under_way_in
from harness.analysis.attribution.stalls import detectability_limit
from harness.analysis.stats.inputs import by_start
from harness.formats.arrays import BoolArray, FloatArray

#: Fewer short stalls than this say nothing of how long they become by chance.
_FEWEST_SHORT = 10
#: So many stalls a minute that are jitter may be as long as the limit.
_JITTER_PER_MINUTE = 0.5


def shortest_visible_s(
    start_s: FloatArray,
    latency_s: FloatArray,
    stalls: Sequence[Stall],
    known: Mapping[CauseName, Sequence[Span]],
) -> float | None:
    """Return the ``detectability_limit`` of one trial in seconds; ``None``: its requests began at one moment.

    Requests that a known pause or a stall above the limit touched are not ordinary. The shorter stalls
    are: on a busy machine the scheduler alone makes some, and they set the limit. It is the lowest limit
    that agrees with itself in this way. Where the shorter stalls are many, it is no lower than what such stalls
    reach by themselves (:func:`jitter_reach_s`).

    Args:
        start_s: when each request was sent, shape (n,), n > 0. latency_s: how long each took, shape (n,).
        stalls: what ``detect_stalls`` found. known: pauses of the runtime's log, on the same clock.
    """
    start_s, latency_s = by_start(start_s, latency_s)
    end_s = start_s + latency_s
    window_s = float(end_s.max() - start_s.min())
    if window_s <= 0:
        return None
    paused = np.zeros(len(start_s), dtype=np.bool_)
    if any(known.values()):
        for taken_s in attribute_latency(start_s, latency_s, known).values():
            paused |= taken_s > 0
    rate_per_s = len(start_s) / window_s
    above = sorted(stalls, key=lambda stall: stall.start_s)
    while True:
        clear = latency_s[~(paused | _touched(start_s, end_s, above))]
        ordinary = float(np.quantile(clear if len(clear) else latency_s, 0.99))
        # A tool's zero is a latency below its resolution.
        limit_s = detectability_limit(rate_per_s, max(ordinary, 1e-9))
        left = [stall for stall in above if stall.duration_s >= limit_s]
        if len(left) == len(above):
            break
        above = left
    # Once only: with a limit that it raised itself, pauses that have a cause would be counted as jitter, too.
    return max(limit_s, jitter_reach_s([one.duration_s for one in stalls], limit_s, window_s))


def jitter_reach_s(durations_s: Sequence[float], limit_s: float, window_s: float) -> float:
    """Return which length the short stalls of a trial exceed half a time a minute, in seconds; 0: they are few.

    Their lengths beyond the shortest are taken for exponential and cut off at the limit, which is what those that
    are listed are: the mean of the whole law is found from the mean of the part below it. Pauses with a cause are as
    a rule longer than the limit, and do not enter.

    Args:
        durations_s: of all stalls. limit_s: those shorter than this are jitter. window_s: length of the trial.
    """
    short = np.sort([one for one in durations_s if one < limit_s])
    if len(short) < _FEWEST_SHORT:
        return 0.0
    least, cut = float(short[0]), limit_s - float(short[0])
    mean = _uncut_mean(float(short[1:].mean()) - least, cut)
    per_minute = len(short) / (window_s / 60) / -np.expm1(-cut / mean)
    return least + mean * float(np.log(max(per_minute / _JITTER_PER_MINUTE, 1.0)))


def _uncut_mean(seen: float, cut: float) -> float:
    """Return the mean of an exponential law whose part below ``cut`` has the mean ``seen``; at most ``cut`` itself."""
    if seen <= 0:
        return 1e-9
    low, high = seen, max(cut, seen)
    for _ in range(60):
        middle = (low + high) / 2
        part = middle - cut / float(np.expm1(min(cut / middle, 700.0)))
        low, high = (middle, high) if part < seen else (low, middle)
    return high


def harm_of(start_s: FloatArray, latency_s: FloatArray, stalls: Sequence[Stall]) -> FloatArray:
    """Return the seconds that each stall took from requests, shape (stalls,): beyond the median latency, of those that
    were under way in it. A request that met two stalls counts in both.

    Args:
        start_s: when each request was sent, shape (n,). latency_s: how long each took, shape (n,).
    """
    if not stalls:
        return np.zeros(0)
    start, latency = by_start(start_s, latency_s)
    ordinary_s, longest_s = np.median(latency), float(latency.max())
    found = []
    for stall in stalls:
        near = slice(
            np.searchsorted(start, stall.start_s - longest_s),
            np.searchsorted(start, stall.end_s, side="right"),
        )
        under_way = latency[near][start[near] + latency[near] >= stall.start_s]
        found.append(float(np.maximum(under_way - ordinary_s, 0.0).sum()))
    return np.array(found)


def _touched(start_s: FloatArray, end_s: FloatArray, stalls: Sequence[Stall]) -> BoolArray:
    """Which requests were outstanding in a stall, or for as long after it, while its backlog was answered."""
    if not stalls:
        return np.zeros(len(start_s), dtype=np.bool_)
    low = np.array([stall.start_s for stall in stalls])
    high = np.maximum.accumulate(np.array([stall.end_s + stall.duration_s for stall in stalls]))
    return under_way_in(start_s, end_s, low, high)
