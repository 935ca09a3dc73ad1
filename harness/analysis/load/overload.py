# SPDX-License-Identifier: Apache-2.0
"""What a load did to a service that could not bear it: backlog, drain, recovery.

Overload is a result, not a broken measurement, so these functions take every trial that has requests,
excluded ones too. All of it follows from when each request began and how long it took.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.inputs import Floats, finite
from harness.errors import InputError
from harness.model.base import Frozen

#: Recovered: the backlog is down to this share of its highest, or to the one request that is no queue.
RECOVERED_SHARE = 0.1


class Overload(Frozen):
    """One trial's requests as a queue. Times in seconds."""

    n_requests: int
    n_errors: int
    arriving_s: float = Field(description="first to last start")
    highest_backlog: int = Field(description="most requests under way at once")
    left_at_last_arrival: int = Field(description="under way when the last request began, itself included")
    drain_s: float = Field(description="from the last start to the last end: queueing after the load stopped")
    recovery_s: float | None = Field(
        description="from the highest backlog until a tenth of it is left for good; None: it was never more than one"
    )


def backlog(start_s: ArrayLike, latency_s: ArrayLike, at_s: ArrayLike) -> Floats:
    """Return how many requests are under way at each moment, shape of ``at_s``.

    A request is under way from its start, included, to its end, excluded.
    """
    start, latency = _requests(start_s, latency_s)
    at = finite(at_s, "at_s")
    begun = np.searchsorted(np.sort(start), at, side="right")
    ended = np.searchsorted(np.sort(start + latency), at, side="right")
    return (begun - ended).astype(np.float64)


def overload(start_s: ArrayLike, latency_s: ArrayLike, ok: ArrayLike) -> Overload:
    """Return what one trial's requests say of its queue.

    Args:
        start_s, latency_s: shape (n,), of every request, errors included. ok: shape (n,), bool.

    Raises:
        InputError: no request, lengths that differ, or a latency below zero.
    """
    start, latency = _requests(start_s, latency_s)
    right = np.asarray(ok, dtype=np.bool_)
    if right.shape != start.shape:
        raise InputError("one verdict per request", found=f"{right.shape}", allowed=f"{start.shape}")
    end = start + latency
    moments = np.unique(np.concatenate([start, end]))
    under_way = backlog(start, latency, moments)
    last = float(start.max())
    return Overload(
        n_requests=start.size,
        n_errors=int(np.count_nonzero(~right)),
        arriving_s=last - float(start.min()),
        highest_backlog=int(under_way.max()),
        left_at_last_arrival=int(backlog(start, latency, [last])[0]),
        drain_s=max(0.0, float(end.max()) - last),
        recovery_s=_recovery_s(moments, under_way),
    )


def _recovery_s(moments: Floats, under_way: Floats) -> float | None:
    highest = float(under_way.max())
    if highest <= 1:
        return None
    peak = int(np.argmax(under_way))
    above = np.flatnonzero(under_way > max(1.0, RECOVERED_SHARE * highest))
    return float(moments[int(above[-1]) + 1] - moments[peak])  # at the last moment nothing is under way


def _requests(start_s: ArrayLike, latency_s: ArrayLike) -> tuple[Floats, Floats]:
    start, latency = finite(start_s, "start_s"), finite(latency_s, "latency_s")
    if start.shape != latency.shape:
        raise InputError("one latency per start", found=f"{latency.shape}", allowed=f"{start.shape}")
    if (latency < 0).any():
        raise InputError("a latency is never negative", found=float(latency.min()), allowed="0 or more")
    return start, latency
