# SPDX-License-Identifier: Apache-2.0
"""Instances in containers for tests: the project with the misbehaving service, and a daemon of the tests' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.launchers.container import ContainerInstance, ContainerLauncher
from harness.launchers.images import LABEL, project_label
from harness.launchers.process import ProcessLauncher
from harness.launchers.tools import Tools
from harness.tests.support.dockerd import Daemon
from harness.tests.support.instances import OBEYS_WITHIN_S, Started, make_project


def client_of(daemon: Daemon) -> Any:
    """Return a client that speaks to the daemon directly."""
    import docker

    return docker.DockerClient(base_url=daemon.address)


class HostOfDaemon(LocalHost):
    """This machine with a daemon at another address than the usual one."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def docker_address(self) -> str:
        return self._address


def container_launcher(
    root: Path, daemon: Daemon, base: Path, host: MeasuringHost | None = None
) -> ContainerLauncher:
    """Return a launcher of containers on ``host`` (default: this machine), where ``daemon`` is."""
    process = ProcessLauncher(LocalHost(), root, Tools())
    place = host or HostOfDaemon(daemon.address)  # a far host's settings have its daemon
    return ContainerLauncher(process, root, bases={"other": base}, host=place, grace_s=OBEYS_WITHIN_S)


class Contained(Started[ContainerLauncher, ContainerInstance]):
    """A project with a launcher of containers; ``close`` is sure that none is left."""

    def __init__(self, root: Path, daemon: Daemon, base: Path, host: MeasuringHost | None = None) -> None:
        self.client = client_of(daemon)
        launcher = container_launcher(make_project(root), daemon, base, host)
        super().__init__(root, host or LocalHost(), launcher, launcher.launch)

    def containers(self) -> list[Any]:
        wanted = {"label": f"{LABEL}={project_label(self.root)}"}
        return list(self.client.containers.list(all=True, filters=wanted, ignore_removed=True))

    def close(self) -> None:
        super().close()
        left = self.containers()
        self.client.close()
        assert left == []
