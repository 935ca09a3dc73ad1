# SPDX-License-Identifier: Apache-2.0
"""What every load generator that takes flows must do. Mix it into the subclass of LoadGeneratorContract."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from harness.loadgen.base import LoadGenerator
from harness.loadgen.correlation import fill_text
from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad, Request
from harness.tests.contracts.load_generator import offer
from harness.tests.support.accounts_server import (
    FAULTS,
    AccountsServer,
    accounts_server,
    open_and_show,
    step,
    transfer_flow,
)
from harness.tests.support.answering_server import order_of


def offered(
    generator: LoadGenerator,
    server: AccountsServer,
    folder: Path,
    profile: LoadProfile,
    requests: tuple[Request, ...],
) -> LoadSummary:
    """Offer one load from start to end and read it."""
    order = order_of(folder, profile, *requests, endpoint=server.endpoint, seed=7)
    assert generator.supports(profile, requests) is None
    assert offer(generator, order).exit_code == 0
    return generator.read(folder)


class FlowContract:
    """The rules of closed loops, for tools that can be given a number of passes per user."""

    def test_data_of_one_answer_reaches_later_steps(self, generator: LoadGenerator, tmp_path: Path) -> None:
        with accounts_server() as server:
            summary = offered(generator, server, tmp_path, ClosedLoad(users=2, loops=5), transfer_flow())
        assert summary.errors_by_kind == {}
        assert summary.n_requests == server.seen.total() == 4 * 10
        assert (summary.n_flows, summary.n_flows_right, summary.n_errors) == (10, 10, 0)
        assert summary.offered_per_s is None
        wanted = transfer_flow()[2].body or ""
        for body in server.transfers:
            asked = json.loads(body)
            values = {"a": asked["from"], "b": asked["to"], "owner": server.owners[asked["from"]]}
            assert body == fill_text(wanted, values)
        used = Counter(
            n for body in server.transfers for n in (json.loads(body)["from"], json.loads(body)["to"])
        )
        assert used == dict.fromkeys(server.owners, 1)  # every pass used its own accounts, each once

    def test_a_wrong_answer_ends_its_pass_at_once(self, generator: LoadGenerator, tmp_path: Path) -> None:
        faults = (None, *FAULTS)
        with accounts_server(faults) as server:
            summary = offered(generator, server, tmp_path, ClosedLoad(users=1, loops=10), open_and_show())
        assert dict(server.seen) == {"/account": 10, "/account/": 2}
        assert summary.n_requests == 12
        assert summary.n_errors == 8
        kinds = Counter(kind for _, _, kind in FAULTS.values())
        assert summary.errors_by_kind == {kind: 2 * n for kind, n in kinds.items()}
        assert (summary.n_flows, summary.n_flows_right) == (10, 2)

    def test_one_of_accepts_each_and_refuses_others(self, generator: LoadGenerator, tmp_path: Path) -> None:
        allowed = [{"state": "done"}, {"state": 5}]
        flow = (step(1, "state", "GET", "/state", expect={"status": 200, "one_of": allowed}),)
        with accounts_server(states=("done", 5, "5", "lost")) as server:
            summary = offered(generator, server, tmp_path, ClosedLoad(users=1, loops=8), flow)
        assert (summary.n_requests, summary.n_errors) == (8, 4)
        assert summary.errors_by_kind == {"wrong body": 4}


class OpenFlowContract:
    """The rules of open loops: an arrival is a pass."""

    #: How the tool can space arrivals; every one can do so evenly.
    spacings: tuple[str, ...] = ("poisson", "constant")

    def test_an_arrival_is_one_pass_up_to_an_error(self, generator: LoadGenerator, tmp_path: Path) -> None:
        profile = OpenLoad.model_validate(
            {"rate_per_s": 20.0, "duration_s": 1.0, "arrivals": self.spacings[0]}
        )
        with accounts_server((None, "500")) as server:
            summary = offered(generator, server, tmp_path, profile, open_and_show())
        assert (summary.n_flows, summary.n_dropped) == (20, 0)
        assert dict(server.seen) == {"/account": 20, "/account/": 10}
        assert (summary.n_requests, summary.n_errors, summary.n_flows_right) == (30, 10, 10)
        assert summary.offered_per_s == 40.0  # requests: the rate of passes times the steps of one
