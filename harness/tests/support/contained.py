# SPDX-License-Identifier: Apache-2.0
"""Instances in containers for tests: the project with the misbehaving service, and a daemon of the tests' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.places.hosts.local import LocalHost
from harness.places.launchers.container import ContainerInstance, ContainerLauncher
from harness.places.launchers.images import LABEL, project_label
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.tests.support.dockerd import Daemon
from harness.tests.support.instances import OBEYS_WITHIN_S, Started, make_project


def client_of(daemon: Daemon) -> Any:
    """Return a client that speaks to the daemon directly."""
    import docker

    return docker.DockerClient(base_url=daemon.address)


def container_launcher(root: Path, daemon: Daemon, base: Path) -> ContainerLauncher:
    """Return a launcher of containers of that daemon."""
    process = ProcessLauncher(LocalHost(), root, Tools())
    bases = {"other": base}
    return ContainerLauncher(process, root, bases=bases, grace_s=OBEYS_WITHIN_S, address=daemon.address)


class Contained(Started[ContainerLauncher, ContainerInstance]):
    """A project with a launcher of containers; ``close`` is sure that none is left."""

    def __init__(self, root: Path, daemon: Daemon, base: Path) -> None:
        self.client = client_of(daemon)
        launcher = container_launcher(make_project(root), daemon, base)
        super().__init__(root, LocalHost(), launcher, launcher.launch)

    def containers(self) -> list[Any]:
        wanted = {"label": f"{LABEL}={project_label(self.root)}"}
        return list(self.client.containers.list(all=True, filters=wanted, ignore_removed=True))

    def close(self) -> None:
        super().close()
        left = self.containers()
        self.client.close()
        assert left == []
