# SPDX-License-Identifier: Apache-2.0
"""What every launcher keeps, tried with the misbehaving service. Subclass and give it a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.agent.http_exchange import Connection, request_bytes
from harness.agent.processes import alive
from harness.errors import InputError, TrialFailure
from harness.measure.runner.start_up import wait_first_response
from harness.model import Outcome, StartUp
from harness.places.launchers.base import Instance
from harness.tests.support.available import patient
from harness.tests.support.instances import CONTRACT, Started, eventually
from harness.workloads import load_all_requests

HELLO = load_all_requests(CONTRACT)[0]


#: A project in one kind of place, whatever its launcher and instances are.
AProject = Started[Any, Any]


def answered(project: AProject, instance: Instance) -> StartUp:
    """Wait for the first answer, asked where the instance runs."""
    return wait_first_response(instance, HELLO, patient(20), host=project.host)


class LauncherContract:
    """Needs a fixture ``project``."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> AProject:
        # Abstract: pytest never collects this base class, so only a subclass that forgot its part gets here.
        raise NotImplementedError("the subclass brings the project")

    def test_launch_returns_before_the_service_is_ready(self, project: AProject) -> None:
        instance = project.launch(never_ready="silent")
        assert instance.exited() is None
        assert alive(instance.record.pid, instance.record.process_start_ticks)
        instance.stop()

    def test_a_service_answers_where_its_endpoint_says(self, project: AProject) -> None:
        instance, other = project.launch(), project.launch()
        assert instance.record.port != other.record.port
        started = answered(project, instance)
        assert started.time_to_first_response_s > 0
        assert instance.endpoint.port == instance.record.port
        near = project.host.reach(instance.endpoint)
        with Connection(near) as connection:
            answer = connection.exchange(request_bytes("GET", "/health", {}, None, near))
        assert answer.body == b'{"status":"up"}'
        instance.stop()
        answered(project, other)
        other.stop()

    def test_an_obedient_service_ends_by_sigterm_as_the_record_says(self, project: AProject) -> None:
        instance = project.launch()
        answered(project, instance)
        assert instance.record.exit_code is None
        record = instance.stop()
        assert (record.stop_signal, record.exit_code) == ("SIGTERM", 0)
        assert record.stop_s is not None
        assert instance.record == record == instance.stop()
        assert instance.exited() == 0

    def test_a_service_that_hangs_on_stop_is_killed(self, project: AProject) -> None:
        instance = project.launch(hang_on_stop=True)
        answered(project, instance)
        record = instance.stop()
        assert (record.stop_signal, record.exit_code) == ("SIGKILL", 137)

    def test_a_service_that_ended_by_itself_is_recorded_as_exited(self, project: AProject) -> None:
        instance = project.launch(fail_start="no thanks")
        with pytest.raises(TrialFailure, match="exited with 3") as caught:
            answered(project, instance)
        assert caught.value.outcome == Outcome.FAILED
        record = instance.stop()
        assert (record.stop_signal, record.exit_code) == ("exited", 3)

    def test_a_setting_the_service_does_not_know_is_refused_by_name(self, project: AProject) -> None:
        with pytest.raises(InputError, match=r"service\.toml: settings: .*'colour'.*allowed: face, logging"):
            project.launch(colour="blue")

    def test_every_file_of_an_instance_is_below_its_folder(self, project: AProject, tmp_path: Path) -> None:
        instance = project.launch(log_file="access.log", port_taken="once")
        assert eventually(lambda: instance.exited() is not None)
        instance.stop()
        project.fetch()
        assert [path.parent.name for path in tmp_path.rglob("port-was-taken")] == ["trial-1"]
