# SPDX-License-Identifier: Apache-2.0
"""From launch to ready: the first correct answer."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.agent.sampler import Watched
from harness.conformance import judge
from harness.errors import HostError, TrialFailure
from harness.hosts.base import Host
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.launchers.base import Instance, LaunchSpec
from harness.launchers.training import raw_request
from harness.model import InstanceRecord, Outcome, Request, StartUp
from harness.runner.context import TrialContext

ATTEMPTS_WHEN_PORT_TAKEN = 3


def wait_first_response(
    instance: Instance,
    request: Request,
    deadline_s: float,
    *,
    host: MeasuringHost | None = None,
    stderr: Path | None = None,
    cpu_at_launch_s: float = 0.0,
) -> StartUp:
    """Have the real path polled until its first correct answer and return when that came.

    ``request``: ``flow.readiness_request`` of the mix, which needs nothing of earlier answers.
    ``deadline_s`` counts from launch. ``host``: where the instance runs, and who polls; default: here.
    ``stderr`` is the service's, on that host, for the words of one that exits;
    ``cpu_at_launch_s`` is taken off the CPU time (see ``hosts.base.Process``).

    Raises:
        TrialFailure: timed out; failed (it exited); nonconforming (a wrong answer).
    """
    host = host or LocalHost()
    record, endpoint = instance.record, instance.endpoint
    started = host.first_answer(
        endpoint,
        raw_request(request, endpoint),
        Watched(record.pid, record.process_start_ticks, cpu_at_launch_s),
        launched=record.launched,
        deadline_s=deadline_s,
    )
    first, resources = started.first, started.resources
    if not first.ready and not first.gone:
        text = "no answer" if first.answer is None else f"only status {first.answer.status} as an answer"
        raise TrialFailure(
            Outcome.TIMED_OUT, f"{text} to {request.method} {request.path} within {deadline_s:g} s of launch"
        )
    if first.answer is None or first.gone:
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


def first_complaint(text: str) -> str | None:
    """Return the first line of a service's stderr that says what went wrong, or ``None``.

    The ``listening`` line and the collector's trace lines are no complaints.
    """
    for line in text.splitlines():
        if line.strip() and not re.match(r"listening host=|gc \d+ @|\[\d+", line):
            return line.strip()[:300]
    return None


def _how_it_ended(code: int | None, host: Host, stderr: Path | None) -> str:
    text = ""
    if stderr is not None:
        with contextlib.suppress(HostError):
            text = host.read(stderr).decode(errors="replace")
    return f"exited with {code} before its first answer: {first_complaint(text) or 'nothing on stderr'}"


#: In the folder of the launch.
SERVICE_STDERR = "service.stderr.txt"


@dataclass(frozen=True, kw_only=True)
class ServiceSpec:
    """What is launched, and what its first answer must be. ``role``: what it is called in the books."""

    launch: LaunchSpec
    role: str
    first: Request
    ready_s: float


def bring_up_service(
    spec: ServiceSpec,
    context: TrialContext,
    *,
    begun: Callable[[Instance], None],
    stop: Callable[[Instance], object],
) -> tuple[Instance, StartUp]:
    """Launch and wait for the first right answer; once more on another port when somebody took ours.

    ``begun`` is told of each process right after its launch. ``stop`` is called with each that is not returned; it must
    at least do what ``stop_service`` does.

    Raises:
        TrialFailure: as ``wait_first_response``.
    """
    for attempt in range(1, ATTEMPTS_WHEN_PORT_TAKEN + 1):
        instance = context.launcher.launch(spec.launch)
        try:
            context.note(context.host, pid=instance.record.pid, role=spec.role, port=instance.record.port)
            begun(instance)
            return instance, wait_first_response(
                instance,
                spec.first,
                spec.ready_s,
                host=context.host,
                stderr=spec.launch.folder / SERVICE_STDERR,
                cpu_at_launch_s=instance.cpu_at_launch_s,
            )
        except BaseException as problem:
            stop(instance)
            again = isinstance(problem, TrialFailure) and instance.port_taken()
            if not again or attempt == ATTEMPTS_WHEN_PORT_TAKEN:
                raise
    raise AssertionError("the last attempt returns or raises")


def stop_service(instance: Instance, context: TrialContext) -> InstanceRecord:
    """Stop it and take it out of the books; a second time does no harm."""
    record = instance.stop()
    context.forget(context.host, record.pid)
    return record
