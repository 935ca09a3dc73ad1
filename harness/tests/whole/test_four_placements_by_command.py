# SPDX-License-Identifier: Apache-2.0
"""One file of an experiment, with the project's own services, by the command line in four places.

As in ``test_four_placements.py`` the far machine is a network namespace with an sshd and a Docker daemon of its own.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.cli.measure import measure_command
from harness.store import SessionFolder, Store
from harness.tests.support.available import not_asked_for, only_when_long, program_or_not_run
from harness.tests.support.dockerd import Daemon, tidy_daemon
from harness.tests.support.namespace import Namespace, tidy_namespace
from harness.tests.support.patience import patient
from harness.tests.support.real_root import cut_down, make_real_root
from harness.tests.support.remote_sessions import plain_part, shape
from harness.tests.support.sshd import Sshd
from harness.tests.support.tiny_java import reference_jdk


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespace]:
    yield from tidy_namespace(os.getpid() + 4000)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    yield from tidy_daemon(tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def remote_daemon(apart: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    yield from tidy_daemon(tmp_path_factory.mktemp("docker-there"), apart.prefix)


@only_when_long("four places by the command line; test_four_placements.py has them in every run")
@pytest.mark.parametrize(("uncut", "n_trials"), [(False, 3), (True, 6)], ids=["cut down", "as it is"])
def test_one_file_of_an_experiment_gives_the_same_records_in_all_four_places(
    uncut: bool, n_trials: int,
    apart: Namespace, daemon: Daemon, remote_daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Real services by the command line. As it is the file takes minutes, with JMeter and its headroom."""
    if uncut and os.environ.get("REMATCH_UNCUT_TESTS") != "1":
        not_asked_for("strings-rounds uncut in four places (minutes; REMATCH_UNCUT_TESTS=1)")
    if not uncut:
        program_or_not_run("wrk")
    java = {"JAVA_HOME": str(reference_jdk().home)}
    sshd = Sshd(tmp_path / "sshd", address=apart.far, prefix=apart.prefix, environment=java)
    settings = sshd.settings(tmp_path / "base", docker=remote_daemon.address, grace_s=patient(20))
    root = make_real_root(
        tmp_path / "root", ("strings", "echo") if uncut else ("strings",), {"bighost": settings}
    )
    file = "strings-rounds" if uncut else str(cut_down("strings-rounds", tmp_path))
    for name in ("REMATCH_JAVA_BASE_IMAGE", "REMATCH_GO_BASE_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REMATCH_ROOT", str(root))
    monkeypatch.setenv("DOCKER_HOST", daemon.address)
    sshd.start()
    try:
        folders = {}
        for host, launcher in itertools.product(("local", "bighost"), ("process", "docker")):
            measure_command(file, profile="smoke", host=host, launcher=launcher, as_json=True)
            said = json.loads(capsys.readouterr().out)
            assert said["complete"] and said["outcomes"] == {"ok": n_trials}, said
            experiment, _, session = said["session"].partition("/")
            folders[host, launcher] = Store(root).session(experiment, session)
    finally:
        sshd.die()
    _same_records(folders)
    variants = {record.planned.configuration.variant_name for record in folders["local", "process"].records()}
    assert variants == {"go-nethttp", "java-jdkhttp"}


def _same_records(folders: Mapping[tuple[str, str], SessionFolder]) -> None:
    """Of one kind on both machines; of both kinds but for what is known of a container alone."""
    (local, docker, ssh, ssh_docker) = (list(folder.records()) for folder in folders.values())
    for records in zip(local, docker, ssh, ssh_docker, strict=True):
        process, contained, far_process, far_contained = (one.model_dump(mode="json") for one in records)
        assert shape(process) == shape(far_process)
        assert shape(contained) == shape(far_contained)
        assert plain_part(records[0]) == plain_part(records[1])
        assert len({frozenset(record.files) for record in records}) == 1
        assert len({tuple(phase.name for phase in record.phases) for record in records}) == 1
    for folder in folders.values():
        assert folder.verify() == ()
        assert not folder.header.unavailable
