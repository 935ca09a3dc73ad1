# SPDX-License-Identifier: Apache-2.0
"""Every request's life with the pauses laid over it, and what it would have been without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.analysis.attribution.overlap import attribute_latency
from harness.analysis.attribution.spans import CauseName, Span, joined
from harness.analysis.attribution.wake import in_wake

FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Lives:
    """What all quantiles share. Arrays of shape (n,), in seconds.

    ``paused``: by what stopped everybody; ``unpaused``: the latency without that, and without its own connecting;
    ``wake``: started in a pause, or in the backlog behind it.
    """

    start: FloatArray
    latency: FloatArray
    by_cause: Mapping[CauseName, FloatArray]
    events: Mapping[CauseName, Sequence[Span]]
    spans: Sequence[Span]
    paused: FloatArray
    unpaused: FloatArray
    wake: Mask

    @cached_property
    def median(self) -> float:
        """The median of the latencies as measured."""
        return float(np.median(self.latency))

    @cached_property
    def drained(self) -> FloatArray:
        """The latency without pauses, where whom a pause or its backlog touched took the median at most."""
        touched = self.wake | (self.paused > 0)
        return np.where(touched, np.minimum(self.unpaused, self.median), self.unpaused)


def lived(
    start: FloatArray,
    latency: FloatArray,
    events: Mapping[CauseName, Sequence[Span]],
    *,
    connect_s: FloatArray | None = None,
) -> Lives:
    """Lay the spans of ``events`` over requests; arguments and errors as of ``attribute_latency``."""
    by_cause = attribute_latency(start, latency, events, connect_s=connect_s)
    paused = _sum([taken for cause, taken in by_cause.items() if cause in events], start)
    spans = joined([span for cause in events for span in events[cause]])
    return Lives(
        start=start,
        latency=latency,
        by_cause=by_cause,
        events=events,
        spans=spans,
        paused=paused,
        unpaused=latency - _sum(list(by_cause.values()), start),
        wake=in_wake(start, latency, paused, spans),
    )


def _sum(taken: Sequence[FloatArray], like: FloatArray) -> FloatArray:
    return np.asarray(np.sum(taken, axis=0)) if taken else np.zeros_like(like)
