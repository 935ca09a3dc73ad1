# SPDX-License-Identifier: Apache-2.0
"""Spans of time (begin, end) in seconds, the causes of pauses, and every request's life with the pauses laid over
it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from harness.analysis.stats.inputs import starts_and_latencies
from harness.errors import InputError
from harness.formats.arrays import FloatArray

Span = tuple[float, float]

CauseName = Literal[
    "gc_pause", "allocation_stall", "other_safepoint", "cgroup_throttle", "generator_stall", "jit", "connect",
    "run_queue",
]  # fmt: skip
#: Where spans of two causes overlap, the time belongs to the earlier name.
ORDER: tuple[CauseName, ...] = get_args(CauseName)
#: Spans in time order by what caused them.
Paused = dict[CauseName, tuple[Span, ...]]


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the union of spans as spans that do not touch, in time order."""
    union: list[Span] = []
    for low, high in sorted(spans):
        if union and low <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], high))
        else:
            union.append((low, high))
    return tuple(union)


def inside(events: Mapping[CauseName, Sequence[Span]], window: Span) -> Paused:
    """Return the spans that touch the window, of every cause; of some there may be none."""
    return {
        cause: tuple(span for span in spans if span[1] >= window[0] and span[0] <= window[1])
        for cause, spans in events.items()
    }


def under_way_in(
    start: FloatArray, end: FloatArray, low: FloatArray, high: FloatArray
) -> npt.NDArray[np.bool_]:
    """Return which requests (by start) were under way in one of the spans [low, high] (both ascending), shape (n,)."""
    # The first span that had not ended when a request began: the only one that its end has to be held against.
    places = np.searchsorted(start, high, side="right")
    return np.asarray(end >= np.repeat(np.append(low, np.inf), np.diff(places, prepend=0, append=len(start))))


#: A wake ends at one of these, in lengths of its pause; the last one is that of a service 97 % busy.
_LENGTHS = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0])
#: Requests between two of them that are needed to tell; with fewer, more is taken together.
_FEW = 50
#: Who is clear decides what is slow, and what is slow decides who is clear: asked again so often.
_ROUNDS = 3
#: Fewer clear requests than this, and they tell nothing new.
_FEWEST_CLEAR = 100


def in_wake(start: FloatArray, latency: FloatArray, paused: FloatArray, spans: Sequence[Span]) -> Mask:
    """Return which requests started in a pause, or in the backlog behind it; those that it caught do not count."""
    behind = np.zeros(len(start), dtype=bool)
    if not spans or not len(start):
        return behind
    own = latency - paused
    low, end = np.array(spans, dtype=np.float64).T
    since, where = _since_pause(start, low, end)
    clear = paused == 0
    clear = clear if clear.any() else ~clear
    for _ in range(_ROUNDS):
        high = np.quantile(own[clear], 0.75)
        lengths = _drained_after(since, own[where] > high, float(np.mean(own[clear] > high)))
        # more backlogs have begun than have ended
        ends = np.sort(end + lengths * (end - low))
        behind = np.searchsorted(low, start, side="right") > np.searchsorted(ends, start, side="left")
        clear = ~behind
        if np.count_nonzero(clear) < _FEWEST_CLEAR:
            break
    return behind


