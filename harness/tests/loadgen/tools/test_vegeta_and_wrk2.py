# SPDX-License-Identifier: Apache-2.0
"""vegeta and wrk2: what is read of output they really wrote, and both for real where they are here."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

from harness.loadgen.base import ORDER_FILE, LoadGenerator, order_text
from harness.loadgen.tools.vegeta import SAMPLES, TARGETS, Vegeta
from harness.loadgen.tools.wrk2 import RESULT, Wrk2
from harness.model import LoadProfile, LoadSummary, OpenLoad
from harness.tests.contracts.load_generator import LoadGeneratorContract, Offered, OpenLoopContract
from harness.tests.support.answering_server import AnsweringServer, order_of, request_to
from harness.tests.support.available import program_or_not_asked_for

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def evenly(rate_per_s: float, duration_s: float, connections: int = 20) -> OpenLoad:
    return OpenLoad(
        rate_per_s=rate_per_s, duration_s=duration_s, arrivals="constant", connections=connections
    )


def test_vegeta_attacks_with_a_round_of_the_mix_and_then_encodes(tmp_path: Path) -> None:
    vegeta = Vegeta(program=Path("vegeta"))
    mix = request_to("/right", weight=2, body="é\n"), request_to("/wrong")
    order = order_of(tmp_path, evenly(2.5, 1.5), *mix)
    argv, (encode, remove) = vegeta.argv(order), vegeta.after(order)
    assert (argv[argv.index("-rate") + 1], argv[argv.index("-duration") + 1]) == ("5/2s", "1500000us")
    assert encode[1:4] == ("encode", "-to", "csv")
    assert encode[-1] == argv[argv.index("-output") + 1] and remove == ("rm", encode[-1])
    targets = [json.loads(line) for line in vegeta.files(order)[TARGETS].splitlines()]
    assert sorted(target["url"].rsplit("/", 1)[-1] for target in targets) == ["right", "right", "wrong"]
    right = next(target for target in targets if target["url"].endswith("right"))
    assert base64.b64decode(right["body"]).decode() == "é\n"
    assert right["header"] == {"Content-Type": ["application/json"]}


def test_what_vegeta_wrote_is_summed_up(tmp_path: Path) -> None:
    (tmp_path / ORDER_FILE).write_text(order_text(order_of(tmp_path, evenly(200, 2))))
    shutil.copy(GOLDEN / "vegeta" / "results.csv", tmp_path / SAMPLES)
    summary = Vegeta(program=None).read(tmp_path)
    assert (summary.n_requests, summary.n_errors, summary.n_dropped) == (400, 3, 0)
    assert summary.errors_by_kind == {"status 500": 3}
    assert summary.latency_mean_s == pytest.approx(519357e-9, rel=1e-5)
    assert summary.start_epoch_s == pytest.approx(1795252467.300838552, abs=1e-6)
    assert summary.offered_per_s == 200
    assert summary.achieved_per_s == pytest.approx(200.5, rel=0.01)
    assert (summary.has_requests, summary.bodies_checked) == (True, False)


def test_errors_without_an_answer_are_named_after_their_cause(tmp_path: Path) -> None:
    (tmp_path / ORDER_FILE).write_text(order_text(order_of(tmp_path, evenly(1, 2))))
    cause = '"Get ""http://x/"": dial tcp 127.0.0.1:1: connect: connection refused"'
    rows = [f"179525246730083855{n},0,1724571,0,0,{cause},,,{n},GET,http://x/,\n" for n in (1, 2)]
    (tmp_path / SAMPLES).write_text("".join(rows))
    summary = Vegeta(program=None).read(tmp_path)
    assert summary.n_requests == summary.n_errors == 2
    assert summary.errors_by_kind == {"connection refused": 2}


def test_what_wrk2_printed_is_summed_up(tmp_path: Path) -> None:
    (tmp_path / ORDER_FILE).write_text(order_text(order_of(tmp_path, evenly(500, 12))))
    shutil.copy(GOLDEN / "wrk2" / "latency.txt", tmp_path / RESULT)
    summary = Wrk2(program=None).read(tmp_path)
    assert (summary.n_requests, summary.n_errors, summary.n_dropped) == (6000, 23, 0)
    assert summary.n_latencies == 972
    assert summary.latency_quantiles_s["p99"] == pytest.approx(9.36e-3)
    assert summary.latency_quantiles_s["max"] == pytest.approx(10.112e-3)
    assert summary.offered_per_s == 500
    assert (summary.has_requests, summary.bodies_checked) == (False, False)


def test_what_wrk2_could_not_have_sent_is_not_dropped_and_what_waited_is(tmp_path: Path) -> None:
    """The captured run answered every request that was due; half of them would have been a real backlog."""
    printed = (GOLDEN / "wrk2" / "latency.txt").read_text()
    (tmp_path / ORDER_FILE).write_text(order_text(order_of(tmp_path, evenly(500, 12))))
    (tmp_path / RESULT).write_text(printed.replace("6000 requests in", "3000 requests in"))
    dropped = Wrk2(program=None).read(tmp_path).n_dropped
    assert dropped == 5996 - 3000 - 1  # one under way: 250 a second, each for 1 ms


class OpenOnly(LoadGeneratorContract, OpenLoopContract):
    spacings = ("constant",)
    endless: LoadProfile = evenly(1000, 60, 4)

    @pytest.fixture
    def small(self) -> LoadProfile:
        return evenly(100, 2, 4)


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
