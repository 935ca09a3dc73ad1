# SPDX-License-Identifier: Apache-2.0
"""metronome, built here from its source: it sends when it is due, its times are true, and it knows how late it was."""

from __future__ import annotations

import csv
import signal
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from harness.formats.row_files import HELD_UP_S
from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.metronome import SAMPLES, Metronome
from harness.model import ClosedLoad, Endpoint, LoadProfile, OpenLoad
from harness.tests.contracts import load_generator as contract
from harness.tests.support.answering_server import AnsweringServer, answering_server, order_of
from harness.tests.support.available import program_or_not_run
from setup.source_builds import build_metronome


def open_load(rate_per_s: float, duration_s: float, connections: int = 8) -> OpenLoad:
    return OpenLoad(
        rate_per_s=rate_per_s, duration_s=duration_s, arrivals="constant", connections=connections, busy="wait",
    )  # fmt: skip


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / SAMPLES).open() as stream:
        return list(csv.DictReader(stream))


def column(folder: Path, name: str) -> list[float]:
    return [float(row[name]) for row in rows(folder)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_metronome(tmp_path_factory.mktemp("tools"), program_or_not_run("cc"))


class TestMetronome(contract.LoadGeneratorContract, contract.OpenLoopContract):
    """It writes its rows when the load is over."""

    rows_at_the_end = True

    @pytest.fixture
    def generator(self, program: Path) -> LoadGenerator:
        return Metronome(program=program)

    @pytest.fixture
    def small(self) -> LoadProfile:
        return open_load(200, 0.5, connections=4)

    def test_users_send_when_they_have_their_answer(
        self, generator: LoadGenerator, server: AnsweringServer, tmp_path: Path
    ) -> None:
        offered = contract.offer(
            generator, order_of(tmp_path, ClosedLoad(users=3, duration_s=0.5), endpoint=server.endpoint)
        )
        summary = generator.read(offered.folder)
        assert summary.n_requests == server.seen["/right"] > 3 and summary.n_errors == 0
        assert (summary.late_share, summary.n_dropped, server.n_connections) == (None, None, 3)

    def test_a_late_request_has_both_its_times(self, generator: LoadGenerator, tmp_path: Path) -> None:
        """One connection, answers of 0.1 s, forty arrivals a second: the queue grows, and so must latencies."""
        with answering_server(delay_s=0.1) as server:
            contract.offer(
                generator, order_of(tmp_path, open_load(40, 0.5, connections=1), endpoint=server.endpoint)
            )
        latency_s, sending_s = column(tmp_path, "latency_s"), column(tmp_path, "service_time_s")
        assert len(latency_s) == 20
        assert min(sending_s) >= 0.1 and min(latency_s) >= 0.1
        waited_s = np.array(latency_s) - sending_s
        # the k-th is due after k/40 s, and sent when those before it had their answers
        assert (waited_s >= np.arange(20) * (0.1 - 1 / 40) - 1e-3).all()
        assert sorted(column(tmp_path, "due_epoch_s")) == column(tmp_path, "due_epoch_s")
        assert np.diff(column(tmp_path, "due_epoch_s")) == pytest.approx(1 / 40, abs=1e-5)

    def test_it_knows_that_it_was_late(
        self, generator: LoadGenerator, server: AnsweringServer, tmp_path: Path
    ) -> None:
        """Stopped for 0.3 s of a load of 1 s: what was due meanwhile was sent late, and its latency says so."""
        process = contract.start(generator, order_of(tmp_path, open_load(200, 1), endpoint=server.endpoint))
        try:
            while not server.seen.total():
                time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.3)
            process.send_signal(signal.SIGCONT)
            process.wait(timeout=20)
        finally:
            contract.end(process)
        summary, send_delay_s = generator.read(tmp_path), column(tmp_path, "send_delay_s")
        assert summary.late_share is not None
        assert summary.late_share == sum(one > HELD_UP_S for one in send_delay_s) / summary.n_requests >= 0.25
        assert max(send_delay_s) > 0.2 and max(column(tmp_path, "latency_s")) > 0.2


@contextmanager
def saying(answer: bytes) -> Iterator[Endpoint]:
    """A server that says the same bytes to whatever comes first on a connection, and closes it."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            for byte in range(0, len(answer), 7):
                self.request.sendall(answer[byte : byte + 7])

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield Endpoint(host="127.0.0.1", port=server.server_address[1])
        server.shutdown()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"v":\r\n8\r\n"HELLO"}\r\n0\r\n\r\n',
            None,
        ),
        (b'HTTP/1.0 200 OK\r\nContent-Length: 13\r\n\r\n{"v":"HELLO"}', None),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"v":"HELLO"}more', "malformed HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "connection closed"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "status 503"),
        (b"", "connection closed"),
    ],
)
def test_each_answer_is_judged(program: Path, tmp_path: Path, answer: bytes, error: str | None) -> None:
    generator = Metronome(program=program)
    with saying(answer) as endpoint:
        contract.offer(generator, order_of(tmp_path, open_load(40, 0.25, connections=2), endpoint=endpoint))
    summary = generator.read(tmp_path)
    assert summary.errors_by_kind == ({} if error is None else {error: 10})