def _since_pause(
    start: FloatArray, low: FloatArray, end: FloatArray
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """How long after the pause before it each request started, in lengths of that pause, ascending; and which."""
    last = np.searchsorted(end, start, side="right") - 1
    where = np.flatnonzero((last >= 0) & (start < np.append(low, np.inf)[last + 1]))
    pause = last[where]
    since = (start[where] - end[pause]) / np.maximum(end[pause] - low[pause], 1e-9)
    near = np.flatnonzero(since <= _LENGTHS[-1])
    order = near[np.argsort(since[near], kind="stable")]
    return since[order], where[order]


def _drained_after(since: FloatArray, slow: Mask, ordinary_share: float) -> float:
    """The first of ``_LENGTHS`` from which on requests are slow no more often than an ordinary share of them."""
    n_slow = np.append(0, np.cumsum(slow))
    edges = np.searchsorted(since, _LENGTHS)
    drained, first = 0.0, 0
    for length, last in zip(_LENGTHS[1:], edges[1:], strict=True):
        n = int(last) - first
        if n < _FEW:
            continue
        noise = np.sqrt(ordinary_share * (1 - ordinary_share) / n)
        if (n_slow[last] - n_slow[first]) / n <= ordinary_share + noise:
            break
        drained, first = float(length), int(last)
    return drained


def attribute_latency(
    start_s: FloatArray,
    latency_s: FloatArray,
    events: Mapping[CauseName, Sequence[Span]],
    *,
    connect_s: FloatArray | None = None,
) -> dict[CauseName, FloatArray]:
    """Return, for each cause, the seconds that its spans took from each request, shape (n,). ``connect_s``: time to
    connect, shape (n,), NaN: not known. What goes beyond its median is the cause ``connect``. Raises InputError: shapes
    differ, a cause is not one of ``ORDER``, a span is none, or ``connect`` is told twice. A moment that several causes
    claim belongs to the first of them in ``ORDER``, and only then to connecting."""
    start, latency = starts_and_latencies(start_s, latency_s)
    unknown = set(events) - set(ORDER)
    if unknown:
        raise InputError("unknown cause", found=sorted(unknown), allowed=", ".join(ORDER))
    if connect_s is not None and ("connect" in events or len(connect_s) != len(start)):
        times = f"{len(connect_s)} times{' and spans' if 'connect' in events else ''}"
        why = "times to connect are one for each request, and stand instead of spans"
        raise InputError(why, found=times, allowed=f"{len(start)} times")
    for cause, spans in events.items():
        for span in spans:
            if not -np.inf < span[0] <= span[1] < np.inf:
                raise InputError(f"a span of {cause} ends before it starts, or is not finite", found=span)
    taken: tuple[Span, ...] = ()
    result: dict[CauseName, FloatArray] = {}
    before = np.zeros_like(start)
    for cause in ORDER:
        if cause in events:
            taken = joined([*taken, *events[cause]])
            total = _overlap(start, start + latency, taken)
            result[cause] = total - before
            before = total
    if connect_s is not None:
        known = np.clip(np.nan_to_num(connect_s), 0.0, latency)
        known_s = connect_s[np.isfinite(connect_s)]
        # with kept connections it is 0; where every arrival connects anew, it is part of an ordinary request
        usual_s = float(np.median(known_s)) if len(known_s) else 0.0
        more = np.flatnonzero(known > usual_s)
        begin, end = start[more], start[more] + known[more]
        own = np.zeros_like(start)
        own[more] = np.clip(known[more] - _overlap(begin, end, taken) - usual_s, 0.0, None)
        result["connect"] = own
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


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class RequestOverlap:
    """What all quantiles share. Arrays of shape (n,), in seconds. ``paused``: by what stopped everybody; ``unpaused``:
    the latency without that and without its own connecting; ``wake``: started in a pause, or in the backlog behind
    it."""

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
    start: FloatArray, latency: FloatArray, events: Mapping[CauseName, Sequence[Span]], *,
    connect_s: FloatArray | None = None,
) -> RequestOverlap:  # fmt: skip
    """Lay the spans of ``events`` over requests; arguments and errors as of ``attribute_latency``."""
    by_cause = attribute_latency(start, latency, events, connect_s=connect_s)
    nothing = np.zeros_like(start)
    paused = sum((taken for cause, taken in by_cause.items() if cause in events), start=nothing)
    spans = joined([span for cause in events for span in events[cause]])
    return RequestOverlap(
        start=start, latency=latency, by_cause=by_cause, events=events, spans=spans, paused=paused,
        unpaused=latency - sum(by_cause.values(), start=nothing), wake=in_wake(start, latency, paused, spans),
    )  # fmt: skip
