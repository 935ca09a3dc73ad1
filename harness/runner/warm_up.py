# SPDX-License-Identifier: Apache-2.0
"""From ready to warm: requests of the load's own mix, checked, by one user or by several at once.

One user who asks, waits and asks again never has two requests in a service at the same time: pools stay at
one connection, request threads are not made, and a JIT compiles a path on which nobody waits. What users at
once will meet is warmed by users at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from harness.agent.http_exchange import Answer, Connection, ExchangeError
from harness.conformance import judge
from harness.errors import TrialFailure
from harness.launchers.aot import raw_request
from harness.loadgen.correlation import Scalar, Values, filled
from harness.loadgen.flow import in_order, is_flow
from harness.model import Outcome, Request
from harness.model.endpoint import Endpoint

#: Asked before every request: whether to go on.
GoOn = Callable[[], bool]


def warm_up(
    endpoint: Endpoint,
    requests: tuple[Request, ...],
    n: int,
    *,
    users: int = 1,
    fresh: bool = False,
    timeout_s: float = 10.0,
) -> None:
    """Send ``n`` requests over a keep-alive connection for each user; check every answer.

    ``fresh``: each request has a connection of its own, as where a new process sends it.

    Users divide the requests among them as evenly as can be, and each waits for its own answers only. A plain
    mix is sent in turn by weight. A flow is gone through in order by each user, with what its answers gave,
    again and again; a user's last pass ends where its requests do.

    Raises:
        TrialFailure: nonconforming (a wrong answer) or failed (no answer), naming the request's number; the
            first of them ends all users.
    """
    stop = threading.Event()

    def ask(user: int) -> None:
        share = n // users + (user < n % users)
        whose = f" of user {user + 1}" if users > 1 else ""
        try:
            with Connection(endpoint, timeout_s) as connection:
                user_here = User(connection, endpoint, whose, lambda: not stop.is_set(), fresh=fresh)
                user_here.send(requests, share)
        except BaseException:
            stop.set()
            raise

    if users == 1:
        ask(0)
        return
    with ThreadPoolExecutor(users, thread_name_prefix="warm-up") as pool:
        asked = [pool.submit(ask, user) for user in range(min(users, n))]
    for item in asked:
        item.result()


class User:
    """Who sends requests one after another over a connection of their own."""

    def __init__(
        self,
        connection: Connection,
        endpoint: Endpoint,
        whose: str,
        go_on: GoOn,
        what: str = "warm-up request",
        *,
        fresh: bool = False,
    ) -> None:
        self._connection, self._endpoint, self._whose, self._go_on = connection, endpoint, whose, go_on
        self._what, self._fresh = what, fresh

    def send(self, requests: tuple[Request, ...], n: int) -> None:
        (self._flow if is_flow(requests) else self._mix)(requests, n)

    def _mix(self, requests: tuple[Request, ...], n: int) -> None:
        turns = [
            (request, raw_request(request, self._endpoint))
            for request in requests
            for _ in range(request.weight)
        ]
        right: dict[str, bytes] = {}
        for number in range(n):
            if not self._go_on():
                return
            request, raw = turns[number % len(turns)]
            answer = self._exchanged(raw, number, request)
            if answer.status == request.expect.status and right.get(request.name) == answer.body:
                continue  # the very bytes that were found right before: no need to parse them again
            self._judged(answer, number, request, {})
            right[request.name] = answer.body

    def _flow(self, requests: tuple[Request, ...], n: int) -> None:
        steps, values = in_order(requests), dict[str, Scalar]()
        for number in range(n):
            if not self._go_on():
                return
            request = steps[number % len(steps)]
            if request is steps[0]:
                values = {}
            answer = self._exchanged(raw_request(filled(request, values), self._endpoint), number, request)
            values |= self._judged(answer, number, request, values)

    def _exchanged(self, raw: bytes, number: int, request: Request) -> Answer:
        try:
            return self._connection.exchange(raw)
        except (ExchangeError, OSError) as problem:
            raise TrialFailure(
                Outcome.FAILED, f"no answer to {self._name(number, request)}: {problem}"
            ) from problem
        finally:
            if self._fresh:
                self._connection.close()

    def _judged(self, answer: Answer, number: int, request: Request, values: Values) -> dict[str, Scalar]:
        fault, taken = judge(answer, request.expect, request.capture, values)
        if fault is not None:
            raise TrialFailure(Outcome.NONCONFORMING, f"{self._name(number, request)}: {fault}")
        return taken

    def _name(self, number: int, request: Request) -> str:
        return f"{self._what} {number + 1}{self._whose} ({request.name})"
