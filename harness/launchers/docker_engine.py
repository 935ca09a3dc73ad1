# SPDX-License-Identifier: Apache-2.0
"""The Docker daemon of a host by the Docker SDK: connecting, its images, errors in one line, what earlier sessions
left in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agent.containers import usual_address
from harness.agent.machine_info import hostname_hash
from harness.agent.processes import alive, this_process
from harness.errors import HostError, RematchError, TrialFailure
from harness.hosts.measuring import MeasuringHost
from harness.launchers.images import LABEL, OWNER, project_label
from harness.model import Outcome
from harness.toolchains import Surroundings, how_to_get, require_package, wanted

if TYPE_CHECKING:
    from docker import DockerClient

_SILENT = "no Docker daemon answers"


@cache
def docker_sdk() -> Any:
    """Return the Docker SDK, which is loaded when a daemon is first asked. Raises MissingTool."""
    require_package("docker")
    import docker.errors

    return docker


def connect(address: str, root: Path) -> DockerClient:
    """Return a client of the daemon at an address. Raises RematchError: none answers; says what to do."""
    docker = docker_sdk()
    try:
        client: DockerClient = docker.DockerClient(base_url=address)
        return client
    except (docker.errors.DockerException, OSError) as problem:
        get = how_to_get(wanted("docker"), Surroundings(project=root))
        why = _innermost(problem).splitlines()[0][:200]
        raise RematchError(
            f"{_SILENT} (at {address}: {why}): it is required to measure services in containers; install it with: "
            f"{get}; then start it (or set DOCKER_HOST) and grant access to its socket"
        ) from problem


class DaemonImages:
    """The images of a daemon; see ``ImageStore``."""

    prefix = "rematch/"

    def __init__(self, client: DockerClient) -> None:
        self._client = client

    def has(self, image: str) -> bool:
        with contextlib.suppress(docker_sdk().errors.ImageNotFound):
            self._client.images.get(image)
            return True
        return False

    def add(self, archive: Path, image: str) -> None:
        try:
            with archive.open("rb") as stream:
                self._client.images.load(stream)  # sent as it is read
        except docker_sdk().errors.DockerException as problem:
            raise RematchError(f"image {image}: the Docker daemon could not take it: {problem}") from problem


@contextlib.contextmanager
def asking(address: str) -> Iterator[None]:
    """Turn what goes wrong with the daemon while a trial is under way into one line. Raises TrialFailure: the daemon
    refuses; HostError: none answers any more, which says nothing about the service."""
    errors = docker_sdk().errors
    try:
        yield
    except errors.APIError as problem:
        text = " ".join(str(problem.explanation or problem).split())
        raise TrialFailure(Outcome.FAILED, f"the Docker daemon: {text}") from problem
    except (errors.DockerException, OSError) as problem:
        raise HostError(
            f"{_SILENT} at {address}: {_innermost(problem)}; start the daemon again: finished trials are kept, and the "
            "same command resumes the session"
        ) from problem


def _innermost(problem: BaseException) -> str:
    """Return what the system said, without the names of what passed it on."""
    while isinstance(problem.__context__, Exception) and not isinstance(problem.__context__, RematchError):
        problem = problem.__context__
    return str(getattr(problem, "strerror", None) or problem or type(problem).__name__)


def engine_of(client: DockerClient) -> str:
    """Return the daemon's version as it says it."""
    version = client.version()
    return f"{version.get('Version')} (API {version.get('ApiVersion')})"


def engine_on(host: MeasuringHost, root: Path) -> tuple[str | None, str | None]:
    """Return the Docker daemon that answers on a host, or ``None`` and why none does."""
    if not host.is_local:
        return None, "containers are measured on the machine of the harness only"
    try:
        with contextlib.closing(connect(usual_address(), root)) as client:
            return f"Docker {engine_of(client)}", None
    except RematchError as problem:
        return None, str(problem)


def owner() -> str:
    """Return what names this very process on the containers it makes: id, start time, machine."""
    pid, ticks = this_process()
    return f"{pid}:{ticks}:{hostname_hash()}"


def left_behind(label: str) -> bool:
    """Tell whether a process of this machine that ``owner`` named is gone; of another machine nobody knows here."""
    pid, ticks, machine = (*label.split(":"), "", "", "")[:3]
    known = machine in ("", hostname_hash()) and pid.isdigit() and ticks.isdigit()
    return known and not alive(int(pid), int(ticks))


def sweep(client: DockerClient, root: Path) -> None:
    """Remove this project's containers whose harness is gone, and our own that have ended (the daemon was gone when
    they were to be removed). Those of another living harness stay, and those of one on another machine."""
    labelled: dict[str, str | list[str] | bool] = {"label": f"{LABEL}={project_label(root)}"}
    for container in client.containers.list(all=True, filters=labelled, ignore_removed=True):
        label = container.labels.get(OWNER, "0:0")
        if left_behind(label) or (label == owner() and container.status in ("exited", "dead")):
            with contextlib.suppress(docker_sdk().errors.APIError):  # another session removes it
                container.remove(force=True, v=True)
