# SPDX-License-Identifier: Apache-2.0
"""The machines of a session, by role. ``remote_hosts`` connects to those over SSH."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from harness.agent.machine_info import physical_cores
from harness.agent.platforms import usable_cpus
from harness.backing import BackingSource
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.launchers.process import ProcessLauncher
from harness.launchers.tools import Elsewhere, Tools
from harness.model import Machine

if TYPE_CHECKING:
    from harness.hosts.ssh.host import SshHost

#: host, generator, where tools are here, ``java`` here -> what a command names here -> what that is on the host
Words = Callable[[MeasuringHost, str, Mapping[str, Path | None], Path | None], dict[str, str]]
#: Of the host of backing services: its database, and what starts processes beside that.
RemoteBacking = Callable[["HostRoles", Path, Tools, ProcessLauncher], tuple[BackingSource, ProcessLauncher]]


@dataclass(frozen=True, kw_only=True)
class HostRoles:
    """The machines of a session. ``None``: the load comes from, backing services stand on, the service's own.
    ``words`` and ``backing``: as ``remote_hosts`` has them; ``None``: all are this machine."""

    service: MeasuringHost
    load: MeasuringHost | None = None
    database: SshHost | None = None
    elsewhere: Elsewhere | None = None
    cpus: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...] = ()
    machines: Mapping[str, Machine] = field(default_factory=dict)
    words: Words = lambda *_: {}
    backing: RemoteBacking | None = None

    @property
    def load_host(self) -> MeasuringHost:
        return self.load or self.service

    @property
    def named(self) -> dict[str, Path]:
        """Places of far machines, by the names that stand for them in the data."""
        roles = [("far", self.service), ("far_load", self.load), ("far_database", self.database)]
        names = {
            role: Path(cast("SshHost", station).agent.base)
            for role, station in roles
            if station is not None and not station.is_local
        }
        if self.elsewhere is not None and self.elsewhere.jdks:
            names["far_java_home"] = self.elsewhere.jdks[0].home
        return names

    def close(self) -> None:
        """End what runs on far machines, and the connections."""
        for station in (self.service, self.load, self.database):
            if station is not None and not station.is_local:
                cast("SshHost", station).close()


def this_machine() -> HostRoles:
    """Return this machine in every role."""
    cpus = usable_cpus()
    cores = tuple(tuple(core) for core in physical_cores(cpus))
    return HostRoles(service=LocalHost(listen_address="127.0.0.1"), cpus=cpus, cores=cores)
