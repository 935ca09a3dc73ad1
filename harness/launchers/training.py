# SPDX-License-Identifier: Apache-2.0
"""What training runs have in common: a service is started so that something can be made of how it runs."""

from __future__ import annotations

from harness.agent.http_exchange import request_bytes
from harness.agent.sampler import Watched
from harness.errors import RematchError
from harness.hosts.base import Process
from harness.hosts.measuring import MeasuringHost
from harness.model import Request
from harness.model.endpoint import Endpoint

READY_WITHIN_S = 60.0


def answers(host: MeasuringHost, process: Process, endpoint: Endpoint, request: Request, what: str) -> bool:
    """Wait until a service that was just started answers; return ``False`` when it has ended instead.

    Raises:
        RematchError: it does neither; ``what`` names the training run.
    """
    first = host.first_answer(
        endpoint,
        raw_request(request, endpoint),
        watched(process),
        launched=process.launched,
        deadline_s=READY_WITHIN_S,
    ).first
    if not first.ready and not first.gone:
        raise RematchError(f"{what} was not ready within {READY_WITHIN_S:g} s")
    return first.ready


def watched(process: Process) -> Watched:
    return Watched(process.pid, process.start_ticks, process.cpu_at_launch_s)


def raw_request(request: Request, endpoint: Endpoint) -> bytes:
    """Return a request as it goes over the wire."""
    body = None if request.body is None else request.body.encode()
    return request_bytes(request.method, request.path, request.headers, body, endpoint)
