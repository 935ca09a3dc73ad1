# SPDX-License-Identifier: Apache-2.0
"""Containers as instances, with a real Docker daemon that the tests start in a folder of their own."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from harness.errors import HostError, InputError, RematchError, TrialFailure
from harness.measure.runner.start_up import wait_first_response
from harness.measure.runner.warm_up import warm_up
from harness.measure.session import assemble, measure, prepare
from harness.model import Outcome, RuntimeSettings, Variant
from harness.places.hosts.local import LocalHost
from harness.places.launchers.container import ContainerLauncher
from harness.places.launchers.images import LABEL, OWNER, project_label
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.tests.contracts.launcher import HELLO
from harness.tests.support import dockerd
from harness.tests.support.available import patient
from harness.tests.support.dockerd import Contained, Daemon, client_of
from harness.tests.support.instances import eventually, make_project, read_implementation
from harness.tests.support.remote_sessions import when
from harness.tests.support.sessions import LIMITS, make_session_project, running_below, tiny_assembly


@pytest.fixture
def project(tmp_path: Path, daemon: Daemon, base: Path) -> Iterator[Contained]:
    made = Contained(tmp_path, daemon, base)
    yield made
    made.close()


def test_the_record_holds_limits_layers_and_both_memory_accounts(project: Contained, daemon: Daemon) -> None:
    runtime = RuntimeSettings(cpus=1, memory_limit="256m")
    instance = project.launch_variant(Variant(implementation="misbehaving", runtime=runtime), cpus=(0,))
    wait_first_response(instance, HELLO, patient(20))
    inside = Path(f"/proc/{instance.record.pid}/cmdline").read_bytes().split(b"\0")
    assert b"/service/service.py" in inside
    assert instance.record.pid in dockerd.processes_in_containers(daemon.folder)
    around = instance.stop().container
    assert around is not None
    assert (around.network, around.cpuset, around.cpu_quota) == ("host", "0", 1.0)
    assert around.memory_limit_bytes == 256 * 2**20
    assert around.image_bytes == sum(around.layer_bytes)
    reading = around.at_stop
    assert reading is not None
    assert reading.memory_bytes is not None and reading.rss_bytes is not None
    assert 0 < reading.memory_bytes <= (reading.memory_max_bytes or reading.memory_bytes)
    assert reading.rss_bytes > 2**20
    assert reading.cpu_s is not None and reading.process_cpu_s is not None
    assert reading.cpu_s >= 0.5 * reading.process_cpu_s > 0


def test_secrets_reach_the_service_and_neither_record_nor_image_nor_command_line(project: Contained) -> None:
    variant = Variant(implementation="misbehaving")
    instance = project.launch_variant(variant, environment={"PGPASSWORD": "secret-word", "PGPORT": "1"})
    environment = Path(f"/proc/{instance.record.pid}/environ").read_bytes()
    assert b"PGPASSWORD=secret-word" in environment
    assert "secret-word" not in instance.record.model_dump_json()
    assert instance.record.environment["PGPASSWORD"] == "***"
    assert "secret-word" not in Path(f"/proc/{instance.record.pid}/cmdline").read_text()
    around = instance.record.container
    assert around is not None
    assert "secret-word" not in str(project.client.images.get(around.image_id).history())
    instance.stop()


def test_a_container_over_its_memory_limit_ran_out_of_memory(project: Contained) -> None:
    runtime = RuntimeSettings(memory_limit="64m")
    variant = Variant(implementation="misbehaving", runtime=runtime, settings={"grow_bytes": 30_000_000})
    instance = project.launch_variant(variant)
    wait_first_response(instance, HELLO, patient(20))
    with pytest.raises(TrialFailure):
        warm_up(instance.endpoint, (HELLO,), 20)
    instance.stop()
    assert instance.out_of_memory() == "killed by the kernel: the container's memory limit was reached"


def test_containers_of_a_harness_that_is_gone_are_removed_and_no_others(project: Contained) -> None:
    living = project.launch()
    gone = subprocess.Popen(["true"])
    gone.wait()
    labels = {LABEL: project_label(project.root), OWNER: f"{gone.pid}:1"}
    image = living.record.container.image_id if living.record.container else ""
    left = project.client.containers.create(image, "/bin/true", labels=labels)
    other = {LABEL: "another-project", OWNER: "1:1"}
    foreign = project.client.containers.create(image, "/bin/true", labels=other)
    project.launcher.sweep_left()
    there = {container.id for container in project.client.containers.list(all=True)}
    assert left.id not in there
    assert foreign.id in there
    assert living.exited() is None
    foreign.remove()


def test_a_container_that_cannot_be_started_is_a_failed_trial_and_leaves_nothing(project: Contained) -> None:
    start = ("no-such-program", *project.implementation.start[1:])
    absent = project.implementation.model_copy(update={"start": start})
    with pytest.raises(TrialFailure, match="did not start it.*no-such-program") as caught:
        project.launch_variant(Variant(implementation="misbehaving"), absent)
    assert caught.value.outcome == Outcome.FAILED
    assert project.containers() == []


@pytest.mark.parametrize("step", ["create_container", "start", "inspect_container"])
def test_an_early_signal_leaves_none(project: Contained, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    done = getattr(docker.APIClient, step)
    seen: list[str] = []
    project.launcher.build(project.implementation, Variant(implementation="misbehaving"))
    with monkeypatch.context() as patch:

        def interrupted(client: docker.APIClient, *order: object, **more: object) -> None:
            done(client, *order, **more)
            patch.undo()
            seen.extend(container.status for container in project.containers())
            raise KeyboardInterrupt

        patch.setattr(docker.APIClient, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            project.launch()
    assert seen == ["created" if step == "create_container" else "running"]
    assert project.containers() == []


def test_a_daemon_that_dies_stops_a_session_that_goes_on(daemon: Daemon, base: Path, tmp_path: Path) -> None:
    root = make_session_project(tmp_path, other="slow_s = 0.1", loops=20)
    assembly = dataclasses.replace(
        tiny_assembly(root), launcher=dockerd.container_launcher(root, daemon, base)
    )
    prepared = prepare(assembly, "tiny", profile="smoke", host="local", seed=1, launcher="container")
    crash = threading.Thread(target=when(lambda: bool(running_below(root)), daemon.die))
    crash.start()
    try:
        with pytest.raises(HostError, match="no Docker daemon answers at .*; start the daemon again") as stop:
            measure(assembly, prepared, limits=LIMITS)
    finally:
        crash.join()
        daemon.start()
    assert "\n" not in str(stop.value)
    assert eventually(lambda: not dockerd.processes_in_containers(daemon.folder))
    folder = measure(assembly, prepared, limits=LIMITS)
    assert folder.complete and folder.verify() == ()
    assert [record.outcome for record in folder.records()] == [Outcome.OK] * 3
    with contextlib.closing(client_of(daemon)) as client:
        assert client.containers.list(all=True) == []


def test_without_a_daemon_the_variant_is_unavailable_with_the_way_to_one(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    process = ProcessLauncher(LocalHost(), root, Tools())
    launcher = ContainerLauncher(process, root, address=f"unix://{tmp_path}/no.sock")
    implementation = read_implementation(root / "services/strings/misbehaving")
    reason = launcher.unavailable(implementation, Variant(implementation="misbehaving"))
    assert reason is not None
    assert re.match(
        r"no Docker daemon answers \(at unix://.*/no\.sock: .*\): it is required to measure .*; install it with: .*docker",
        reason,
    )
    with pytest.raises(RematchError, match="no Docker daemon answers"):
        launcher.build(implementation, Variant(implementation="misbehaving"))


def test_an_unknown_launcher_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--launcher.*'boat'.*allowed: process, container"):
        assemble(tmp_path, launcher="boat")
