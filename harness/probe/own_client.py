# SPDX-License-Identifier: Apache-2.0
"""A load generator of threads, for where no load tool is installed: slow, and it says so by its own CPU time.

Open loop: request i is due at i / rate, and its latency counts from then, also where every connection was busy.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, field

import numpy as np

from harness.agent.http_exchange import Connection, ExchangeError
from harness.model.endpoint import Endpoint

TIMEOUT_S = 10.0
#: Threads that send at a rate: more of them would wait for each other in Python.
OPEN_CONNECTIONS = 64


@dataclass
class Sent:
    """What the threads of one load saw. ``latency_s``: of good answers; ``n_due``: requests that were to be sent."""

    latency_s: list[float] = field(default_factory=list)
    n_failed: int = 0
    n_due: int | None = None
    lasted_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def latencies(self) -> np.ndarray:
        """Shape (n,), seconds."""
        return np.array(self.latency_s, dtype=np.float64)


def closed(endpoint: Endpoint, request: bytes, *, users: int, duration_s: float) -> Sent:
    """Have ``users`` threads ask again as soon as they have their answer."""
    start_s = time.monotonic()

    def next_due() -> float | None:
        now = time.monotonic()
        return now if now - start_s < duration_s else None

    return _run(endpoint, request, users, next_due, start_s)


def open_loop(endpoint: Endpoint, request: bytes, *, rate_per_s: float, duration_s: float) -> Sent:
    """Send at a rate, over at most ``OPEN_CONNECTIONS`` connections; what cannot begin in time is never sent."""
    start_s = time.monotonic() + 0.05
    numbers = itertools.count()
    n_due = max(1, int(rate_per_s * duration_s))
    end_s = start_s + duration_s

    def next_due() -> float | None:
        number = next(numbers)  # atomic: one call into C
        due_s = start_s + number / rate_per_s
        if number >= n_due or time.monotonic() > end_s + 1.0:
            return None
        wait_s = due_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        return due_s

    sent = _run(endpoint, request, OPEN_CONNECTIONS, next_due, start_s)
    sent.n_due = n_due
    return sent


def _run(endpoint: Endpoint, request: bytes, n: int, next_due: object, start_s: float) -> Sent:
    parts = [Sent() for _ in range(n)]
    cpu_s = time.process_time()
    threads = [
        threading.Thread(target=_send, args=(endpoint, request, next_due, part), daemon=True)
        for part in parts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Sent(
        latency_s=[item for part in parts for item in part.latency_s],
        n_failed=sum(part.n_failed for part in parts),
        lasted_s=max(part.lasted_s for part in parts) - start_s,
        cpu_s=time.process_time() - cpu_s,
    )


def _send(endpoint: Endpoint, request: bytes, next_due: object, sent: Sent) -> None:
    assert callable(next_due)
    with Connection(endpoint, TIMEOUT_S) as connection:
        while (due_s := next_due()) is not None:
            try:
                answer = connection.exchange(request)
            except (ExchangeError, OSError):
                sent.n_failed += 1
                sent.lasted_s = time.monotonic()
                continue
            sent.lasted_s = answer.received_monotonic_s
            if 200 <= answer.status < 300:
                sent.latency_s.append(answer.received_monotonic_s - due_s)
            else:
                sent.n_failed += 1
