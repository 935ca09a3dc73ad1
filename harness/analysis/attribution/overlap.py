# SPDX-License-Identifier: Apache-2.0
"""Every request's life laid over the pauses: what each cause took from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from harness.analysis.attribution.spans import ORDER, CauseName, Span, joined
from harness.analysis.stats.inputs import starts_and_latencies
from harness.errors import InputError

FloatArray = npt.NDArray[np.float64]


def attribute_latency(
    start_s: FloatArray,
    latency_s: FloatArray,
    events: Mapping[CauseName, Sequence[Span]],
    *,
    connect_s: FloatArray | None = None,
) -> dict[CauseName, FloatArray]:
    """Return, for each cause, the seconds that its spans took from each request, shape (n,).

    A moment that several causes claim belongs to the first of them in ``ORDER``.

    Args:
        connect_s: how long each request took to connect, at the head of its latency, shape (n,), NaN where that is
            not known; ``None``: nobody recorded it. What goes beyond the median of it is the cause ``connect``.

    Raises:
        InputError: shapes differ, a cause is not one of ``ORDER``, a span is none, or ``connect`` is told twice.
    """
    start, latency = starts_and_latencies(start_s, latency_s)
    unknown = set(events) - set(ORDER)
    if unknown:
        raise InputError("unknown cause", found=sorted(unknown), allowed=", ".join(ORDER))
    if connect_s is not None and ("connect" in events or len(connect_s) != len(start)):
        raise InputError(
            "times to connect are one for each request, and stand instead of spans",
            found=f"{len(connect_s)} times{' and spans' if 'connect' in events else ''}",
            allowed=f"{len(start)} times",
        )
    for cause, spans in events.items():
        for low, high in spans:
            if not -np.inf < low <= high < np.inf:
                raise InputError(
                    f"a span of {cause} ends before it starts, or is not finite", found=(low, high)
                )
    taken: tuple[Span, ...] = ()
    result: dict[CauseName, FloatArray] = {}
    begin, end = start, start + latency
    before = np.zeros_like(start)
    for cause in ORDER:
        if cause == "connect" and connect_s is not None:
            known = np.clip(np.nan_to_num(connect_s), 0.0, latency)
            result[cause] = _connecting(start, known, taken, ordinary_connect_s(connect_s))
            if "run_queue" in events:  # the one cause that comes after it
                begin = start + np.where(result[cause] > 0, known, 0.0)
                before = _overlap(begin, end, taken)
        if cause not in events:
            continue
        taken = joined([*taken, *events[cause]])
        total = _overlap(begin, end, taken)
        result[cause] = total - before
        before = total
    return result


def ordinary_connect_s(connect_s: FloatArray) -> float:
    """Return the median time to connect of the requests of which it is known; 0 when it is of none.

    With kept connections it is 0; where every arrival connects anew, connecting is part of an ordinary request.
    """
    known = connect_s[np.isfinite(connect_s)]
    return float(np.median(known)) if len(known) else 0.0


def _connecting(
    start: FloatArray, connect: FloatArray, taken: Sequence[Span], ordinary_s: float
) -> FloatArray:
    """What connecting took from each request beyond the ordinary, and no earlier cause claims."""
    more = np.flatnonzero(connect > ordinary_s)  # few, where connections are kept
    beyond, begin = connect[more], start[more]
    own = np.zeros_like(start)
    own[more] = np.clip(beyond - _overlap(begin, begin + beyond, taken) - ordinary_s, 0.0, None)
    return own


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
