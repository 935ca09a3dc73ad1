# SPDX-License-Identifier: Apache-2.0
"""What every load generator must do, whatever the tool. Subclasses provide ``generator``.

Each command runs for real against a server that counts. Loads are small: what is checked is
accounting, never speed.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import TrialFailure
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.loadgen.base import LoadGenerator, LoadSpec
from harness.model import ClosedLoad, Endpoint, Expectation, LoadProfile, LoadSummary, OpenLoad
from harness.tests.support.answering_server import (
    AWKWARD,
    AnsweringServer,
    answering_server,
    order_of,
    request_to,
)
from harness.tests.support.available import patient

#: The name of a request, with what separates and quotes the columns of rows.
RIGHT = 'right, "so"'
#: A tool that has not ended by then hangs.
PATIENCE_S = patient(90.0)


@dataclass(frozen=True)
class Offered:
    """One load that was offered, and the wall clock around it."""

    exit_code: int
    folder: Path
    before_epoch_s: float
    after_epoch_s: float


def start(generator: LoadGenerator, spec: LoadSpec) -> subprocess.Popen[bytes]:
    """Do what the runner does: files first, then the command with its output in files."""
    command = generator.command(spec)
    for name, content in command.files.items():
        (spec.folder / name).write_text(content, encoding="utf-8")
    with (spec.folder / command.stdout).open("wb") as out, (spec.folder / command.stderr).open("wb") as err:
        return subprocess.Popen(
            command.argv, env={**os.environ, **command.environment}, cwd=spec.folder, stdin=subprocess.DEVNULL,
            stdout=out, stderr=err, start_new_session=True,
        )  # fmt: skip


def end(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGKILL) -> None:
    """End a process group that this test started."""
    if process.poll() is None:
        os.killpg(process.pid, how)
    process.wait(timeout=PATIENCE_S)


def offer(generator: LoadGenerator, spec: LoadSpec) -> Offered:
    """Offer a load from start to end, and do what its tool wants done afterwards."""
    before = time.time()
    process = start(generator, spec)
    try:
        code = process.wait(timeout=PATIENCE_S)
    finally:
        end(process)
    until = time.time()
    for argv in generator.command(spec).after if code == 0 else ():
        subprocess.run(argv, cwd=spec.folder, check=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
    return Offered(code, spec.folder, before, until)


class LoadGeneratorContract:
    """The rules.

    ``one_row_per_request``: the tool writes single requests, and while it runs; ``rows_at_the_end``: they can be
    read when it has ended by itself.
    """

    one_row_per_request = True
    rows_at_the_end = False
    #: A load with many times more requests than a killed tool can have sent.
    endless: LoadProfile = ClosedLoad(users=2, duration_s=60)

    @pytest.fixture
    def generator(self) -> LoadGenerator:
        # Abstract: pytest never collects this base class, so only a subclass that forgot its part gets here.
        raise NotImplementedError("the subclass brings the generator")

    @pytest.fixture
    def small(self) -> LoadProfile:
        """A small load that the tool supports, a closed one where it has such."""
        return ClosedLoad(users=4, loops=25)

    @pytest.fixture
    def server(self) -> Iterator[AnsweringServer]:
        with answering_server() as running:
            yield running

    @pytest.fixture
    def server6(self) -> Iterator[AnsweringServer]:
        """One on an address of IPv6; the other tests ask on one of IPv4."""
        with answering_server(address="::1") as running:
            yield running

    def test_totals_rows_and_times_agree_with_what_the_server_counted(
        self, generator: LoadGenerator, small: LoadProfile, server6: AnsweringServer, tmp_path: Path
    ) -> None:
        server = server6
        either = Expectation.model_validate_json('{"status": 200, "one_of": [{"v": "HI"}, {"v": "HELLO"}]}')
        # Drawn at random by most tools: of a hundred requests none of a kind, or too many, is one in ten million.
        right, wrong, failing = (
            request_to("/right", weight=7, body=AWKWARD, name=RIGHT).model_copy(update={"expect": either}),
            request_to("/wrong", weight=2, body=AWKWARD).model_copy(update={"expect": either}),
            request_to("/500", weight=2, body=AWKWARD),
        )
        offered = offer(generator, order_of(tmp_path, small, right, wrong, failing, endpoint=server.endpoint))
        assert offered.exit_code == 0
        summary = generator.read(offered.folder)
        self.check_counts(summary, small, server)
        assert server.bodies.keys() == {AWKWARD.encode()}
        assert server.types.keys() == {"application/json"}
        assert {host.rpartition(":")[0] for host in server.hosts} == {"[::1]"}
        assert server.seen.keys() == {"/right", "/wrong", "/500"}
        assert server.seen["/right"] > max(server.seen["/wrong"], server.seen["/500"])
        self.check_connections(small, server)
        assert summary.offered_per_s == (small.rate_per_s if isinstance(small, OpenLoad) else None)
        assert (summary.n_dropped is None) == isinstance(small, ClosedLoad)
        assert 0 < summary.duration_s <= offered.after_epoch_s - offered.before_epoch_s
        assert summary.achieved_per_s == pytest.approx(summary.n_requests / summary.duration_s)
        assert summary.latency_mean_s is not None
        assert summary.latency_mean_s >= 0
        if summary.has_requests:
            self.check_rows(offered, summary)

    def check_connections(self, load: LoadProfile, server: AnsweringServer) -> None:
        """They are kept alive; wrk and wrk2 probe with one of their own."""
        n = load.users if isinstance(load, ClosedLoad) else load.connections
        assert server.n_connections <= n + 2

    def n_whole(self, load: LoadProfile) -> int:
        """How many requests a load is made of."""
        if isinstance(load, OpenLoad):
            return round(load.rate_per_s * load.duration_s)
        return load.users * (load.loops or 0)

    def check_counts(self, summary: LoadSummary, load: LoadProfile, server: AnsweringServer) -> None:
        """Rows: exact. Overridden by tools that cut off their last requests."""
        assert summary.n_requests == self.n_whole(load) == server.seen.total()
        assert summary.n_errors == server.seen["/wrong"] + server.seen["/500"]
        n_wrong, n_500 = server.seen["/wrong"], server.seen["/500"]
        assert summary.errors_by_kind == {"wrong body": n_wrong, "status 500": n_500}
        assert summary.unreadable_lines == 0

    def check_rows(self, offered: Offered, summary: LoadSummary) -> None:
        table = self.rows(offered.folder)
        assert table.n_requests == summary.n_requests
        assert table.n_errors == summary.n_errors
        assert (table.latency_s >= 0).all()
        step = 2 * summary.resolution_s + 0.002  # the tool's and the clock's rounding
        assert table.start_epoch_s.min() >= offered.before_epoch_s - step
        assert (table.start_epoch_s + table.latency_s).max() <= offered.after_epoch_s + step
        assert summary.start_epoch_s == table.start_epoch_s.min()
        assert set(table.labels) == {RIGHT, "wrong", "500"}
        assert table.ok[table.label == RIGHT].all()
        assert not table.ok[table.label != RIGHT].any()

    def rows(self, folder: Path) -> RequestTable:
        names = {"samples.jtl", "samples.csv", "samples.db"}
        path = next(path for path in folder.iterdir() if path.name in names)
        table = read_any(path)
        assert isinstance(table, RequestTable)
        return table

    def test_killed_in_the_middle_it_leaves_a_readable_half_or_a_reason(
        self, generator: LoadGenerator, server: AnsweringServer, tmp_path: Path
    ) -> None:
        process = start(generator, order_of(tmp_path, self.endless, endpoint=server.endpoint))
        try:
            deadline = time.monotonic() + PATIENCE_S
            while server.seen.total() < 2000 and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            end(process)
        n_seen = server.seen.total()
        assert n_seen >= 2000
        if self.rows_at_the_end or not self.one_row_per_request:
            with pytest.raises(TrialFailure, match=r"failed: .*(ended before|left no samples)"):
                generator.read(tmp_path)
            return
        summary = generator.read(tmp_path)
        assert 0 < summary.n_requests <= n_seen
        assert summary.n_errors == 0
        assert summary.unreadable_lines <= 1

    def test_a_closed_port_gives_errors_or_a_reason_never_a_crash(
        self, generator: LoadGenerator, small: LoadProfile, tmp_path: Path
    ) -> None:
        with socket.socket() as taken:  # bound and never listening: nobody else can take the port
            taken.bind(("127.0.0.1", 0))
            endpoint = Endpoint(host="127.0.0.1", port=taken.getsockname()[1])
            offered = offer(generator, order_of(tmp_path, small, endpoint=endpoint))
        if not self.one_row_per_request:
            with pytest.raises(TrialFailure, match=r"(?i)refused|connect"):
                generator.read(offered.folder)
            return
        summary = generator.read(offered.folder)
        assert offered.exit_code == 0
        assert summary.n_requests == summary.n_errors == self.n_whole(small)
        assert sum(summary.errors_by_kind.values()) == summary.n_errors
        assert all(name and "," not in name for name in summary.errors_by_kind)

    def test_an_empty_folder_is_a_failed_trial(self, generator: LoadGenerator, tmp_path: Path) -> None:
        with pytest.raises(TrialFailure) as caught:
            generator.read(tmp_path)
        assert caught.value.outcome == "failed"


class JsonValuesContract:
    """For a tool that compares JSON as values, like conformance: blanks and the order of keys do not count."""

    @pytest.mark.parametrize("flow", [False, True])
    def test_another_text_of_the_same_value_is_right_and_of_another_one_wrong(
        self, generator: LoadGenerator, server: AnsweringServer, tmp_path: Path, flow: bool
    ) -> None:
        expect = Expectation.model_validate_json('{"status": 200, "json": {"v": 1.50, "list": [1, 2]}}')
        requests = tuple(
            request_to(path).model_copy(update={"expect": expect, "step": step if flow else None})
            for step, path in enumerate(("/turned", "/not-turned"), start=1)
        )
        spec = order_of(tmp_path, ClosedLoad(users=2, loops=20), *requests, endpoint=server.endpoint)
        summary = generator.read(offer(generator, spec).folder)
        assert server.seen["/turned"] and server.seen["/not-turned"]
        assert summary.errors_by_kind == {"wrong body": server.seen["/not-turned"]}


class OpenLoopContract:
    """For tools that know open loops: what is offered follows the schedule, not the answers."""

    #: How the tool can space arrivals; it refuses the other ways.
    spacings: tuple[str, ...] = ("poisson", "constant")
    #: It ends while a request on each connection may be unanswered, and counts answers only.
    leaves_what_is_under_way = False
    #: Over so many connections the arrivals come that are counted.
    connections = 100

    @pytest.mark.parametrize("arrivals", ["poisson", "constant"])
    def test_the_number_of_arrivals_is_rate_times_duration(
        self, generator: LoadGenerator, server: AnsweringServer, tmp_path: Path, arrivals: str
    ) -> None:
        profile = OpenLoad.model_validate(
            {"rate_per_s": 50.0, "duration_s": 2.0, "arrivals": arrivals, "connections": self.connections}
        )
        if arrivals not in self.spacings:
            assert "evenly spaced" in (generator.supports(profile, (request_to("/right"),)) or "")
            return
        offered = offer(generator, order_of(tmp_path, profile, endpoint=server.endpoint, seed=7))
        assert offered.exit_code == 0
        summary = generator.read(tmp_path)
        left = profile.connections if self.leaves_what_is_under_way else 0
        assert server.seen.total() - left <= summary.n_requests <= server.seen.total()
        assert summary.n_errors == 0
        assert summary.offered_per_s == 50.0
        assert summary.n_dropped is not None
        assert summary.n_requests + summary.n_dropped == pytest.approx(100, rel=0.05)
        assert summary.n_dropped < summary.n_requests  # a busy machine drops some, a wrong rate half of them
