# SPDX-License-Identifier: Apache-2.0
"""Which cause stands behind one slow request, and behind one stall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from harness.analysis.attribution.bounded_causes import Beside, covered_mostly
from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.request_overlap import attribute_latency
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import ORDER, CauseName, Span
from harness.analysis.stats.inputs import by_start
from harness.formats.arrays import FloatArray

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
    if not stalls or not (connect_s > 0).any():  # connections that stay open are the rule
        return (False,) * len(stalls)
    taken_s = attribute_latency(start_s, latency_s, {}, connect_s=connect_s)["connect"]
    start, latency, taken = by_start(start_s, latency_s, taken_s)
    ordinary_s, longest_s = np.median(latency), float(latency.max())
    found = []
    for stall in stalls:
        near = slice(
            np.searchsorted(start, stall.start_s - longest_s),
            np.searchsorted(start, stall.end_s, side="right"),
        )
        its = start[near] + latency[near] >= stall.start_s
        beyond = np.maximum(latency[near][its] - ordinary_s, 0.0)
        found.append(bool(2 * taken[near][its].sum() > beyond.sum()))
    return tuple(found)
