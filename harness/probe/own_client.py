# SPDX-License-Identifier: Apache-2.0
"""A load generator of threads, for where no load tool is installed: slow, and it says so by its own CPU time.

Open loop: request i is due at i / rate, and its latency counts from then, also where every connection was busy.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.agent.http_exchange import Connection, ExchangeError
from harness.model import ClosedLoad, OpenLoad
from harness.model.endpoint import Endpoint

TIMEOUT_S = 10.0
#: Threads that send at a rate: more of them would wait for each other in Python.
OPEN_CONNECTIONS = 64
#: After its end no request of an open load is begun that is later than this.
_LATE_S = 1.0


@dataclass
class Sent:
    """What the threads of one load saw. ``latency_s``: of good answers; ``n_due``: requests that were to be sent."""

    latency_s: list[float] = field(default_factory=list)
    n_failed: int = 0
    n_due: int = 0
    lasted_s: float = 0.0
    cpu_s: float = 0.0


def send(endpoint: Endpoint, request: bytes, profile: ClosedLoad | OpenLoad) -> Sent:
    """Offer a load: users that ask again as soon as they have their answer, or a rate over at most
    ``OPEN_CONNECTIONS`` connections, of which what cannot begin in time is never sent."""
    n_due = (
        max(1, int(profile.rate_per_s * (profile.duration_s or 0.0))) if isinstance(profile, OpenLoad) else 0
    )
    start_s = time.monotonic() + 0.05
    end_s = start_s + (profile.duration_s or 0.0)
    numbers = itertools.count()

    def next_due() -> float | None:
        if isinstance(profile, ClosedLoad):
            now_s = time.monotonic()
            return now_s if now_s < end_s else None
        number = next(numbers)  # atomic: one call into C
        due_s = start_s + number / profile.rate_per_s
        if number >= n_due or time.monotonic() > end_s + _LATE_S:
            return None
        time.sleep(max(0.0, due_s - time.monotonic()))
        return due_s

    parts = [Sent() for _ in range(profile.users if isinstance(profile, ClosedLoad) else OPEN_CONNECTIONS)]
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
        n_due=n_due,
        lasted_s=max(part.lasted_s for part in parts) - start_s,
        cpu_s=time.process_time() - cpu_s,
    )


def _send(endpoint: Endpoint, request: bytes, next_due: Callable[[], float | None], sent: Sent) -> None:
    with Connection(endpoint, TIMEOUT_S) as connection:
        while (due_s := next_due()) is not None:
            try:
                answer = connection.exchange(request)
                is_good, sent.lasted_s = 200 <= answer.status < 300, answer.received_monotonic_s
            except (ExchangeError, OSError):
                is_good, sent.lasted_s = False, time.monotonic()
            if is_good:
                sent.latency_s.append(sent.lasted_s - due_s)
            else:
                sent.n_failed += 1
