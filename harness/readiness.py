# SPDX-License-Identifier: Apache-2.0
"""From launch to ready, and from ready to warm: the first correct answer, and sequential warm-up calls."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from harness.conformance import judge
from harness.errors import HostError, TrialFailure
from harness.exchange import Answer, Connection, ExchangeError, request_bytes
from harness.hosts import Host
from harness.launchers.base import Instance
from harness.loadgen.base import Endpoint
from harness.loadgen.captures import Scalar, Values, filled
from harness.loadgen.flow import in_order, is_flow
from harness.local_host import LocalHost
from harness.model import Outcome, Request, StartUp
from harness.sampling import Watched
from harness.station import Station

ATTEMPTS_WHEN_PORT_TAKEN = 3
AnInstance = TypeVar("AnInstance", bound=Instance)


def wait_first_response(
    instance: Instance,
    request: Request,
    deadline_s: float,
    *,
    host: Station | None = None,
    stderr: Path | None = None,
    cpu_at_launch_s: float = 0.0,
) -> StartUp:
    """Have the real path polled until its first correct answer and return when that came.

    ``request``: ``flow.readiness_request`` of the mix, which needs nothing of earlier answers.
    ``deadline_s`` counts from launch. ``host``: where the instance runs, and who polls; default: here.
    ``stderr`` is the service's, on that host, for the words of one that exits;
    ``cpu_at_launch_s`` is taken off the CPU time (see ``hosts.Process``).

    Raises:
        TrialFailure: timed out; failed (it exited); nonconforming (a wrong answer).
    """
    host = host or LocalHost()
    record, endpoint = instance.record, instance.endpoint
    started = host.first_answer(
        endpoint,
        _bytes_of(request, endpoint),
        Watched(record.pid, record.process_start_ticks, cpu_at_launch_s),
        launched=record.launched,
        deadline_s=deadline_s,
    )
    first, resources = started.first, started.resources
    if first.answer is None and not first.gone:
        raise TrialFailure(
            Outcome.TIMED_OUT,
            f"no answer to {request.method} {request.path} within {deadline_s:g} s of launch",
        )
    if first.answer is None:
        raise TrialFailure(Outcome.FAILED, _how_it_ended(instance.exited(), host, stderr))
    fault, _ = judge(first.answer, request.expect, request.capture, {})
    if fault is not None:
        raise TrialFailure(Outcome.NONCONFORMING, f"first answer to {request.name}: {fault}")
    return StartUp(
        time_to_first_response_s=first.waited_s,
        polls=first.polls,
        cpu_s_at_first_response=resources.cpu_s,
        rss_bytes_at_first_response=resources.rss_bytes,
    )


def warm_up(endpoint: Endpoint, requests: tuple[Request, ...], n: int, timeout_s: float = 10.0) -> None:
    """Send ``n`` sequential requests over one keep-alive connection; check every answer.

    A plain mix is sent in turn by weight. A flow is gone through in order, with what its answers
    gave, again and again; the last pass ends where ``n`` ends.

    Raises:
        TrialFailure: nonconforming (a wrong answer) or failed (no answer), naming the request's number.
    """
    with Connection(endpoint, timeout_s) as connection:
        (_warm_by_flow if is_flow(requests) else _warm_by_mix)(connection, endpoint, requests, n)


def _warm_by_mix(connection: Connection, endpoint: Endpoint, requests: tuple[Request, ...], n: int) -> None:
    turns = [(request, _bytes_of(request, endpoint)) for request in requests for _ in range(request.weight)]
    right: dict[str, bytes] = {}
    for number in range(n):
        request, raw = turns[number % len(turns)]
        answer = _exchanged(connection, raw, number, request)
        if answer.status == request.expect.status and right.get(request.name) == answer.body:
            continue  # the very bytes that were found right before: no need to parse them again
        _judged(answer, number, request, {})
        right[request.name] = answer.body


def _warm_by_flow(connection: Connection, endpoint: Endpoint, requests: tuple[Request, ...], n: int) -> None:
    steps, values = in_order(requests), dict[str, Scalar]()
    for number in range(n):
        request = steps[number % len(steps)]
        if request is steps[0]:
            values = {}
        answer = _exchanged(connection, _bytes_of(filled(request, values), endpoint), number, request)
        values |= _judged(answer, number, request, values)


def _exchanged(connection: Connection, raw: bytes, number: int, request: Request) -> Answer:
    try:
        return connection.exchange(raw)
    except (ExchangeError, OSError) as problem:
        raise TrialFailure(
            Outcome.FAILED, f"no answer to warm-up request {number + 1} ({request.name}): {problem}"
        ) from problem


def _judged(answer: Answer, number: int, request: Request, values: Values) -> dict[str, Scalar]:
    fault, taken = judge(answer, request.expect, request.capture, values)
    if fault is not None:
        raise TrialFailure(Outcome.NONCONFORMING, f"warm-up request {number + 1} ({request.name}): {fault}")
    return taken


def bring_up(
    launch: Callable[[], AnInstance],
    wait: Callable[[AnInstance], StartUp],
    port_taken: Callable[[AnInstance], bool],
) -> tuple[AnInstance, StartUp]:
    """Launch and wait; when somebody took the chosen port in between, stop and launch anew with another.

    The instance is stopped when this raises.
    """
    attempt = 1
    while True:
        instance = launch()
        try:
            return instance, wait(instance)
        except BaseException as problem:
            instance.stop()
            again = isinstance(problem, TrialFailure) and port_taken(instance)
            if not again or attempt == ATTEMPTS_WHEN_PORT_TAKEN:
                raise
            attempt += 1


def first_complaint(text: str) -> str | None:
    """Return the first line of a service's stderr that says what went wrong, or ``None``.

    The ``listening`` line and the collector's trace lines are no complaints.
    """
    for line in text.splitlines():
        if line.strip() and not re.match(r"listening host=|gc \d+ @|\[\d+", line):
            return line.strip()[:300]
    return None


def _bytes_of(request: Request, endpoint: Endpoint) -> bytes:
    body = None if request.body is None else request.body.encode()
    return request_bytes(request.method, request.path, request.headers, body, endpoint)


def _how_it_ended(code: int | None, host: Host, stderr: Path | None) -> str:
    text = ""
    if stderr is not None:
        with contextlib.suppress(HostError):
            text = host.read(stderr).decode(errors="replace")
    return f"exited with {code} before its first answer: {first_complaint(text) or 'nothing on stderr'}"
