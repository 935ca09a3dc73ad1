# SPDX-License-Identifier: Apache-2.0
"""The Docker daemon of this machine: whether one answers, what it is, and what earlier sessions left in it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RematchError
from harness.launchers.images import LABEL, OWNER, project_label
from harness.processes import alive, read_stat
from harness.toolchains import Surroundings, how_to_get, wanted

if TYPE_CHECKING:
    from docker import DockerClient


def connect(socket: str | None, root: Path) -> DockerClient:
    """Return a client of the daemon at ``socket``; ``None``: at DOCKER_HOST, or where it usually listens.

    Raises:
        RematchError: none answers; says what to do.
    """
    import docker
    import docker.errors

    try:
        client = docker.DockerClient(base_url=socket) if socket is not None else docker.from_env()
        client.ping()
    except (docker.errors.DockerException, OSError) as problem:
        get = how_to_get(wanted("docker"), Surroundings(project=root))
        raise RematchError(
            f"no Docker daemon answers ({str(problem).splitlines()[0][:160]}): it is wanted to measure services in "
            f"containers; get it with: {get}; then start it (or set DOCKER_HOST) and be allowed to use its socket"
        ) from problem
    return client


def engine_of(client: DockerClient) -> str:
    """Return the daemon's version as it says it."""
    version = client.version()
    return f"{version.get('Version')} (API {version.get('ApiVersion')})"


def engine_here(root: Path, socket: str | None = None) -> tuple[str | None, str | None]:
    """Return the Docker daemon that answers here, or ``None`` and why none does."""
    try:
        client = connect(socket, root)
    except RematchError as problem:
        return None, str(problem)
    try:
        return f"Docker {engine_of(client)}", None
    finally:
        client.close()


def owner() -> str:
    """Return what names this very process on the containers it makes: its id and start time."""
    stat = read_stat(os.getpid())
    return f"{os.getpid()}:{stat.start_ticks if stat else 0}"


def sweep(client: DockerClient, root: Path) -> None:
    """Remove this project's containers whose harness is gone; those of a living one stay."""
    import docker.errors

    mine: dict[str, str | list[str] | bool] = {"label": f"{LABEL}={project_label(root)}"}
    for container in client.containers.list(all=True, filters=mine):
        pid, _, ticks = container.labels.get(OWNER, "0:0").partition(":")
        if not alive(int(pid), int(ticks)):
            with contextlib.suppress(docker.errors.APIError):  # somebody else removes it
                container.remove(force=True, v=True)
