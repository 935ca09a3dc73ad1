# SPDX-License-Identifier: Apache-2.0
"""When wrk2's requests are due, and how many of them were never sent.

Each connection has an equal share of the rate and a schedule of its own, which begins when the connection is opened.
wrk2 opens those of a thread 5 ms apart, so the later ones have less time: 100 connections of two threads get about
half a per cent fewer requests in 20 s than rate times duration. These were never due.
"""

from __future__ import annotations

import math

from harness.model import OpenLoad

#: From the opening of one connection of a thread to that of the next.
APART_MS = 5


def n_due(profile: OpenLoad, n_threads: int) -> int:
    """Return how many requests the connections' schedules have before the load's end."""
    connections = profile.connections // n_threads
    rate_per_s, lasts_ms = int(profile.rate_per_s), int(profile.duration_s) * 1000
    each = [
        -(-max(0, lasts_ms - APART_MS * place) * rate_per_s // (1000 * connections * n_threads))
        for place in range(connections)
    ]
    return n_threads * sum(each)


def n_under_way(profile: OpenLoad, achieved_per_s: float, latency_mean_s: float | None) -> int:
    """Return how many requests had been sent and not answered when the load ended, by Little's law.

    A connection waits for its answer, so there are never more of them than connections.
    """
    if latency_mean_s is None:
        return 0
    return min(profile.connections, math.ceil(achieved_per_s * latency_mean_s))


def n_never_sent(
    profile: OpenLoad, n_threads: int, n_requests: int, achieved_per_s: float, latency_mean_s: float | None
) -> int:
    """Return how many requests were due and not sent, because their connection was still waiting."""
    sent = n_requests + n_under_way(profile, achieved_per_s, latency_mean_s)
    return max(0, n_due(profile, n_threads) - sent)
