# SPDX-License-Identifier: Apache-2.0
"""The shortest stall that one trial's requests can show, against the latency that is ordinary in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from harness.analysis.attribution.request_overlap import attribute_latency
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import CauseName, Span
from harness.analysis.attribution.stalls import detectability_limit

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def shortest_visible_s(
    start_s: FloatArray,
    latency_s: FloatArray,
    stalls: Sequence[Stall],
    known: Mapping[CauseName, Sequence[Span]],
) -> float | None:
    """Return the ``detectability_limit`` of one trial in seconds; ``None``: its requests began at one moment.

    Requests that a known pause or a stall above the limit touched are not ordinary. The shorter stalls
    are: on a busy machine the scheduler alone makes some, and they set the limit. It is the lowest limit
    that agrees with itself in this way.

    Args:
        start_s: when each request was sent, shape (n,), n > 0. latency_s: how long each took, shape (n,).
        stalls: what ``detect_stalls`` found. known: pauses of the runtime's log, on the same clock.
    """
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
            return limit_s
        above = left


def _touched(start_s: FloatArray, end_s: FloatArray, stalls: Sequence[Stall]) -> BoolArray:
    """Which requests were outstanding in a stall, or for as long after it, while its backlog was answered."""
    if not stalls:
        return np.zeros(len(start_s), dtype=np.bool_)
    low = np.array([stall.start_s for stall in stalls])
    high = np.maximum.accumulate(np.array([stall.end_s + stall.duration_s for stall in stalls]))
    return np.asarray(np.searchsorted(high, start_s) < np.searchsorted(low, end_s, side="right"))
