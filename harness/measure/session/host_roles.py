# SPDX-License-Identifier: Apache-2.0
"""The machines of a session, by role; ``remote_hosts`` connects to those over SSH."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.agent.machine_info import physical_cores
from harness.agent.platforms import usable_cpus
from harness.model import Machine
from harness.places.backing import BackingSource
from harness.places.backing.postgres_source import Postgres
from harness.places.hosts.local import LocalHost
from harness.places.hosts.measuring import MeasuringHost
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Elsewhere, Tools
from harness.toolchains import Tool


@dataclass(frozen=True, kw_only=True)
class HostRoles:
    """The machines of a session. ``None``: the load comes from, backing services stand on, the service's own.

    All of it is this machine here; ``remote_hosts.RemoteRoles`` has hosts over SSH among it.
    """

    service: MeasuringHost
    load: MeasuringHost | None = None
    database: MeasuringHost | None = None
    elsewhere: Elsewhere | None = None
    cpus: tuple[int, ...]
    #: Which of them share a physical core.
    cores: tuple[tuple[int, ...], ...] = ()
    machines: Mapping[str, Machine] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, Path]:
        """Places of far machines, by the names that stand for them in the data."""
        return {}

    def words(self, generator: str, paths: Mapping[str, Path | None], java: Path | None) -> dict[str, str]:
        """Return what a load generator's command names here -> what that is on the load's host.

        Args:
            paths: where tools are here.
            java: that of this machine.
        """
        del generator, paths, java
        return {}

    def backing(
        self, root: Path, postgres: Tool, tools: Tools, process: ProcessLauncher
    ) -> tuple[BackingSource, ProcessLauncher]:
        """Return the database, and what starts processes beside it; ``process`` starts services."""
        del tools
        return Postgres(LocalHost(), root, postgres), process

    def close(self) -> None:
        """End what runs on far machines, and the connections."""


def this_machine(listen_address: str = "127.0.0.1") -> HostRoles:
    """Return this machine in every role."""
    cpus = usable_cpus()
    cores = tuple(tuple(core) for core in physical_cores(cpus))
    return HostRoles(service=LocalHost(listen_address=listen_address), cpus=cpus, cores=cores)
