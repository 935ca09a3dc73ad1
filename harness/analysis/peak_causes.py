# SPDX-License-Identifier: Apache-2.0
"""Which pause stands behind one slow request, and behind one stall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from harness.analysis.matching import match_events
from harness.analysis.overlap import attribute_latency
from harness.analysis.slow_periods import Stall
from harness.analysis.spans import ORDER, CauseName, Span

FloatArray = npt.NDArray[np.float64]

#: A stall and a pause belong together when they touch within this.
TOLERANCE_S = 0.005


def peak_causes(
    start_s: FloatArray, latency_s: FloatArray, events: Mapping[CauseName, Sequence[Span]], *, from_s: float
) -> list[str | None]:
    """Return the cause of each request that took ``from_s`` or longer: what took the largest part of the time
    beyond the median, or ``unexplained``; ``None`` for those below."""
    taken = attribute_latency(start_s, latency_s, events)
    names = [*taken, "unexplained"]
    beyond = np.maximum(latency_s - np.median(latency_s), 0.0)
    left = np.maximum(beyond - np.sum(list(taken.values()), axis=0), 0.0) if taken else beyond
    largest = np.argmax(np.stack([*taken.values(), left]), axis=0)
    return [names[k] if long else None for k, long in zip(largest, latency_s >= from_s, strict=True)]


def stall_causes(stalls: Sequence[Stall], events: Mapping[CauseName, Sequence[Span]]) -> tuple[str, ...]:
    """Return the cause of each stall: the first in ``ORDER`` whose span it touches, else ``unexplained``."""
    named = ["unexplained"] * len(stalls)
    spans = [(stall.start_s, stall.end_s) for stall in stalls]
    for cause in reversed([cause for cause in ORDER if cause in events]):
        for found, _ in match_events(spans, events[cause], tolerance_s=TOLERANCE_S).pairs:
            named[found] = cause
    return tuple(named)
