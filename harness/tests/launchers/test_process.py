# SPDX-License-Identifier: Apache-2.0
"""Processes as instances: the launcher's contract, command lines, and what an instance tells of its end."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.agent.processes import group_members
from harness.errors import TrialFailure
from harness.model import Outcome, Variant
from harness.runner.start_up import wait_first_response
from harness.runner.warm_up import warm_up
from harness.tests.contracts.launcher import HELLO
from harness.tests.support.instances import OBEYS_WITHIN_S, Project
from harness.tests.support.patience import patient


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path, grace_s=OBEYS_WITHIN_S)
    yield made
    made.close()


def test_children_of_a_service_do_not_survive_it(project: Project) -> None:
    instance = project.launch(child=True)
    wait_first_response(instance, HELLO, patient(20))
    record = instance.record
    assert len(group_members(record.pid, record.process_start_ticks)) == 2
    instance.stop()
    assert group_members(record.pid, record.process_start_ticks) == ()


def test_the_record_holds_command_and_environment_as_started(project: Project) -> None:
    instance = project.launch_variant(
        Variant(implementation="misbehaving", settings={"face": "matched"}, lean=True),
        environment={"SEED": "1"},
        cpus=(min(os.sched_getaffinity(0)),),
    )
    wait_first_response(instance, HELLO, patient(20))
    record = instance.record
    running = Path(f"/proc/{record.pid}/cmdline").read_bytes().split(b"\0")[:-1]
    assert [word.decode() for word in running] == list(record.argv)
    assert record.argv[-2:] == ("--face=matched", "--lean")
    assert record.environment == {"SEED": "1"}
    assert record.cpu_affinity == tuple(os.sched_getaffinity(record.pid))
    assert record.cpu_limit == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"killed_after": 1}, None),
        ({"memory_error_after": 1}, "MemoryError: told to run out of memory"),
        ({"hang_on_stop": True}, None),
        ({"crash_after": 1}, None),
        ({}, None),
    ],
)
def test_only_a_service_that_says_so_ran_out_of_memory(
    project: Project, settings: dict[str, bool | int], words: str | None
) -> None:
    instance = project.launch(**settings)
    wait_first_response(instance, HELLO, patient(20))
    if any(name.endswith("_after") for name in settings):
        with pytest.raises(TrialFailure):
            warm_up(instance.endpoint, (HELLO,), 1)
    instance.stop()
    assert instance.out_of_memory() == words
    assert "killed_after" not in settings or instance.exited() == 137


def test_an_instance_whose_port_was_taken_says_so(project: Project) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        variant = Variant(implementation="misbehaving")
        project.launcher.build(project.implementation, variant)
        order = project.launcher.command(
            project.implementation,
            variant,
            folder=project.root,
            port=squatter.getsockname()[1],
        )
        process = project.host.spawn(order)
        assert process.wait(patient(20)) == 1
        process.stop(1)
    assert "taken" in (project.root / "service.stderr.txt").read_text()
    taken = project.launch(port_taken="always")
    with pytest.raises(TrialFailure, match="is taken"):
        wait_first_response(taken, HELLO, patient(20), stderr=taken.stderr_file)
    assert taken.port_taken()


def test_an_instance_of_a_build_that_is_gone_cannot_be_launched(project: Project) -> None:
    build = project.launcher.build(project.implementation, Variant(implementation="misbehaving"))
    other = build.model_copy(update={"source_sha256": "0" * 64})
    with pytest.raises(TrialFailure, match="gone from the cache") as caught:
        project.launch_variant(Variant(implementation="misbehaving"), build=other)
    assert caught.value.outcome == Outcome.FAILED
