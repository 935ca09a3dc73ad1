# SPDX-License-Identifier: Apache-2.0
"""What goes wrong between us and a Docker daemon that answered before, said in one line with what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from harness.agent.docker_api import SILENT
from harness.errors import HostError, TrialFailure
from harness.hosts.measuring import MeasuringHost
from harness.model import Outcome


@contextlib.contextmanager
def asking(host: MeasuringHost) -> Iterator[None]:
    """Say in one line what goes wrong between us and the daemon while a trial is under way.

    Raises:
        TrialFailure: the daemon refuses; its own words.
        HostError: none answers any more; says what to do. That says nothing about the service.
    """
    import docker.errors

    try:
        yield
    except docker.errors.DockerException as problem:
        text = " ".join(str(getattr(problem, "explanation", None) or problem).split())
        raise TrialFailure(Outcome.FAILED, f"the Docker daemon: {text}") from problem
    except HostError as problem:
        raise with_advice(problem, host) from problem


def with_advice(problem: HostError, host: MeasuringHost) -> HostError:
    """Return the problem with what to do, where a daemon that answered before does not any more."""
    said = str(problem)
    if SILENT not in said or "start the daemon" in said:
        return problem  # the host itself is gone, or it is said already
    where = "" if host.here else f" on {host.name}"
    return HostError(
        f"{said}; start the daemon{where} again: finished trials are kept, and the same command resumes the session"
    )
