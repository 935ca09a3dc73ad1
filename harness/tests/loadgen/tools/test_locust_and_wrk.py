# SPDX-License-Identifier: Apache-2.0
"""Locust and wrk for real, and the fake load generator, which keeps the same contract."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from harness.formats.wrk_histogram import LEFT, UNDONE, read_wrk_histogram
from harness.loadgen.base import LoadGenerator, LoadSpec
from harness.loadgen.tools.locust import Locust
from harness.loadgen.tools.wrk import HISTOGRAM, RESULT, Wrk
from harness.model import ClosedLoad, LoadProfile, LoadSummary
from harness.tests.contracts import load_generator as contract
from harness.tests.contracts.flow import FlowContract, OpenFlowContract
from harness.tests.support.answering_server import AnsweringServer, answering_server, order_of
from harness.tests.support.fakes import FakeLoadGenerator

WRK = Wrk(program=Path(shutil.which("wrk") or "/no/wrk"))


class TestLocust(contract.LoadGeneratorContract, contract.JsonValuesContract, FlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return Locust()


def test_a_load_by_duration_with_a_ramp_and_think_time_ends_by_itself(tmp_path: Path) -> None:
    with answering_server() as server:
        profile = ClosedLoad(users=2, duration_s=1.5, ramp_up_s=1, think_time_s=0.2)
        assert contract.offer(Locust(), order_of(tmp_path, profile, endpoint=server.endpoint)).exit_code == 0
        summary = Locust().read(tmp_path)
        assert summary.n_requests == server.seen.total()
    assert summary.n_errors == 0
    assert 1 <= summary.n_requests <= 2 * 8  # no user can ask more often than its think time lets it


def test_a_user_who_is_done_while_others_still_come_is_not_replaced(tmp_path: Path) -> None:
    with answering_server() as server:
        order = order_of(tmp_path, ClosedLoad(users=6, loops=1, ramp_up_s=2), endpoint=server.endpoint)
        assert contract.offer(Locust(), order).exit_code == 0
        assert server.seen.total() == Locust().read(tmp_path).n_requests == 6


class TestWrk(contract.LoadGeneratorContract):
    one_row_per_request = False

    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return WRK

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


class OtherLayout(Wrk):
    """A wrk that keeps its histogram in another way, as its script sees it."""

    def files(self, spec: LoadSpec) -> dict[str, str]:
        files = super().files(spec)
        return {name: text.replace("limit, min, max;", "limit, max, min;") for name, text in files.items()}


def test_of_a_service_that_stood_still_the_latencies_are_those_of_its_requests(tmp_path: Path) -> None:
    with answering_server() as server:
        process = contract.start(
            WRK, order_of(tmp_path, ClosedLoad(users=4, duration_s=2), endpoint=server.endpoint)
        )
        try:
            for _ in range(2):
                time.sleep(0.5)
                server.delay_s = 0.2
                time.sleep(0.1)
                server.delay_s = 0.0
            assert process.wait(timeout=contract.PATIENCE_S) == 0
        finally:
            contract.end(process)
    summary = WRK.read(tmp_path)
    assert (summary.latency_method, summary.n_latencies) == (UNDONE, summary.n_requests)
    assert summary.n_errors == 0 and summary.latency_mean_s is not None
    # what wrk says itself: requests that nobody sent, and more in flight than there are connections
    said = json.loads((tmp_path / RESULT).read_text())
    corrected = read_wrk_histogram(tmp_path / HISTOGRAM)
    assert corrected.n > summary.n_requests
    assert said["latency_us"]["mean"] / 1e6 == pytest.approx(corrected.mean_s, abs=1e-8)
    assert summary.latency_mean_s * summary.achieved_per_s <= 4
    # the ends are what they were: only what was made up between them is gone
    assert summary.latency_quantiles_s["max"] == said["latency_us"]["max"] / 1e6
    assert summary.latency_quantiles_s["min"] == said["latency_us"]["min"] / 1e6


def test_a_wrk_whose_histogram_cannot_be_read_reports_its_own_latencies_and_why(tmp_path: Path) -> None:
    with answering_server() as server:
        generator = OtherLayout(program=WRK.program)
        order = order_of(tmp_path, ClosedLoad(users=4, duration_s=1), endpoint=server.endpoint)
        assert contract.offer(generator, order).exit_code == 0
    summary = generator.read(tmp_path)
    us = json.loads((tmp_path / RESULT).read_text())["latency_us"]
    assert (summary.n_latencies, summary.latency_mean_s) == (None, us.pop("mean") / 1e6)
    del us["stdev"]
    assert summary.latency_quantiles_s == {name: value / 1e6 for name, value in us.items()}
    why = "its script could not read the histogram (this wrk keeps its histogram in another way)"
    assert summary.latency_method == f"{LEFT}: {why}"


class TestFake(contract.LoadGeneratorContract, contract.OpenLoopContract, FlowContract, OpenFlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return FakeLoadGenerator()
