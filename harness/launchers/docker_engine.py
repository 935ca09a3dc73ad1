# SPDX-License-Identifier: Apache-2.0
"""The Docker daemon of a host: whether one answers, what it is, and what earlier sessions left in it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.docker_api import SILENT, DockerRequest
from harness.agent.machine_info import hostname_hash
from harness.agent.processes import alive, this_process
from harness.errors import HostError, RematchError
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.launchers.images import LABEL, OWNER, project_label
from harness.toolchains import Surroundings, how_to_get, require_package, wanted

if TYPE_CHECKING:
    from docker import DockerClient

#: Where the SDK believes the daemon to be; what it asks there is carried to the host.
_NOWHERE = "http://localhost:2375"


def connect(host: MeasuringHost, root: Path, socket: str | None = None) -> DockerClient:
    """Return a client of the host's daemon; ``socket``: its address, ``None``: where it usually listens.

    Raises:
        RematchError: none answers; says what to do.
    """
    require_package("docker")
    import docker
    import docker.errors

    from harness.launchers.docker_transport import DockerTransport

    try:
        reply = host.docker([DockerRequest("GET", "/version")], address=socket)[0]
        if reply.status != 200:
            raise HostError(f"the Docker daemon answers with {reply.status}: {reply.body.decode()[:200]}")
        client = docker.DockerClient(base_url=_NOWHERE, version=str(json.loads(reply.body)["ApiVersion"]))
    except (docker.errors.DockerException, HostError, ValueError, KeyError) as problem:
        get = how_to_get(wanted("docker"), Surroundings(project=root))
        where = "" if host.here else f" on {host.name}"
        why = str(problem).splitlines()[0][:200].removeprefix(SILENT).strip()
        raise RematchError(
            f"{SILENT}{where} ({why}): it is required to measure "
            f"services in containers; install it{where} with: {get}; then start it (or set "
            f"{'DOCKER_HOST' if host.here else 'docker in hosts.toml'}) and grant access to its socket"
        ) from problem
    client.api.mount("http://", DockerTransport(host, socket))
    return client


def engine_of(client: DockerClient) -> str:
    """Return the daemon's version as it says it."""
    version = client.version()
    return f"{version.get('Version')} (API {version.get('ApiVersion')})"


def engine_on(host: MeasuringHost, root: Path, socket: str | None = None) -> tuple[str | None, str | None]:
    """Return the Docker daemon that answers on a host, or ``None`` and why none does."""
    try:
        client = connect(host, root, socket)
    except RematchError as problem:
        return None, str(problem)
    try:
        return f"Docker {engine_of(client)}", None
    finally:
        client.close()


def engine_here(root: Path, socket: str | None = None) -> tuple[str | None, str | None]:
    """Return the Docker daemon that answers on this machine, or ``None`` and why none does."""
    return engine_on(LocalHost(), root, socket)


def owner() -> str:
    """Return what names this very process on the containers it makes: id, start time, machine."""
    pid, ticks = this_process()
    return f"{pid}:{ticks}:{hostname_hash()}"


def sweep(client: DockerClient, root: Path) -> None:
    """Remove this project's containers whose harness is gone, and our own that have ended.

    Our own are left where the daemon was gone when they were to be removed. Those of another living harness stay,
    and those of one on another machine: that one's agent removes them.
    """
    import docker.errors

    ours = owner()
    mine: dict[str, str | list[str] | bool] = {"label": f"{LABEL}={project_label(root)}"}
    for container in client.containers.list(all=True, filters=mine, ignore_removed=True):
        pid, _, rest = container.labels.get(OWNER, "0:0").partition(":")
        ticks, _, machine = rest.partition(":")
        left = container.labels.get(OWNER) == ours and container.status in ("exited", "dead")
        if left or (machine in ("", hostname_hash()) and not alive(int(pid), int(ticks))):
            with contextlib.suppress(docker.errors.APIError):  # somebody else removes it
                container.remove(force=True, v=True)
