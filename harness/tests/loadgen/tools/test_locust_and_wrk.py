# SPDX-License-Identifier: Apache-2.0
"""Locust and wrk for real, and the fake load generator, which keeps the same contract."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.locust import Locust
from harness.loadgen.tools.wrk import Wrk
from harness.model import ClosedLoad, LoadProfile, LoadSummary
from harness.tests.contracts.flow import FlowContract, OpenFlowContract
from harness.tests.contracts.load_generator import (
    JsonValuesContract,
    LoadGeneratorContract,
    OpenLoopContract,
    offer,
)
from harness.tests.support.answering_server import AnsweringServer, answering_server, order_of
from harness.tests.support.fakes import FakeLoadGenerator


class TestLocust(LoadGeneratorContract, JsonValuesContract, FlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return Locust()


def test_a_load_by_duration_with_a_ramp_and_think_time_ends_by_itself(tmp_path: Path) -> None:
    with answering_server() as server:
        profile = ClosedLoad(users=2, duration_s=1.5, ramp_up_s=1, think_time_s=0.2)
        assert offer(Locust(), order_of(tmp_path, profile, endpoint=server.endpoint)).exit_code == 0
        summary = Locust().read(tmp_path)
        assert summary.n_requests == server.seen.total()
    assert summary.n_errors == 0
    assert 1 <= summary.n_requests <= 2 * 8  # no user can ask more often than its think time lets it


def test_a_user_who_is_done_while_others_still_come_is_not_replaced(tmp_path: Path) -> None:
    with answering_server() as server:
        order = order_of(tmp_path, ClosedLoad(users=6, loops=1, ramp_up_s=2), endpoint=server.endpoint)
        assert offer(Locust(), order).exit_code == 0
        assert server.seen.total() == Locust().read(tmp_path).n_requests == 6


class TestWrk(LoadGeneratorContract):
    one_row_per_request = False

    @pytest.fixture
    def generator(self) -> LoadGenerator:
        program = shutil.which("wrk")
        return Wrk(program=None if program is None else Path(program))

    @pytest.fixture
    def small(self) -> ClosedLoad:
        return ClosedLoad(users=4, duration_s=1)

    def check_counts(self, summary: LoadSummary, load: LoadProfile, server: AnsweringServer) -> None:
        """wrk leaves what is under way when its time is up, and cannot see a wrong body."""
        assert isinstance(load, ClosedLoad)
        assert server.seen.total() - load.users <= summary.n_requests <= server.seen.total()
        assert server.seen["/500"] - load.users <= summary.n_errors <= server.seen["/500"]
        assert summary.errors_by_kind == {"status": summary.n_errors}
        assert not summary.has_requests
        assert summary.latency_quantiles_s["p50"] <= summary.latency_quantiles_s["p99"]


@pytest.mark.parametrize(("users", "threads"), [(1, 1), (4, 2), (5, 1), (100, 2)])
def test_threads_divide_the_connections_so_that_none_is_lost(users: int, threads: int) -> None:
    argv = Wrk(program=Path("wrk")).argv(order_of(Path("/nowhere"), ClosedLoad(users=users, duration_s=1)))
    assert argv[1:5] == ("-t", str(threads), "-c", str(users))


class TestFake(LoadGeneratorContract, OpenLoopContract, FlowContract, OpenFlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return FakeLoadGenerator()
