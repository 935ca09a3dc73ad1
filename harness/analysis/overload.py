# SPDX-License-Identifier: Apache-2.0
"""What a load did to a service that could not bear it: errors by kind, backlog, drain, recovery.

Overload is a result, not a broken measurement, so these functions take every trial that has requests,
excluded ones too. All of it follows from when each request began and how long it took.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.inputs import Floats, finite
from harness.errors import InputError
from harness.model.base import Frozen

ErrorKind = Literal["refused", "timeout", "server", "client", "wrong_answer", "other"]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
#: Recovered: the backlog is down to this share of its highest, or to the one request that is no queue.
RECOVERED_SHARE = 0.1
#: What tools call things, in lower case; the first row that fits counts.
_WORDS: tuple[tuple[ErrorKind, tuple[str, ...]], ...] = (
    ("timeout", ("timeout", "timed out", "deadline")),
    (
        "refused",
        (
            "refused", "reset", "nohttpresponse", "connectexception", "httphostconnect", "broken pipe",
            "disconnected", "closed", "socketexception", "eof",
        ),
    ),
    ("wrong_answer", ("wrong body", "wrong answer", "no ", "check")),
)  # fmt: skip


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

    @property
    def error_share(self) -> float:
        return self.n_errors / self.n_requests


def error_kind(words: str) -> ErrorKind:
    """Return the kind of an error that a load generator names by a status, an exception, or words.

    ``refused``: no connection, or it broke before an answer; ``timeout``: none in time; ``server``: a 5xx;
    ``client``: a 4xx; ``wrong_answer``: a whole answer that is not the right one.
    """
    said = words.strip().lower()
    status = said.removeprefix("status").strip()
    if status.isdigit() and len(status) == 3:
        if status[0] in "45":
            return "server" if status[0] == "5" else "client"
        return "wrong_answer"
    return next((kind for kind, names in _WORDS if any(name in said for name in names)), "other")


def errors_by_kind(said: Mapping[str, int]) -> dict[ErrorKind, int]:
    """Return kind -> errors, every kind in its order, from what a tool counted by its own names."""
    found: Counter[ErrorKind] = Counter()
    for words, n in said.items():
        found[error_kind(words)] += n
    return {kind: found[kind] for kind in ERROR_KINDS}


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
