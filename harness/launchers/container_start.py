# SPDX-License-Identifier: Apache-2.0
"""A container as the daemon is asked for it, and the asking: made and started in one go."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agent.docker_api import MADE, EngineReply, EngineRequest
from harness.errors import HostError, TrialFailure
from harness.hosts.measuring import Station
from harness.launchers.base import LaunchOrder
from harness.launchers.cgroup import bytes_of
from harness.launchers.docker_engine import owner
from harness.launchers.docker_errors import asking
from harness.launchers.images import LABEL, OWNER, Image, project_label
from harness.model import Outcome, RuntimeSettings

if TYPE_CHECKING:
    from docker import DockerClient

#: Where the trial's folder is seen inside; the service's working directory.
TRIAL = "/trial"
#: A daemon that nobody listens to any more may finish what it was asked for, and is asked again until then.
SETTLED_WITHIN_S = 1.0


def create_body(
    order: LaunchOrder,
    image: Image,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    *,
    root: Path,
    user: str,
) -> dict[str, Any]:
    """Return what the daemon is asked to make, in its own words."""
    runtime = order.variant.runtime
    memory = memory_bytes(runtime)
    limits: dict[str, Any] = {} if memory is None else {"Memory": memory, "MemorySwap": memory}
    if runtime.cpus:
        limits["NanoCpus"] = runtime.cpus * 10**9
    if order.cpus:
        limits["CpusetCpus"] = cpuset_of(order)
    return {
        "Image": image.id,
        "Entrypoint": [argv[0]],
        "Cmd": list(argv[1:]),
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "Labels": {LABEL: project_label(root), OWNER: owner()},
        "User": user,
        "WorkingDir": TRIAL,
        "HostConfig": {"NetworkMode": "host", "Binds": [f"{order.folder}:{TRIAL}:rw"], **limits},
    }


def new_name() -> str:
    """Return a name by which a container can be removed before anybody knows its id."""
    return f"rematch-{secrets.token_hex(8)}"


def make_and_start(
    host: Station, client: DockerClient, name: str, body: Mapping[str, Any], socket: str | None
) -> tuple[EngineReply, EngineReply, EngineReply]:
    """Make, start and look at a container on its host, without a word between this machine and that one.

    However it ends but well, something of that name may be left: ``remove_named``.

    Raises:
        TrialFailure: the daemon did not start it.
        HostError: no daemon answers any more.
    """
    version = f"/v{client.api.api_version}"
    row = (
        EngineRequest(
            "POST", f"{version}/containers/create?name={name}", {"Content-Type": "application/json"},
            json.dumps(body).encode(),
        ),
        EngineRequest("POST", f"{version}/containers/{MADE}/start"),
        EngineRequest("GET", f"{version}/containers/{MADE}/json"),
    )  # fmt: skip
    with asking(host):
        replies = host.docker(row, address=socket)
    if replies[-1].status >= 400:
        said = f"the Docker daemon did not start it: {_complaint(replies[-1])}"
        raise TrialFailure(Outcome.FAILED, said)
    made, started, seen = replies
    return made, started, seen


def remove_named(host: Station, client: DockerClient, name: str, socket: str | None) -> None:
    """Remove what has come to be of a container, and what the daemon is still making of it.

    Raises nothing where no daemon answers: the host's agent, or the next session, removes it then.
    """
    removal = EngineRequest("DELETE", f"/v{client.api.api_version}/containers/{name}?force=1&v=1")
    until = time.monotonic() + SETTLED_WITHIN_S
    while True:
        with contextlib.suppress(HostError):
            if host.docker((removal,), address=socket)[0].status == 204:
                return
        if time.monotonic() > until:
            return
        time.sleep(0.1)


def cpuset_of(order: LaunchOrder) -> str | None:
    """Return the CPUs it may run on, as the kernel writes them; ``None``: on any."""
    return ",".join(map(str, order.cpus)) if order.cpus else None


def memory_bytes(runtime: RuntimeSettings) -> int | None:
    """Return the limit of its memory, or ``None``."""
    return None if runtime.memory_limit is None else bytes_of(runtime.memory_limit)


def _complaint(reply: EngineReply) -> str:
    said = reply.body.decode(errors="replace")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        said = str(json.loads(said)["message"])
    return said
