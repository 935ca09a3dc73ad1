# SPDX-License-Identifier: Apache-2.0
"""The first answer of a starting service, polled for on the machine where it starts.

Standard library only, Python >= 3.8: the agent on a far host is built of this file too, so that a
time to first response has one clock and no network in it wherever the service runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from harness.agent.http_exchange import Answer, Connection, Endpoint, ExchangeError
from harness.agent.processes import alive

#: Pause between two refused connections: a hundredth of the time since launch, within these bounds.
#: A service that is up in 5 ms is then timed to a few percent, and one that takes a second loses
#: some 6 % of one core to the polling (measured: 0.08 ms of CPU time a poll), in which it is
#: timed to a thousandth.
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.0001, 0.001

#: A service may say "not yet" with this while it starts; every other wrong answer is final.
NOT_YET = 503


@dataclass(frozen=True)
class FirstAnswer:
    """The first final answer; where the time was over, the last "not yet"; ``None``: there was none of either."""

    answer: Answer | None
    waited_s: float
    polls: int
    gone: bool

    @property
    def ready(self) -> bool:
        """Whether the answer is final."""
        return self.answer is not None and self.answer.status != NOT_YET


def poll_first_answer(
    endpoint: Endpoint,
    request: bytes,
    *,
    launched_monotonic_s: float,
    deadline_s: float,
    gone: Callable[[], bool],
    from_outside: bool = False,
) -> FirstAnswer:
    """Poll until the first answer that is no "not yet". ``waited_s`` and ``deadline_s`` count from launch.

    ``from_outside``: a refusal is remembered between here and the service, and must not meet who connects later.
    """
    connection = Connection(endpoint, from_outside=from_outside)
    polls = 0
    answer = None
    while True:
        waited_s = time.monotonic() - launched_monotonic_s
        if waited_s >= deadline_s:
            return FirstAnswer(answer, waited_s, polls, gone=False)
        polls += 1
        answer = _try_once(connection, request, deadline_s - waited_s) or answer
        if answer is not None and answer.status != NOT_YET:
            return FirstAnswer(answer, answer.received_monotonic_s - launched_monotonic_s, polls, gone=False)
        waited_s = time.monotonic() - launched_monotonic_s
        if gone():
            return FirstAnswer(None, waited_s, polls, gone=True)
        time.sleep(min(LONGEST_PAUSE_S, max(SHORTEST_PAUSE_S, waited_s / 100)))


def gone_check(pid: int, start_ticks: int) -> Callable[[], bool]:
    """Return a question, cheap enough to be asked between two polls: has this process ended?"""

    def gone() -> bool:
        try:  # a child of ours: one call of the kernel, and it stays for its parent to be waited for
            return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except (ChildProcessError, AttributeError):  # macOS has no such call
            return not alive(pid, start_ticks)

    return gone


def _try_once(connection: Connection, request: bytes, timeout_s: float) -> Answer | None:
    connection.timeout_s = timeout_s
    try:
        return connection.exchange(request)
    except (ExchangeError, OSError):  # not listening yet, or listening but not yet answering
        return None
    finally:
        connection.close()
