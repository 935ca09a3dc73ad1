# SPDX-License-Identifier: Apache-2.0
"""The machines of a session: this one, and those over SSH, which ``remote_hosts`` connects to when one is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.machine_info import physical_cores
from harness.agent.platforms import usable_cpus
from harness.hosts.local import LocalHost
from harness.hosts.measuring import Station
from harness.hosts.ssh.settings import LOCAL
from harness.launchers.runtimes import Elsewhere
from harness.model import Machine
from harness.toolchains import Jdk

if TYPE_CHECKING:
    from harness.hosts.ssh.host import SshHost


@dataclass(frozen=True, kw_only=True)
class Stations:
    """The machines of a session. ``None``: the load comes from, backing services stand on, the service's own;
    ``further_loads``: where more of the load comes from, when it comes from several others."""

    service: Station
    load: Station | None = None
    further_loads: tuple[Station, ...] = ()
    database: SshHost | None = None
    elsewhere: Elsewhere | None = None
    cpus: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...] = ()
    machines: Mapping[str, Machine] = field(default_factory=dict)

    @property
    def load_host(self) -> Station:
        return self.load or self.service

    @property
    def named(self) -> dict[str, Path]:
        """Places of far machines, by the names that stand for them in the data."""
        if self.all_here:
            return {}
        from harness.session.remote_hosts import named_places

        return named_places(self)

    @property
    def all_here(self) -> bool:
        """Whether this machine has every role."""
        return all(station.here for station in self.each)

    @property
    def each(self) -> tuple[Station, ...]:
        """The service's, those of the load, and that of the backing services, where they are others."""
        others = (self.load, *self.further_loads, self.database)
        return (self.service, *(station for station in others if station is not None))

    def close(self) -> None:
        """End what runs on far machines, and the connections."""
        if not self.all_here:
            from harness.session.remote_hosts import close

            close(self.each)


def stations(
    root: Path, host: str, load_host: str | None, jdks: Sequence[Jdk], database_host: str | None = None
) -> Stations:
    """Return the hosts of these names; ``load_host``, ``database_host``: ``None`` for the service's own.
    Several load hosts are joined by commas.

    Raises:
        InputError, HostError: as ``remote_hosts.connected``.
    """
    if {host, load_host or LOCAL, database_host or LOCAL} != {LOCAL}:
        from harness.session.remote_hosts import connected  # what speaks SSH takes a while to load

        return connected(root, host, load_host, jdks, database_host)
    cpus = usable_cpus()
    cores = tuple(tuple(core) for core in physical_cores(cpus))
    return Stations(service=LocalHost(listen_address="127.0.0.1"), cpus=cpus, cores=cores)


def load_words(
    host: Station, generator: str, paths: Mapping[str, Path | None], java: Path | None
) -> dict[str, str]:
    """Return what a generator's command names here -> what that is on the load's host.

    Raises:
        MissingTool: something of it is not there.
    """
    if host.here:
        return {}
    from harness.session.remote_hosts import words_there

    return words_there(host, generator, paths, java)
