# SPDX-License-Identifier: Apache-2.0
"""k6, for real."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.formats.row_files import K6_SAMPLES
from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.k6 import K6, SAMPLES, TOTALS
from harness.model import ClosedLoad, LoadProfile, OpenLoad
from harness.model.load import Stage
from harness.tests.contracts.flow import FlowContract, OpenFlowContract
from harness.tests.contracts.load_generator import (
    JsonValuesContract,
    LoadGeneratorContract,
    OpenLoopContract,
    offer,
)
from harness.tests.support.answering_server import answering_server, order_of
from harness.tests.support.available import program_or_not_run


@pytest.fixture(scope="module")
def k6() -> K6:
    return K6(program=program_or_not_run("k6"))


class TestK6(LoadGeneratorContract, OpenLoopContract, JsonValuesContract, FlowContract, OpenFlowContract):
    spacings = ("constant",)

    @pytest.fixture
    def generator(self, k6: K6) -> LoadGenerator:
        return k6


def test_one_process_offers_its_parts_on_schedule_with_nothing_between_them(k6: K6, tmp_path: Path) -> None:
    profile = OpenLoad(
        rate_per_s=20, duration_s=1, arrivals="constant", connections=20, busy="wait", parts=3, pause_s=1
    )
    with answering_server() as server:
        assert offer(k6, order_of(tmp_path, profile, endpoint=server.endpoint)).exit_code == 0
        n_connections = server.n_connections
    table, summary = K6_SAMPLES.read(tmp_path / SAMPLES), k6.read(tmp_path)
    since_s = np.sort(table.start_epoch_s - table.start_epoch_s.min())
    found = [int(np.count_nonzero((since_s >= b - 0.5) & (since_s < b + 1.5))) for b in (0, 2, 4)]
    assert found == [20, 20, 20]
    assert (summary.n_requests, summary.n_dropped, summary.n_errors) == (60, 0, 0)
    assert summary.achieved_per_s == pytest.approx(summary.n_requests / (summary.duration_s - 2))  # no pauses
    assert n_connections <= 20  # kept from one part to the next


@pytest.mark.parametrize(
    "profile",
    [
        ClosedLoad(users=4, duration_s=3, think_time_s=0.02, renew_s=0.5),
        OpenLoad(rate_per_s=100, duration_s=3, arrivals="constant", connections=4, renew_s=0.5),
    ],
    ids=["closed", "open"],
)
def test_old_connections_are_renewed_without_a_loss(k6: K6, tmp_path: Path, profile: LoadProfile) -> None:
    with answering_server() as server:
        assert offer(k6, order_of(tmp_path, profile, endpoint=server.endpoint)).exit_code == 0
        n_connections, n_seen = server.n_connections, server.seen.total()
        assert set(server.hosts) == {f"127.0.0.1:{server.endpoint.port}"}, "the service sees one name"
    summary, totals = k6.read(tmp_path), json.loads((tmp_path / TOTALS).read_text())
    assert (summary.n_requests, summary.n_errors) == (n_seen, 0), summary.errors_by_kind
    assert totals["renewals"] >= 4, "each of the four at least once"
    assert totals["renewals"] <= n_connections <= totals["renewals"] + 4


def test_what_waits_for_a_connection_counts_from_when_it_was_due(k6: K6, tmp_path: Path) -> None:
    """One connection, an answer every 50 ms, and an arrival every 20 ms: the last one waits for a second and more."""
    profile = OpenLoad(rate_per_s=50, duration_s=1, arrivals="constant", connections=1, busy="wait")
    with answering_server(delay_s=0.05) as server:
        offer(k6, order_of(tmp_path, profile, endpoint=server.endpoint))
        assert server.n_connections == 1
    table, summary = K6_SAMPLES.read(tmp_path / SAMPLES), k6.read(tmp_path)
    assert (summary.n_requests, summary.n_dropped) == (50, 0)
    in_turn = np.argsort(table.start_epoch_s)
    due_s = table.start_epoch_s[in_turn] - table.start_epoch_s.min()
    assert due_s[5:] == pytest.approx(np.arange(5, 50) / 50, abs=0.03)
    assert table.latency_s[in_turn][-1] >= 50 * 0.05 - 1
    assert (np.diff(table.latency_s[in_turn]) > 0).mean() > 0.8  # the queue grows


def test_k6_speaks_to_nobody_but_the_service(tmp_path: Path) -> None:
    program = tmp_path / "k6"
    program.touch()
    command = K6(program=program).command(order_of(tmp_path, ClosedLoad(users=1, loops=1)))
    assert "--no-usage-report" in command.argv
    assert command.argv[command.argv.index("--address") + 1] == ""
    assert command.environment["K6_AUTO_EXTENSION_RESOLUTION"] == "false"


def test_stages_of_users_come_and_go_as_they_say(k6: K6, tmp_path: Path) -> None:
    """The published way: one user, two, four, none."""
    profile = ClosedLoad(users=4, stages=tuple(Stage(users=users, duration_s=1) for users in (1, 2, 4, 0)))
    with answering_server(delay_s=0.02) as server:
        assert offer(k6, order_of(tmp_path, profile, endpoint=server.endpoint)).exit_code == 0
        assert server.n_connections == 4
    table, summary = K6_SAMPLES.read(tmp_path / SAMPLES), k6.read(tmp_path)
    since_s = table.start_epoch_s - table.start_epoch_s.min()
    ends = np.sort(table.start_epoch_s + table.latency_s)
    begun = np.searchsorted(np.sort(table.start_epoch_s), table.start_epoch_s, side="right")
    under_way = begun - np.searchsorted(ends, table.start_epoch_s, side="right")
    assert np.median(under_way[since_s < 0.9]) == 1
    assert np.median(under_way[(since_s > 2.6) & (since_s < 3.0)]) >= 2
    assert summary.n_errors == 0
    assert (summary.offered_per_s, summary.n_dropped) == (None, None)
