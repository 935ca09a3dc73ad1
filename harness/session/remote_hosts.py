# SPDX-License-Identifier: Apache-2.0
"""From the names of remote hosts to hosts over SSH: one for all roles, or one each; what tools are called there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from harness.agent.machine_info import physical_cores
from harness.agent.platforms import usable_cpus
from harness.backing.postgres_source import Postgres
from harness.errors import HostError, InputError, MissingTool
from harness.hosts.base import Command
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.hosts.ssh.host import LOOPBACK, SshHost, find_remote_jdks
from harness.hosts.ssh.settings import FILE, LOCAL, load_settings
from harness.launchers.process import ProcessLauncher
from harness.launchers.tools import Elsewhere, Tools
from harness.model.load_tools import BY_NAME
from harness.session.host_roles import HostRoles
from harness.toolchains import Jdk


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
            allowed="one name; more generators on that host: processes of the load",
        )  # fmt: skip
    apart = load_host not in (None, host)
    settings = load_settings(root, host)
    address = settings.service_address if apart else "127.0.0.1"
    if host == LOCAL:
        service: MeasuringHost = LocalHost(listen_address=address)
        cpus = usable_cpus()
        cores = tuple(tuple(core) for core in physical_cores(cpus))
        elsewhere = None
    else:
        far = SshHost(host, settings, listen_address=address)
        service, cpus, cores = far, far.cpus, far.cores
        elsewhere = Elsewhere(
            builds_on=LocalHost(),
            jdks=find_remote_jdks(far, jdks[0].version if jdks else None),
            python=far.agent.python,
            architecture=far.architecture,
        )
    load: MeasuringHost | None = None
    database: SshHost | None = None
    try:
        if apart:
            load = _load_station(root, str(load_host))
        if database_host not in (None, host):
            database = _database_station(root, str(database_host), load)
    except BaseException:
        HostRoles(service=service, load=load, cpus=cpus).close()
        raise
    machines = {"service": service, "database": database, "load": load}
    facts = {role: item.machine_facts for role, item in machines.items() if isinstance(item, SshHost)}
    return HostRoles(
        service=service,
        load=load,
        database=database,
        elsewhere=elsewhere,
        cpus=cpus,
        cores=cores,
        machines=facts,
        words=words_there,
        backing=None if service.is_local and database is None else remote_backing,
    )


def _load_station(root: Path, name: str) -> MeasuringHost:
    settings = load_settings(root, name)
    return LocalHost(listen_address=settings.service_address) if name == LOCAL else SshHost(name, settings)


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


def remote_backing(
    roles: HostRoles, root: Path, tools: Tools, process: ProcessLauncher
) -> tuple[Postgres, ProcessLauncher]:
    """Return the database of a far host, and what starts processes beside it: on the host of the backing
    services, or on the service's; ``process`` starts services."""
    far = roles.database or roles.service
    assert isinstance(far, SshHost)  # the caller asks for no other
    postgres = Postgres(far, open_to_others=roles.database is not None)
    if process.host is far:
        return postgres, process
    elsewhere = Elsewhere(builds_on=LocalHost(), python=far.agent.python, architecture=far.architecture)
    return postgres, ProcessLauncher(far, root, tools, elsewhere=elsewhere)


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
