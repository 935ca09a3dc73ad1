# SPDX-License-Identifier: Apache-2.0
"""wrk, for real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.wrk import Wrk
from harness.model import ClosedLoad, LoadProfile, LoadSummary
from harness.tests.contracts.load_generator import LoadGeneratorContract
from harness.tests.support.answering_server import AnsweringServer, order_of


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
def test_threads_divide_the_connections_so_that_none_is_lost(
    tmp_path: Path, users: int, threads: int
) -> None:
    program = tmp_path / "wrk"
    program.touch()
    argv = (
        Wrk(program=program, threads=2)
        .command(order_of(tmp_path, ClosedLoad(users=users, duration_s=1)))
        .argv
    )
    assert argv[argv.index("-t") + 1] == str(threads)
    assert argv[argv.index("-c") + 1] == str(users)
