# SPDX-License-Identifier: Apache-2.0
"""Spans of time, in seconds as (begin, end), and the causes that pauses are told apart by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from harness.formats.arrays import FloatArray

Span = tuple[float, float]

CauseName = Literal[
    "gc_pause",
    "allocation_stall",
    "other_safepoint",
    "cgroup_throttle",
    "generator_stall",
    "jit",
    "connect",
    "run_queue",
]
#: Where spans of two causes overlap, the time belongs to the earlier name.
ORDER: tuple[CauseName, ...] = get_args(CauseName)
#: Spans in time order by what caused them.
Paused = dict[CauseName, tuple[Span, ...]]


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the union of spans as spans that do not touch, in time order."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def covered_s(spans: Iterable[Span]) -> float:
    """Return how long the union of spans is, in seconds."""
    return float(sum(high - low for low, high in joined(spans)))


def inside(events: Mapping[CauseName, Sequence[Span]], window: Span) -> Paused:
    """Return the spans that touch the window, of every cause; of some there may be none."""
    return {
        cause: tuple(span for span in spans if span[1] >= window[0] and span[0] <= window[1])
        for cause, spans in events.items()
    }


def under_way_in(
    start: FloatArray, end: FloatArray, low: FloatArray, high: FloatArray
) -> npt.NDArray[np.bool_]:
    """Return which requests were under way somewhere in one of the spans [low, high], shape (n,).

    Args:
        start, end: of each request, by start, shapes (n,). low, high: of each span, both ascending, shapes (m,).
    """
    # The first span that had not ended when a request began: the only one that its end has to be held against.
    places = np.searchsorted(start, high, side="right")
    return np.asarray(end >= np.repeat(np.append(low, np.inf), np.diff(places, prepend=0, append=len(start))))
