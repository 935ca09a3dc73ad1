# SPDX-License-Identifier: Apache-2.0
"""vegeta and wrk2, for real where they are here: both have a rate and no users, and look at the status alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.vegeta import Vegeta
from harness.loadgen.tools.wrk2 import Wrk2
from harness.model import LoadProfile, LoadSummary, OpenLoad, Request
from harness.tests.contracts.load_generator import (
    LoadGeneratorContract,
    Offered,
    OpenLoopContract,
    offer,
)
from harness.tests.support.answering_server import AnsweringServer, order_of, request_to
from harness.tests.support.available import program_or_not_asked_for


def evenly(rate_per_s: float, duration_s: float, connections: int) -> OpenLoad:
    return OpenLoad(
        rate_per_s=rate_per_s, duration_s=duration_s, arrivals="constant", connections=connections
    )


class OpenOnly(LoadGeneratorContract, OpenLoopContract):
    spacings = ("constant",)
    endless: LoadProfile = evenly(1000, 60, 4)

    @pytest.fixture
    def small(self) -> LoadProfile:
        return evenly(100, 2, 4)

    def one(
        self, generator: LoadGenerator, folder: Path, server: AnsweringServer, load: OpenLoad, *asked: Request
    ) -> LoadSummary:
        assert offer(generator, order_of(folder, load, *asked, endpoint=server.endpoint)).exit_code == 0
        return generator.read(folder)


class TestVegeta(OpenOnly):
    """Its rows are in a form of its own until they are encoded, after the load."""

    rows_at_the_end = True

    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return Vegeta(program=program_or_not_asked_for("vegeta"))

    def check_counts(self, summary: LoadSummary, load: LoadProfile, server: AnsweringServer) -> None:
        """A wrong body goes unnoticed, and the summary says that nobody looked."""
        assert summary.n_requests == self.n_whole(load) == server.seen.total()
        assert summary.n_errors == server.seen["/500"]
        assert summary.errors_by_kind == {"status 500": server.seen["/500"]}
        assert summary.bodies_checked is False
        assert summary.n_dropped == 0

    def check_connections(self, load: LoadProfile, server: AnsweringServer) -> None:
        """One more for each arrival that finds all busy: how many is the machine's affair."""
        assert server.n_connections < server.seen.total()

    def check_rows(self, offered: Offered, summary: LoadSummary) -> None:
        table = self.rows(offered.folder)
        assert (table.n_requests, table.n_errors) == (summary.n_requests, summary.n_errors)
        assert summary.start_epoch_s == table.start_epoch_s.min() >= offered.before_epoch_s - 0.002
        assert (table.start_epoch_s + table.latency_s).max() <= offered.after_epoch_s + 0.002
        labels = {label.rsplit("/", 1)[-1] for label in table.labels}
        assert labels == {"right", "wrong", "500"}
        failed = [label for label, ok in zip(table.label, table.ok, strict=True) if not ok]
        assert len(failed) == summary.n_errors
        assert all(label.endswith("/500") for label in failed)


class TestWrk2(OpenOnly):
    """Each connection has its share of the rate, and waits for its answer."""

    one_row_per_request = False
    leaves_what_is_under_way = True
    #: At the end of a load one request more or less may be counted for each of them.
    connections = 4

    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return Wrk2(program=program_or_not_asked_for("wrk2"))

    def check_counts(self, summary: LoadSummary, load: LoadProfile, server: AnsweringServer) -> None:
        """It ends each thread at its first answer after the time, and leaves what is under way."""
        assert isinstance(load, OpenLoad)
        assert server.seen.total() - load.connections <= summary.n_requests <= server.seen.total()
        assert server.seen["/500"] - load.connections <= summary.n_errors <= server.seen["/500"]
        assert summary.errors_by_kind == {"status": summary.n_errors}
        assert summary.bodies_checked is False
        assert not summary.has_requests
        assert summary.latency_quantiles_s["p50"] <= summary.latency_quantiles_s["p99"]
        assert summary.latency_quantiles_s["p99"] <= summary.latency_quantiles_s["max"]

    def test_a_service_that_is_too_slow_for_the_rate_has_arrivals_dropped(
        self, generator: LoadGenerator, server: AnsweringServer, tmp_path: Path
    ) -> None:
        server.delay_s = 0.05
        summary = self.one(generator, tmp_path, server, evenly(200, 3, 4), request_to("/right"))
        assert summary.n_dropped is not None
        assert summary.n_dropped > 0.5 * 200 * 3  # four connections answer 80 a second at most
