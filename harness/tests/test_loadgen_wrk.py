# SPDX-License-Identifier: Apache-2.0
"""wrk, for real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.loadgen.base import LoadGenerator
from harness.loadgen.wrk import Wrk
from harness.model import ClosedLoad, LoadSummary
from harness.tests.answering_server import AnsweringServer
from harness.tests.contracts.load_generator import LoadGeneratorContract


class TestWrk(LoadGeneratorContract):
    one_row_per_request = False

    @pytest.fixture(scope="class")
    def generator(self) -> LoadGenerator:
        program = shutil.which("wrk")
        return Wrk(program=None if program is None else Path(program))

    @pytest.fixture(scope="class")
    def small(self) -> ClosedLoad:
        return ClosedLoad(users=4, duration_s=1)

    def check_counts(self, summary: LoadSummary, load: ClosedLoad, server: AnsweringServer) -> None:
        """wrk leaves what is under way when its time is up, and cannot see a wrong body."""
        assert server.seen.total() - load.users <= summary.n_requests <= server.seen.total()
        assert server.seen["/500"] - load.users <= summary.n_errors <= server.seen["/500"]
        assert summary.errors_by_kind == {"status": summary.n_errors}
        assert not summary.has_requests
        assert summary.latency_quantiles_s["p50"] <= summary.latency_quantiles_s["p99"]
