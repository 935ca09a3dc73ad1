# SPDX-License-Identifier: Apache-2.0
"""Every request's life laid over the pauses: what each cause took from it, and who started in a pause's wake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from harness.analysis.inputs import starts_and_latencies
from harness.analysis.spans import ORDER, CauseName, Span, joined
from harness.errors import InputError

FloatArray = npt.NDArray[np.float64]
#: How many requests in a row tell that the service is calm again.
_CALM = 20


def attribute_latency(
    start_s: FloatArray, latency_s: FloatArray, events: Mapping[CauseName, Sequence[Span]]
) -> dict[CauseName, FloatArray]:
    """Return, for each cause, the seconds that its spans took from each request, shape (n,).

    A moment that several causes claim belongs to the first of them in ``ORDER``.

    Raises:
        InputError: shapes differ, a cause is not one of ``ORDER``, or a span is none.
    """
    start, latency = starts_and_latencies(start_s, latency_s)
    unknown = set(events) - set(ORDER)
    if unknown:
        raise InputError("unknown cause", found=sorted(unknown), allowed=", ".join(ORDER))
    for cause, spans in events.items():
        for low, high in spans:
            if not -np.inf < low <= high < np.inf:
                raise InputError(
                    f"a span of {cause} ends before it starts, or is not finite", found=(low, high)
                )
    taken: tuple[Span, ...] = ()
    result: dict[CauseName, FloatArray] = {}
    before = np.zeros_like(start)
    for cause in ORDER:
        if cause not in events:
            continue
        taken = joined([*taken, *events[cause]])
        total = _overlap(start, start + latency, taken)
        result[cause] = total - before
        before = total
    return result


def _overlap(start: FloatArray, end: FloatArray, spans: Sequence[Span]) -> FloatArray:
    """Seconds of each [start, end] inside disjoint, ordered ``spans``: a difference of one running total."""
    if not spans:
        return np.zeros_like(start)
    edges = np.array(spans).ravel()
    lengths = edges[1::2] - edges[::2]
    total = np.zeros(len(edges))
    total[1::2] = np.cumsum(lengths)
    total[2::2] = total[1:-1:2]
    return np.asarray(np.interp(end, edges, total) - np.interp(start, edges, total))


def in_wake(
    start: FloatArray, latency: FloatArray, paused: FloatArray, spans: Sequence[Span]
) -> npt.NDArray[np.bool_]:
    """Which requests started in a pause, in the backlog behind it, or so shortly before that it caught them."""
    wake = np.zeros(len(start), dtype=bool)
    if not spans:
        return wake
    ordinary = latency[paused == 0]
    ordinary = ordinary if len(ordinary) else latency
    high, reach = np.quantile(ordinary, (0.75, 0.99))
    order = np.arange(len(start)) if (np.diff(start) >= 0).all() else np.argsort(start, kind="stable")
    starts = start[order]
    # Calm again: among the next CALM requests no more are above the upper quartile than usual.
    is_slow = np.concatenate([[0], np.cumsum((latency - paused)[order] > high)])
    n = len(starts)
    ahead = np.minimum(np.arange(n) + _CALM, n)
    calm = (is_slow[ahead] - is_slow[:n]) <= 0.25 * (ahead - np.arange(n))
    is_calm = np.append(np.flatnonzero(calm), n)
    low, end = np.array(spans).T
    first, after = np.searchsorted(starts, low - reach), np.searchsorted(starts, end)
    back = is_calm[np.searchsorted(is_calm, after)]
    for begin, until in zip(first.tolist(), back.tolist(), strict=True):
        wake[order[begin:until]] = True
    return wake
