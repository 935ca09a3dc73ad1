# SPDX-License-Identifier: Apache-2.0
"""wrk, for real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.errors import MissingTool
from harness.loadgen.base import LoadGenerator, LoadSpec
from harness.loadgen.tools.wrk import Wrk
from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad
from harness.model.endpoint import Endpoint
from harness.tests.contracts.load_generator import LoadGeneratorContract, offer
from harness.tests.support.answering_server import AnsweringServer, answering_server, request_to


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


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        (OpenLoad(rate_per_s=10, duration_s=1), "no rate"),
        (ClosedLoad(users=1, loops=5), "loops"),
        (ClosedLoad(users=1, duration_s=1.5), "whole seconds"),
        (ClosedLoad(users=1, duration_s=1, ramp_up_s=1), "ramp_up_s"),
        (ClosedLoad(users=1, duration_s=1, think_time_s=1), "think_time_s"),
    ],
)
def test_what_wrk_cannot_express_is_refused_with_the_reason(profile: LoadProfile, why: str) -> None:
    assert why in (Wrk(program=None).supports(profile, (request_to("/right"),)) or "")


def test_wrk_that_is_not_here_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    order = LoadSpec(
        profile=ClosedLoad(users=1, duration_s=1),
        requests=(request_to("/right"),),
        endpoint=Endpoint(host="127.0.0.1", port=1),
        folder=tmp_path,
    )
    for program in (None, tmp_path / "wrk"):
        with pytest.raises(MissingTool, match="apt-get install wrk"):
            Wrk(program=program).command(order)


@pytest.mark.parametrize(("users", "threads"), [(1, 1), (4, 2), (5, 1), (100, 2)])
def test_threads_divide_the_connections_so_that_none_is_lost(
    tmp_path: Path, users: int, threads: int
) -> None:
    program = tmp_path / "wrk"
    program.touch()
    order = LoadSpec(
        profile=ClosedLoad(users=users, duration_s=1),
        requests=(request_to("/right"),),
        endpoint=Endpoint(host="127.0.0.1", port=1),
        folder=tmp_path,
    )
    argv = Wrk(program=program, threads=2).command(order).argv
    assert argv[argv.index("-t") + 1] == str(threads)
    assert argv[argv.index("-c") + 1] == str(users)


def test_awkward_bodies_reach_the_server_unchanged(tmp_path: Path) -> None:
    awkward = '{"s":"\\" ]] \\n é %s"}\n\t1'
    with answering_server() as server:
        order = LoadSpec(
            profile=ClosedLoad(users=1, duration_s=1),
            requests=(request_to("/right", body=awkward),),
            endpoint=server.endpoint,
            folder=tmp_path,
        )
        program = shutil.which("wrk")
        generator = Wrk(program=None if program is None else Path(program))
        assert offer(generator, order).exit_code == 0
        assert server.bodies.keys() == {awkward.encode()}
        assert generator.read(tmp_path).n_errors == 0
