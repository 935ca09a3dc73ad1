# SPDX-License-Identifier: Apache-2.0
"""Locust, for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.locust import TOTALS, Locust
from harness.model import ClosedLoad
from harness.tests.contracts.flow import FlowContract
from harness.tests.contracts.load_generator import JsonValuesContract, LoadGeneratorContract, offer
from harness.tests.support.answering_server import answering_server, order_of


class TestLocust(LoadGeneratorContract, JsonValuesContract, FlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return Locust()


def test_a_load_by_duration_with_a_ramp_and_think_time_ends_by_itself(tmp_path: Path) -> None:
    with answering_server() as server:
        profile = ClosedLoad(users=2, duration_s=1.5, ramp_up_s=1, think_time_s=0.2)
        assert offer(Locust(), order_of(tmp_path, profile, endpoint=server.endpoint)).exit_code == 0
        summary = Locust().read(tmp_path)
        assert (
            summary.n_requests
            == server.seen.total()
            == json.loads((tmp_path / TOTALS).read_text())["n_requests"]
        )
    assert summary.n_errors == 0
    assert 1 <= summary.n_requests <= 2 * 8  # no user can ask more often than its think time lets it


def test_a_user_who_is_done_while_others_still_come_is_not_replaced(tmp_path: Path) -> None:
    with answering_server() as server:
        order = order_of(tmp_path, ClosedLoad(users=6, loops=1, ramp_up_s=2), endpoint=server.endpoint)
        assert offer(Locust(), order).exit_code == 0
        assert server.seen.total() == Locust().read(tmp_path).n_requests == 6
