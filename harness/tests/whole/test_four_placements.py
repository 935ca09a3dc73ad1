# SPDX-License-Identifier: Apache-2.0
"""One experiment in several places: here, in a container, and over SSH."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.agent.processes import alive
from harness.errors import InputError
from harness.measure.session import Assembly, measure, prepare
from harness.measure.session.wiring import stations
from harness.model import Outcome, TrialRecord, Variant
from harness.places.backing.postgres import find_home
from harness.places.hosts.local import LocalHost
from harness.places.hosts.ssh.host import SshHost
from harness.places.launchers.container import ContainerLauncher
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.store import SessionFolder
from harness.tests.contracts.launcher import LauncherContract
from harness.tests.support import dockerd
from harness.tests.support.available import only_in_ci, only_when_long, patient
from harness.tests.support.instances import OBEYS_WITHIN_S as GRACE_S
from harness.tests.support.instances import Project, eventually, make_project, read_implementation
from harness.tests.support.ledger_sessions import make_ledger_project
from harness.tests.support.namespace import Namespace, tidy_namespace
from harness.tests.support.postgres import postgres_tool, reachable_folder
from harness.tests.support.remote_sessions import (
    RemoteProject,
    plain_part,
    remote_assembly,
    remote_ledger_assembly,
    shape,
)
from harness.tests.support.sessions import LIMITS, calm_alone, make_session_project, tiny_assembly
from harness.tests.support.sshd import Sshd


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespace]:
    yield from tidy_namespace(os.getpid() + 8000)


@pytest.fixture(scope="module")
def sshd(apart: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with Sshd(tmp_path_factory.mktemp("sshd"), address=apart.far, prefix=apart.prefix) as started:
        yield started


@pytest.fixture(scope="module")
def far(sshd: Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    host = SshHost("bighost", sshd.settings(tmp_path_factory.mktemp("there"), grace_s=patient(20)))
    yield host
    host.close()


class TestHere(LauncherContract):
    @pytest.fixture
    def project(self, tmp_path: Path) -> Iterator[Project]:
        made = Project(tmp_path, grace_s=GRACE_S)
        yield made
        made.close()


class TestInAContainer(LauncherContract):
    @pytest.fixture
    def project(self, tmp_path: Path, daemon: dockerd.Daemon, base: Path) -> Iterator[dockerd.Contained]:
        made = dockerd.Contained(tmp_path, daemon, base)
        yield made
        made.close()


class TestOverSsh(LauncherContract):
    @pytest.fixture
    def project(self, tmp_path: Path, far: SshHost) -> Iterator[RemoteProject]:
        made = RemoteProject(tmp_path, far)
        yield made
        made.close()


def pinned(root: Path) -> Path:
    """Hold the services to one CPU."""
    file = root / "harness" / "experiments" / "tiny.toml"
    calm = '[variants.calm]\nimplementation = "misbehaving"\n'
    file.write_text(file.read_text().replace(calm, calm + 'runtime = { cpus = 1, pin = "limit" }\n'))
    return root


def tiny(assembly: Assembly, host: str, launcher: str) -> SessionFolder:
    prepared = prepare(assembly, "tiny", profile="smoke", host=host, seed=1, launcher=launcher)
    return measure(assembly, prepared, limits=LIMITS)


def test_places_give_the_same_records(
    far: SshHost, daemon: dockerd.Daemon, base: Path, tmp_path: Path
) -> None:
    root = pinned(calm_alone(make_session_project(tmp_path)))
    here, there = tiny_assembly(root), remote_assembly(root, far)
    docked = dataclasses.replace(here, launcher=dockerd.container_launcher(root, daemon, base))
    folders = (
        tiny(here, "local", "process"), tiny(docked, "local", "container"), tiny(there, "bighost", "process")
    )  # fmt: skip
    for folder in folders:
        assert folder.complete and folder.verify() == ()
    for records in zip(*(folder.records() for folder in folders), strict=True):
        assert [record.outcome for record in records] == [Outcome.OK] * 3
        local, contained, over_ssh = records
        assert plain_part(local) == plain_part(contained) == plain_part(over_ssh)
        assert shape(local.model_dump(mode="json")) == shape(over_ssh.model_dump(mode="json"))
        assert len({frozenset(record.files) for record in records}) == 1
        assert len({tuple(phase.name for phase in record.phases) for record in records}) == 1
        for record in records:
            assert record.instance is not None
            assert record.instance.cpus_allowed == record.instance.cpu_affinity
            assert len(record.instance.cpu_affinity) == 1


def test_containers_on_another_machine_are_refused_with_what_to_do(far: SshHost, tmp_path: Path) -> None:
    process = ProcessLauncher(LocalHost(), make_project(tmp_path), Tools())
    launcher = ContainerLauncher(process, tmp_path, host=far)
    program = read_implementation(tmp_path / "services/strings/misbehaving")
    reason = launcher.unavailable(program, Variant(implementation="misbehaving"))
    assert reason is not None and "run it on bighost" in reason


def measured_ledger(assembly: Assembly) -> list[TrialRecord]:
    """Measure the project with a database and an upstream; no money is lost, and both were sampled in time's order."""
    prepared = prepare(assembly, "tiny", profile="smoke", host="bighost", seed=1)
    folder = measure(assembly, prepared, limits=LIMITS)
    records = list(folder.records())
    for record in records:
        assert record.outcome == Outcome.OK, record.reason
        assert record.invariants and all(one.holds for one in record.invariants)
        rows = folder.open(record.planned.trial_id, "samples.csv").read().decode().splitlines()[1:]
        assert {row.split(",")[1] for row in rows} == {"service", "database", "upstream", "generator"}
        moments = [float(row.split(",")[0]) for row in rows]
        assert moments == sorted(moments)
    return records


