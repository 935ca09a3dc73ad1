# SPDX-License-Identifier: Apache-2.0
"""The law of a closed loop, and how long users wait inside the load generator between an answer and their next request.

Users are put together from the requests: whoever has been free the longest sends next, as threads that wait for a core.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import finite
from harness.errors import InputError


def closed_loop_per_s(
    *,
    users: int,
    loops: int,
    mean_response_s: float,
    ramp_up_s: float = 0.0,
    think_time_s: float = 0.0,
    between_s: float = 0.0,
) -> float:
    """Return the throughput of a closed plan, 1/s: N L / (R (N-1)/N + L (RT + think + between)).

    Args:
        between_s: mean time from an answer to the same user's next request beyond ``think_time_s``; 0: not known.

    Raises:
        InputError: no users or loops, a negative time, or nothing that takes any time.
    """
    times = (mean_response_s, ramp_up_s, think_time_s, between_s)
    if users < 1 or loops < 1 or not all(0 <= time < float("inf") for time in times):
        raise InputError(
            "not a plan",
            found=f"users={users}, loops={loops}, mean_response_s={mean_response_s}, ramp_up_s={ramp_up_s}",
            allowed="at least one user and loop, and finite times of 0 or more",
        )
    duration_s = ramp_up_s * (users - 1) / users + loops * (mean_response_s + think_time_s + between_s)
    if duration_s <= 0:
        raise InputError(
            "a plan that takes no time", found="0 s", allowed="a mean response or a ramp above 0"
        )
    return users * loops / duration_s


def time_between(
    start_s: ArrayLike,
    latency_s: ArrayLike,
    *,
    users: int,
    requests_each: int | None = None,
    ramp_up_s: float = 0.0,
) -> float | None:
    """Return the mean time between an answer and the same user's next request; ``None``: no user sent a second one.

    Args:
        start_s, latency_s: of every request, wrong answers too, shapes (n,), any order.
        users: who start evenly over ``ramp_up_s``. requests_each: after so many a user is done; ``None``: none is.

    Raises:
        InputError: no user, lengths that differ, or more requests than these users send.
    """
    start, latency = finite(start_s, "start_s"), finite(latency_s, "latency_s")
    if users < 1 or start.size != latency.size or start.size == 0:
        raise InputError(
            "no closed load",
            found=f"{users} users, {start.size} starts, {latency.size} latencies",
            allowed="one user or more, and a latency for each start",
        )
    if requests_each is not None and start.size > users * requests_each:
        raise InputError(
            "more requests than these users send",
            found=start.size,
            allowed=f"at most {users * requests_each}",
        )
    order = np.argsort(start, kind="stable")
    begins = (start[order] - start[order[0]]).tolist()
    ends = (start[order] - start[order[0]] + latency[order]).tolist()
    # (free since, number of the user, requests so far); sorted as it is, so it is a heap
    free = [(ramp_up_s * user / users, user, 0) for user in range(users)]
    waited_s, n_gaps = 0.0, 0
    for begin, end in zip(begins, ends, strict=True):
        since, user, n_sent = free[0]
        if n_sent:
            waited_s += begin - since
            n_gaps += 1
        if n_sent + 1 == requests_each:
            heapq.heappop(free)
        else:
            heapq.heapreplace(free, (end, user, n_sent + 1))
    return max(waited_s / n_gaps, 0.0) if n_gaps else None
