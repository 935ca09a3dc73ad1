# SPDX-License-Identifier: Apache-2.0
"""Sessions on far hosts for tests: the small project, measured on a real sshd's machine."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.backing import BackingSource
from harness.backing.postgres_source import Postgres
from harness.backing.upstream import Upstream
from harness.definitions import load_implementations
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.hosts.ssh.host import SshHost
from harness.launchers.process import ProcessInstance, ProcessLauncher
from harness.launchers.tools import Elsewhere, Tools
from harness.model import BackingName, TrialRecord
from harness.session import Assembly, measure, prepare
from harness.session.host_roles import HostRoles
from harness.store import SessionFolder
from harness.tests.support.instances import OBEYS_WITHIN_S, Started, eventually, make_project
from harness.tests.support.sessions import LIMITS, tiny_assembly, without_duplicates

#: Of a container's record, and of no plain process': what is known of an image.
OF_CONTAINERS = ("container", "runtime_bytes", "runtime_version")


def remote_assembly(root: Path, far: SshHost, load: MeasuringHost | None = None) -> Assembly:
    """The small project's parts, with its services on ``far``."""
    places = HostRoles(
        service=far, load=load, elsewhere=elsewhere(), cpus=far.cpus, machines={"service": far.machine_facts}
    )
    launcher = ProcessLauncher(far, root, Tools(), grace_s=OBEYS_WITHIN_S, elsewhere=elsewhere())
    beside = {"root": root, "python_env": Path(sys.prefix), **places.named}
    return tiny_assembly(root, launcher, load_host=load, stations=places, places=beside)


def remote_ledger_assembly(
    root: Path, far: SshHost, load: MeasuringHost | None = None, database: SshHost | None = None
) -> Assembly:
    """The small project with a database and an upstream API, on ``far`` or on a host of their own."""
    where = database or far
    beside = ProcessLauncher(where, root, Tools(), grace_s=OBEYS_WITHIN_S, elsewhere=elsewhere())
    backing: dict[BackingName, BackingSource] = {
        "postgresql": Postgres(where, open_to_others=database is not None),
        "upstream": Upstream(
            beside, lambda workload: load_implementations(root, workload).get("upstream-api"), where
        ),
    }
    return dataclasses.replace(remote_assembly(root, far, load), backing=backing, database_host=database)


def elsewhere() -> Elsewhere:
    """A machine that is this one under another address."""
    return Elsewhere(builds_on=LocalHost(), python=sys.executable)


class RemoteProject(Started[ProcessLauncher, ProcessInstance]):
    """A project with a launcher of processes on a far host."""

    def __init__(self, root: Path, far: SshHost) -> None:
        launcher = ProcessLauncher(
            far, make_project(root), Tools(), grace_s=OBEYS_WITHIN_S, elsewhere=elsewhere()
        )
        super().__init__(root, far, launcher, launcher.launch)


def measure_remote(
    root: Path, far: SshHost, load: MeasuringHost | None = None, *, duplicates: bool = True
) -> SessionFolder:
    """Measure the small project there; ``duplicates``: with the second trial of the reference."""
    assembly = remote_assembly(root, far, load)
    prepared = prepare(assembly, "tiny", profile="smoke", host="bighost", seed=1)
    return measure(assembly, prepared if duplicates else without_duplicates(prepared), limits=LIMITS)


def shape(value: Any) -> Any:
    """What a record is made of, whatever was measured."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items() if name not in ("clocks", "files", "flags")}
    return type(value).__name__ if not isinstance(value, list) else "list"


def plain_part(record: TrialRecord) -> Any:
    """What a record is made of that a plain process has as well as a container."""
    said = shape(record.model_dump(mode="json"))
    said["instance"] = {name: kind for name, kind in said["instance"].items() if name not in OF_CONTAINERS}
    return said


def when(holds: Callable[[], bool], act: Callable[[], object]) -> Callable[[], None]:
    """Return what waits for something and then acts, for a thread beside a session."""

    def wait() -> None:
        assert eventually(holds, within_s=60)
        act()

    return wait