@only_in_ci("a far session with a database and an upstream")
def test_database_and_upstream_beside_a_far_service_leave_nothing_there(sshd: Sshd, tmp_path: Path) -> None:
    root = calm_alone(make_ledger_project(tmp_path / "project", loops=10))
    with reachable_folder() as open_folder:
        programs = find_home(LocalHost(), postgres_tool(), open_folder).programs
        settings = sshd.settings(tmp_path / "base", postgres=str(programs), grace_s=patient(20))
        host = SshHost("bighost", settings)
        try:
            records = measured_ledger(remote_ledger_assembly(root, host))
            notes = (tmp_path / "base" / "sessions").glob("*/scratch/*")
            scratch = [Path(note.read_text()) for note in notes]
            assert scratch and all(one.is_dir() for one in scratch)
        finally:
            host.close()
        for record in records:
            assert [one.name for one in record.backing] == ["postgresql", "upstream"]
            assert all(one.exit_code is not None for one in record.backing)
            assert not [one for one in record.backing if alive(one.pid, one.process_start_ticks)]
            names = {name.removesuffix(".zst").removesuffix(".gz") for name in record.files}
            assert {"database.csv", "database.log"} <= names
        assert eventually(lambda: not [one for one in scratch if one.exists()])


@only_when_long("a database on a third machine")
def test_service_load_and_database_are_three_machines(apart: Namespace, sshd: Sshd, tmp_path: Path) -> None:
    root = calm_alone(make_ledger_project(tmp_path / "project", loops=100))
    with Sshd(tmp_path / "sshd", address=apart.near) as third, reachable_folder() as open_folder:
        programs = find_home(LocalHost(), postgres_tool(), open_folder).programs
        service = SshHost("bighost", sshd.settings(tmp_path / "base"), listen_address=apart.far)
        told = third.settings(tmp_path / "third", postgres=str(programs), service_address=apart.near)
        with closing(service), closing(SshHost("datahost", told)) as database:
            records = measured_ledger(remote_ledger_assembly(root, service, LocalHost(), database))
    for record in records:
        assert {(clock.role, clock.host) for clock in record.clocks} == {
            ("service", "bighost"), ("database", "datahost"),
        }  # fmt: skip
        assert record.instance is not None
        assert record.instance.environment["PGHOST"] == apart.near
        assert record.instance.environment["UPSTREAM_URL"].startswith(f"http://{apart.near}:")
        assert any(name.startswith("machine-database.csv") for name in record.files)


def test_a_database_on_this_machine_or_one_that_none_reaches_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text("[hosts.bighost]\n[hosts.datahost]\n")
    with pytest.raises(InputError, match="--database-host: .*found 'local'; allowed: bighost"):
        stations(tmp_path, "bighost", None, (), "local")
    with pytest.raises(InputError, match=r"hosts.datahost.service_address: .*found '127.0.0.1'"):
        stations(tmp_path, "local", None, (), "datahost")
