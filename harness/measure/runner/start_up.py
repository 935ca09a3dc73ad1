# SPDX-License-Identifier: Apache-2.0
"""From launch to ready: the first correct answer."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from harness.conformance import judge
from harness.errors import HostError, TrialFailure
from harness.measure.runner.context import watch
from harness.model import Outcome, Request, StartUp
from harness.places.hosts.base import Host
from harness.places.hosts.local import LocalHost
from harness.places.hosts.measuring import MeasuringHost
from harness.places.launchers.base import Instance
from harness.places.launchers.training import raw_request

#: In the folder of the launch.
SERVICE_STDERR = "service.stderr.txt"
_NO_COMPLAINT = re.compile(r"listening host=|gc \d+ @|\[\d+")


def wait_first_response(
    instance: Instance,
    request: Request,
    deadline_s: float,
    *,
    host: MeasuringHost | None = None,
    stderr: Path | None = None,
) -> StartUp:
    """Have the real path polled until its first correct answer and return when that came.

    Args:
        request: ``flow.readiness_request`` of the mix, which needs nothing of earlier answers.
        deadline_s: from launch.
        host: where the instance runs, and who polls; default: here.
        stderr: the service's, on that host, for the words of one that exits.

    Raises:
        TrialFailure: timed out; failed (it exited); nonconforming (a wrong answer).
    """
    host = host or LocalHost()
    started = host.first_answer(
        instance.endpoint,
        raw_request(request, instance.endpoint),
        watch(instance),
        launched=instance.record.launched,
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


def _how_it_ended(code: int | None, host: Host, stderr: Path | None) -> str:
    text = ""
    if stderr is not None:
        with contextlib.suppress(HostError):
            text = host.read(stderr).decode(errors="replace")
    # the ``listening`` line and the collector's trace lines are no complaints
    complaints = (
        line for line in map(str.strip, text.splitlines()) if line and not _NO_COMPLAINT.match(line)
    )
    return f"exited with {code} before its first answer: {next(complaints, 'nothing on stderr')[:300]}"
