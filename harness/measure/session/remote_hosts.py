# SPDX-License-Identifier: Apache-2.0
"""From the names of remote hosts to hosts over SSH: one for all roles, or one each; what tools are called there."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from harness.errors import HostError, InputError, MissingTool
from harness.measure.session.host_roles import HostRoles, this_machine
from harness.model.load_tools import BY_NAME
from harness.places.backing import BackingSource
from harness.places.backing.postgres_source import Postgres
from harness.places.hosts.base import Command
from harness.places.hosts.local import LocalHost
from harness.places.hosts.measuring import MeasuringHost
from harness.places.hosts.ssh.host import LOOPBACK, SshHost, find_remote_jdks
from harness.places.hosts.ssh.settings import FILE, LOCAL, load_settings
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Elsewhere, Tools
from harness.toolchains import Jdk, Tool


def connected(
    root: Path, host: str, load_host: str | None, jdks: Sequence[Jdk], database_host: str | None
) -> HostRoles:
    """Connect to the hosts of these names, of which one at least is not this machine.

    Raises:
        InputError: a name is unknown, stands twice, or ``hosts.toml`` is wrong, or a database is to stand on
            this machine and its service elsewhere.
        HostError: one cannot be reached, or is not the machine that is known by that name.
    """
    if database_host == LOCAL != host:
        raise InputError(
            "the database of a remote service must be on the same host or on another remote host, not on this machine",
            place="--database-host", found=database_host, allowed=f"{host}, or another host of {FILE}",
        )  # fmt: skip
    if load_host is not None and "," in load_host:
        raise InputError(
            "the load comes from one host", place="--load-host", found=load_host,
            allowed="one name",
        )  # fmt: skip
    apart = load_host not in (None, host)
    settings = load_settings(root, host)
    address = settings.service_address if apart else "127.0.0.1"
    local = this_machine(address)
    service, cpus, cores = local.service, local.cpus, local.cores
    elsewhere: Elsewhere | None = None
    if host != LOCAL:
        service = SshHost(host, settings, listen_address=address)
        cpus, cores = service.cpus, service.cores
        elsewhere = dataclasses.replace(
            _beside(service), jdks=find_remote_jdks(service, jdks[0].version if jdks else None)
        )
    load: MeasuringHost | None = None
    database: SshHost | None = None
    try:
        if apart:
            of_load = load_settings(root, str(load_host))
            is_here = load_host == LOCAL
            load = (
                LocalHost(listen_address=of_load.service_address)
                if is_here
                else SshHost(str(load_host), of_load)
            )
        if database_host not in (None, host):
            database = _database_station(root, str(database_host), load)
    except BaseException:
        RemoteRoles(service=service, load=load, cpus=cpus).close()
        raise
    machines = {"service": service, "database": database, "load": load}
    facts = {role: item.machine_facts for role, item in machines.items() if isinstance(item, SshHost)}
    return RemoteRoles(
        service=service,
        load=load,
        database=database,
        elsewhere=elsewhere,
        cpus=cpus,
        cores=cores,
        machines=facts,
    )


class RemoteRoles(HostRoles):
    """The machines of a session, hosts over SSH among them."""

    @property
    def named(self) -> dict[str, Path]:
        roles = {"far": self.service, "far_load": self.load, "far_database": self.database}
        names = {
            role: Path(station.agent.base) for role, station in roles.items() if isinstance(station, SshHost)
        }
        if self.elsewhere is not None and self.elsewhere.jdks:
            names["far_java_home"] = self.elsewhere.jdks[0].home
        return names

    def words(self, generator: str, paths: Mapping[str, Path | None], java: Path | None) -> dict[str, str]:
        return words_there(self.load or self.service, generator, paths, java)

    def backing(
        self, root: Path, postgres: Tool, tools: Tools, process: ProcessLauncher
    ) -> tuple[BackingSource, ProcessLauncher]:
        far = self.database or self.service
        if not isinstance(far, SshHost):
            return super().backing(root, postgres, tools, process)
        source = Postgres(far, open_to_others=self.database is not None)
        if process.host is far:
            return source, process
        return source, ProcessLauncher(far, root, tools, elsewhere=_beside(far))

    def close(self) -> None:
        for station in (self.service, self.load, self.database):
            if isinstance(station, SshHost):
                station.close()


def _beside(far: SshHost) -> Elsewhere:
    return Elsewhere(builds_on=LocalHost(), python=far.agent.python, architecture=far.architecture)


def _database_station(root: Path, name: str, load: MeasuringHost | None) -> SshHost:
    """The host of backing services: the load's, where that is the same, for two agents refuse each other."""
    if isinstance(load, SshHost) and load.name == name:
        return load
    settings = load_settings(root, name)
    if settings.service_address in LOOPBACK:
        raise InputError(
            "a database for services of other machines must listen where those reach it",
            file=FILE, place=f"hosts.{name}.service_address", found=settings.service_address,
            allowed="an address of that host in the network that it shares with the others",
        )  # fmt: skip
    return SshHost(name, settings)


def words_there(
    host: MeasuringHost, generator: str, paths: Mapping[str, Path | None], java: Path | None
) -> dict[str, str]:
    """Return what a generator's command names here -> what that is on a far host.

    JMeter is sent over, once; Java, Python with Locust, and single programs must be there.

    Raises:
        MissingTool: one of them is not.
    """
    if not isinstance(host, SshHost):
        return {}
    runs_as, words = BY_NAME[generator].runs_as, dict[str, str]()
    if runs_as == "java":
        jar, jdks = paths.get(generator), find_remote_jdks(host, None)
        if not jdks:
            raise _missing("java", host)
        if jar is not None and java is not None:
            home = jar.parent.parent
            words = {str(java): str(jdks[0].java), str(home): str(host.install(home))}
    elif runs_as == "python":
        words = {sys.executable: _python_with(generator, host)}
    elif paths.get(generator) is not None:
        program = host.which(generator)[generator]
        if program is None:
            raise _missing(generator, host)
        words = {str(paths[generator]): program}
    return words


def _python_with(tool: str, host: SshHost) -> str:
    """The Python that has the tool: the one its own script names, or the one the agent runs on."""
    script = host.which(tool)[tool]
    tried = [str(Path(script).with_name("python"))] if script is not None else []
    for python in (*tried, host.agent.python):
        command = Command(argv=(python, "-c", f"import {tool}"), folder=Path("/"))
        with suppress(HostError):  # it is not there: the next one
            if host.run(command, 60.0).exit_code == 0:
                return python
    raise _missing(tool, host)


def _missing(tool: str, host: SshHost) -> MissingTool:
    return MissingTool(
        f"{tool} on {host.name}",
        why="to offer the load from there",
        how_to_get="install it there, or offer the load from here: "
        f"--load-host {LOCAL} (and service_address in {FILE})",
    )
