# SPDX-License-Identifier: Apache-2.0
"""Requests at a rate from within this process: for a service that is tried for seconds, not measured.

A load generator takes seconds to start and to stop. Here are users enough that a service may have many requests
at once; each request is due at a moment of its own, goes over a connection of its own as the arrivals of a load
do, and its answer is checked. What it says of latency is worth nothing, and nothing is kept of it.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness.agent.http_exchange import Connection
from harness.errors import TrialFailure
from harness.model import Outcome, Request
from harness.model.endpoint import Endpoint
from harness.runner.warm_up import User

#: More of them would be in each other's way.
MOST_USERS = 32


def ask_at_rate(
    endpoint: Endpoint,
    requests: tuple[Request, ...],
    *,
    rate_per_s: float,
    n_requests: int,
    most_late_s: float,
    users: int = MOST_USERS,
    timeout_s: float = 5.0,
) -> float:
    """Send ``n_requests`` requests of the mix, evenly spaced; check every answer; return how late the latest was sent.

    Raises:
        TrialFailure: nonconforming (a wrong answer), failed (no answer), or overloaded (a request could be
            sent only ``most_late_s`` after it was due); the first of them ends it all.
    """
    users = min(users, n_requests)
    ends = threading.Event()
    latest_s = [0.0] * users
    begin_s = time.monotonic()

    def ask(user: int) -> None:
        connection = Connection(endpoint, timeout_s)
        numbers = iter(range(user, n_requests, users))

        def go_on() -> bool:
            connection.close()
            due_s = begin_s + next(numbers) / rate_per_s
            late_s = time.monotonic() - due_s
            latest_s[user] = max(latest_s[user], late_s)
            if late_s > most_late_s:
                raise TrialFailure(
                    Outcome.OVERLOADED, f"fell {late_s:.1f} s behind {rate_per_s:g} requests a second"
                )
            return not ends.wait(max(0.0, -late_s))

        try:
            with connection:
                share = n_requests // users + (user < n_requests % users)
                User(connection, endpoint, f" of user {user + 1}", go_on, "request").send(requests, share)
        except BaseException:
            ends.set()
            raise

    with ThreadPoolExecutor(users, thread_name_prefix="asking") as pool:
        asked = [pool.submit(ask, user) for user in range(users)]
    for one in asked:
        one.result()
    late_s = time.monotonic() - begin_s - n_requests / rate_per_s
    if late_s > most_late_s:
        raise TrialFailure(Outcome.OVERLOADED, f"its last answer came {late_s:.1f} s late")
    return max(latest_s)
