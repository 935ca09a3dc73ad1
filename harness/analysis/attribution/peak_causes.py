# SPDX-License-Identifier: Apache-2.0
"""Which cause stands behind one slow request, and behind one stall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from harness.analysis.attribution.bounded_causes import Beside, covered_mostly
from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.request_overlap import attribute_latency
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import ORDER, CauseName, Span

FloatArray = npt.NDArray[np.float64]

#: A stall and a pause belong together when they touch within this.
TOLERANCE_S = 0.005


def peak_causes(
    start_s: FloatArray,
    latency_s: FloatArray,
    events: Mapping[CauseName, Sequence[Span]],
    *,
    from_s: float,
    connect_s: FloatArray | None = None,
) -> list[str | None]:
    """Return the cause of each request that took ``from_s`` or longer: what took the largest part of the time
    beyond the median, or ``unexplained``; ``None`` for those below.

    Args:
        connect_s: as ``attribute_latency`` takes it.
    """
    taken = attribute_latency(start_s, latency_s, events, connect_s=connect_s)
    names = [*taken, "unexplained"]
    beyond = np.maximum(latency_s - np.median(latency_s), 0.0)
    left = np.maximum(beyond - np.sum(list(taken.values()), axis=0), 0.0) if taken else beyond
    largest = np.argmax(np.stack([*taken.values(), left]), axis=0)
    return [names[k] if long else None for k, long in zip(largest, latency_s >= from_s, strict=True)]


def stall_causes(
    stalls: Sequence[Stall],
    events: Mapping[CauseName, Sequence[Span]],
    *,
    beside: Iterable[Beside] = (),
    connecting: Sequence[bool] | None = None,
) -> tuple[str, ...]:
    """Return the cause of each stall: the first in ``ORDER`` that claims it, else ``unexplained``.

    A pause claims a stall that it touches, one each; what went on beside the program claims those of which
    it covers most with what stands out.

    Args:
        connecting: of each stall, whether connecting claims it; ``None``: times to connect are not known.
    """
    spans = [(stall.start_s, stall.end_s) for stall in stalls]
    claims: dict[CauseName, set[int]] = {
        cause: {found for found, _ in match_events(spans, events[cause], tolerance_s=TOLERANCE_S).pairs}
        for cause in events
    }
    for one in beside:
        covered = covered_mostly(spans, one.standing_out)
        claims.setdefault(one.cause, set()).update(k for k, is_covered in enumerate(covered) if is_covered)
    if connecting is not None:
        claims["connect"] = {k for k, is_its in enumerate(connecting) if is_its}
    named = ["unexplained"] * len(stalls)
    for cause in reversed([cause for cause in ORDER if cause in claims]):
        for k in claims[cause]:
            named[k] = cause
    return tuple(named)


def connecting_stalls(
    stalls: Sequence[Stall], start_s: FloatArray, latency_s: FloatArray, connect_s: FloatArray
) -> tuple[bool, ...]:
    """Return of each stall whether connecting took most of what its requests took beyond the median.

    Its requests are those under way in it.
    """
    taken = attribute_latency(start_s, latency_s, {}, connect_s=connect_s)["connect"]
    beyond = np.maximum(latency_s - np.median(latency_s), 0.0)
    order = np.argsort(start_s, kind="stable")
    start, end = start_s[order], (start_s + latency_s)[order]
    longest_s = float(latency_s.max(initial=0.0))
    found = []
    for stall in stalls:
        low = np.searchsorted(start, stall.start_s - longest_s)
        high = np.searchsorted(start, stall.end_s, side="right")
        its = order[low:high][end[low:high] >= stall.start_s]
        found.append(bool(2 * taken[its].sum() > beyond[its].sum()))
    return tuple(found)
