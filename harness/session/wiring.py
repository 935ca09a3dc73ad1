# SPDX-License-Identifier: Apache-2.0
"""From names to classes: the one place where load generators, launchers and hosts are chosen."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.machine_info import physical_cores
from harness.agent.platforms import usable_cpus
from harness.backing import BackingNeed, BackingSource, running
from harness.backing.postgres_source import Postgres
from harness.backing.upstream import IMPLEMENTATION as UPSTREAM
from harness.backing.upstream import Upstream
from harness.definitions import contract_of, load_implementations
from harness.errors import InputError, MissingTool
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.hosts.ssh.settings import LOCAL
from harness.launchers.base import Instance, Launcher, LaunchSpec
from harness.launchers.container import ContainerLauncher
from harness.launchers.process import ProcessLauncher, Training
from harness.launchers.tools import Tools, tools_among
from harness.loadgen.base import Installed, LoadGenerator
from harness.loadgen.parallel import shares
from harness.loadgen.tools import adapter_of
from harness.model import (
    LOAD_TOOLS,
    BackingName,
    BackingSettings,
    BuildRecord,
    Implementation,
    Load,
    LoadProfile,
    Variant,
)
from harness.model.load_tools import run_as
from harness.runner.context import SAMPLING_HZ
from harness.runner.speed_gate import SpeedGate
from harness.session.host_roles import HostRoles, this_machine
from harness.toolchains import Jdk, Surroundings, Tool, find_jdks, find_runtimes, find_tool, require_package

if TYPE_CHECKING:
    from harness.launchers.kubernetes import KubernetesLauncher

#: What measuring needs; asking every tool on the machine for its version takes seconds.
TOOLS = ("go", "jdk", "maven", *run_as("java", "program"), "postgres", "native-image")

LAUNCHERS = ("process", "container", "kubernetes")
#: What else a launcher is called.
ALSO = {"docker": "container", "k8s": "kubernetes"}


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """Everything behind the interfaces, for one project folder on one host.

    Tests put fakes here; nothing else knows the difference.
    """

    root: Path
    host: MeasuringHost
    launcher: Launcher
    generators: Mapping[str, Callable[[], LoadGenerator]]
    tools: tuple[Tool, ...] = ()
    places: Mapping[str, Path] = field(default_factory=dict)
    sampling_hz: float = SAMPLING_HZ
    load_host: MeasuringHost | None = None
    database_host: MeasuringHost | None = None
    stations: HostRoles | None = None
    load_words: Callable[[str], dict[str, str]] = lambda _generator: {}
    backing: Mapping[BackingName, BackingSource] = field(default_factory=dict)
    launch_command: Callable[[Implementation, Variant], tuple[str, ...]] = lambda _implementation, _variant: ()
    closing: Callable[[], None] = lambda: None
    #: Holds loads back until the CPUs have their usual speed; ``None``: nobody asked.
    speed_gate: SpeedGate | None = None

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        return self.stations.cpus if self.stations is not None else usable_cpus()

    @cached_property
    def cores(self) -> tuple[tuple[int, ...], ...]:
        """Which of them share a physical core."""
        if self.stations is not None:
            return self.stations.cores
        return tuple(tuple(core) for core in physical_cores(self.cpus))

    def close(self) -> None:
        """End what runs on far hosts or in a cluster, and the connections to them."""
        self.closing()
        if self.stations is not None:
            self.stations.close()

    def shares_of(self, load: Load) -> tuple[LoadProfile, ...]:
        """Return the load of each generator: as many on each load host as the load says.

        Raises:
            UnsupportedLoad: it cannot be divided so.
        """
        return shares(load.profile, load.processes)

    def generator(self, name: str) -> LoadGenerator:
        """Return the adapter of a load generator.

        Raises:
            MissingTool: there is no adapter for it yet.
        """
        if name not in self.generators:
            raise MissingTool(
                name,
                why="to offer the load",
                how_to_get=f"choose another generator in the experiment: {', '.join(sorted(self.generators))}",
            )
        return self.generators[name]()

    def versions(self) -> dict[str, str]:
        """Return tool -> version of every usable tool."""
        return {tool.name: tool.version or "unknown" for tool in self.tools if tool.usable}


def assemble(
    root: Path,
    *,
    host: str = "local",
    launcher: str = "process",
    load_host: str | None = None,
    database_host: str | None = None,
    tools: tuple[Tool, ...] | None = None,
) -> Assembly:
    """Return the real parts; ``close`` them when far hosts are among them.

    ``load_host``: where the load comes from, ``database_host``: where backing
    services stand; default: the service's own host.
    ``tools``: those of another assembly of this machine; ``None``: they are looked for.

    Raises:
        InputError: unknown host or launcher.
        HostError: a host cannot be reached or used.
    """
    launcher = launcher_name(launcher)
    if launcher == "kubernetes" and {host, load_host or LOCAL, database_host or LOCAL} != {LOCAL}:
        raise InputError(
            "a cluster is measured from its node", place="--launcher kubernetes", found=host,
            allowed=f"--host {LOCAL}",
        )  # fmt: skip
    around = Surroundings(project=root)
    tools = _look_for(around) if tools is None else tools
    paths = {tool.name: tool.path for tool in tools if tool.usable}
    jdks = find_jdks(around)
    launcher_tools = tools_among(tools, jdks, find_runtimes(around))
    this_host = LocalHost()
    places = stations(root, host, load_host, jdks, database_host)
    jmeter_jar = paths.get("jmeter")
    java = jdks[0].java if jdks else None
    installed = Installed(programs=paths, java=java, n_cpus=len(places.cpus))
    backing: dict[BackingName, BackingSource] = {}
    inside = launcher != "process"
    # what goes into a container is built, trimmed and trained with what is here, wherever it will run
    process = ProcessLauncher(
        this_host if inside else places.service,
        root,
        launcher_tools,
        training=training_of(root, backing),
        elsewhere=None if inside else places.elsewhere,
    )
    launchers: dict[str, Launcher] = {
        "process": process,
        "container": ContainerLauncher(process, root, host=places.service),
    }
    clustered = _pod_launcher(process, root) if launcher == "kubernetes" else None
    backing |= _backing(root, places, tools, launcher_tools, process)
    postgres = paths.get("postgres")

    def launch_command(implementation: Implementation, variant: Variant) -> tuple[str, ...]:
        command = process.command(implementation, variant, folder=root, port=8080)
        settings = tuple(f"{name}={value}" for name, value in sorted(command.environment.items()))
        return ("env", *settings, *command.argv) if settings else command.argv

    return Assembly(
        root=root,
        host=places.service if clustered is None else clustered.host,
        load_host=places.load,
        database_host=places.database,
        stations=places,
        load_words=lambda generator: places.words(places.load_host, generator, paths, java),
        launcher=launchers[launcher] if clustered is None else clustered,
        closing=(lambda: None) if clustered is None else clustered.close,
        backing=backing,
        launch_command=launch_command,
        generators={tool.name: partial(adapter_of, tool.name, installed) for tool in LOAD_TOOLS},
        tools=tools,
        places={
            "root": root,
            "python_env": Path(sys.prefix),
            **({"java_home": jdks[0].home} if jdks else {}),
            **({"native_image": native.parent} if (native := paths.get("native-image")) else {}),
            **places.named,
            **({"postgresql": postgres.resolve().parent} if postgres else {}),
            **({"jmeter_home": jmeter_jar.parent.parent} if jmeter_jar else {}),
        },
    )


def _pod_launcher(process: ProcessLauncher, root: Path) -> KubernetesLauncher | _WithoutClient:
    try:
        require_package("lightkube")
    except MissingTool as missing:
        return _WithoutClient(missing)
    # the client of clusters takes a while to load
    from harness.launchers.kubernetes import KubernetesLauncher

    return KubernetesLauncher(process, root)


class _WithoutClient:
    """A launcher of pods where the client of clusters is not installed: every variant is unavailable, and says so."""

    name = "kubernetes"

    def __init__(self, missing: MissingTool) -> None:
        self._missing, self.host = missing, LocalHost()

    def unavailable(self, _implementation: Implementation, _variant: Variant) -> str:
        return str(self._missing)

    def build(
        self, _implementation: Implementation, _variant: Variant, _backing: BackingSettings | None = None
    ) -> BuildRecord:
        raise self._missing

    def launch(self, _spec: LaunchSpec) -> Instance:
        raise self._missing

    def close(self) -> None:
        pass


def stations(
    root: Path, host: str, load_host: str | None, jdks: Sequence[Jdk], database_host: str | None = None
) -> HostRoles:
    """Return the hosts of these names; ``load_host``, ``database_host``: ``None`` for the service's own.

    Raises:
        InputError, HostError: as ``remote_hosts.connected``.
        MissingTool: there is no ssh on PATH.
    """
    if {host, load_host or LOCAL, database_host or LOCAL} == {LOCAL}:
        return this_machine()
    from harness.session.remote_hosts import connected  # what speaks SSH takes a while to load

    return connected(root, host, load_host, jdks, database_host)


def _backing(
    root: Path,
    places: HostRoles,
    tools: Sequence[Tool],
    launcher_tools: Tools,
    process: ProcessLauncher,
) -> dict[BackingName, BackingSource]:
    """Backing services stand on the services' own machine, or on one for them, as processes."""
    postgres: BackingSource
    if places.backing is None:
        postgres = Postgres(LocalHost(), root, next(tool for tool in tools if tool.name == "postgres"))
        beside = process
    else:
        postgres, beside = places.backing(places, root, launcher_tools, process)
    return {
        "postgresql": postgres,
        "upstream": Upstream(
            beside, lambda workload: load_implementations(root, workload).get(UPSTREAM), beside.host
        ),
    }


def launcher_name(word: str) -> str:
    """Return the launcher's own name.

    Raises:
        InputError: there is none of that name.
    """
    name = ALSO.get(word, word)
    if name not in LAUNCHERS:
        raise InputError("unknown launcher", place="--launcher", found=word, allowed=", ".join(LAUNCHERS))
    return name


def _look_for(around: Surroundings) -> tuple[Tool, ...]:
    with ThreadPoolExecutor() as asked:  # most of them are asked for their version, which takes a process
        return tuple(asked.map(lambda name: find_tool(name, around), TOOLS))


def training_of(root: Path, backing: Mapping[BackingName, BackingSource]) -> Training:
    """Return how a training start gets what its implementation needs; ``backing`` may be filled later."""

    @contextmanager
    def training(
        implementation: Implementation, settings: BackingSettings | None
    ) -> Iterator[Mapping[str, str]]:
        need = BackingNeed(
            workload=implementation.workload,
            contract=contract_of(root, implementation),
            settings=settings or BackingSettings(),
        )
        with (
            tempfile.TemporaryDirectory(prefix="rematch-training-") as folder,
            running(implementation.needs, backing, need, Path(folder)) as environment,
        ):
            yield environment

    return training
