# SPDX-License-Identifier: Apache-2.0
"""Locust, for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import MissingTool
from harness.loadgen.base import LoadGenerator, LoadSpec
from harness.loadgen.tools.locust import TOTALS, Locust
from harness.model import ClosedLoad, OpenLoad
from harness.model.endpoint import Endpoint
from harness.tests.contracts.flow import FlowContract
from harness.tests.contracts.load_generator import JsonValuesContract, LoadGeneratorContract, offer
from harness.tests.support.answering_server import answering_server, request_to


class TestLocust(LoadGeneratorContract, JsonValuesContract, FlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return Locust()


def test_an_open_loop_is_refused_and_another_tool_is_named() -> None:
    refusal = Locust().supports(OpenLoad(rate_per_s=10, duration_s=1), (request_to("/right"),))
    assert refusal is not None
    assert "jmeter" in refusal


def test_a_load_by_duration_with_a_ramp_and_think_time_ends_by_itself(tmp_path: Path) -> None:
    with answering_server() as server:
        order = LoadSpec(
            profile=ClosedLoad(users=2, duration_s=1.5, ramp_up_s=1, think_time_s=0.2),
            requests=(request_to("/right"),),
            endpoint=server.endpoint,
            folder=tmp_path,
        )
        assert offer(Locust(), order).exit_code == 0
        summary = Locust().read(tmp_path)
        assert (
            summary.n_requests
            == server.seen.total()
            == json.loads((tmp_path / TOTALS).read_text())["n_requests"]
        )
    assert summary.n_errors == 0
    assert 1 <= summary.n_requests <= 2 * 8  # no user can ask more often than its think time lets it


def test_an_interpreter_that_is_not_here_is_a_missing_tool(tmp_path: Path) -> None:
    order = LoadSpec(
        profile=ClosedLoad(users=1, loops=1),
        requests=(request_to("/right"),),
        endpoint=Endpoint(host="127.0.0.1", port=1),
        folder=tmp_path,
    )
    with pytest.raises(MissingTool, match="make setup"):
        Locust(python=tmp_path / "python").command(order)


def test_a_user_who_is_done_while_others_still_come_is_not_replaced(tmp_path: Path) -> None:
    with answering_server() as server:
        order = LoadSpec(
            profile=ClosedLoad(users=6, loops=1, ramp_up_s=2),
            requests=(request_to("/right"),),
            endpoint=server.endpoint,
            folder=tmp_path,
        )
        assert offer(Locust(), order).exit_code == 0
        assert server.seen.total() == Locust().read(tmp_path).n_requests == 6
