# SPDX-License-Identifier: Apache-2.0
"""oha, for real where it is here; what it cannot express is refused everywhere."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from harness.loadgen.base import ORDER_FILE, LoadGenerator, order_text
from harness.loadgen.tools.oha import SAMPLES, TOTALS, Oha
from harness.model import ClosedLoad, Endpoint, LoadProfile, LoadSummary, OpenLoad
from harness.tests.contracts.load_generator import LoadGeneratorContract, Offered, OpenLoopContract, offer
from harness.tests.support.answering_server import AWKWARD, AnsweringServer, order_of, request_to
from harness.tests.support.available import program_or_not_asked_for
from harness.tests.support.result_files import oha_db


class TestOha(LoadGeneratorContract, OpenLoopContract):
    """oha writes all its rows at the end: killed, it leaves none."""

    one_row_per_request = False
    spacings = ("constant",)

    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return Oha(program=program_or_not_asked_for("oha"))

    @pytest.fixture
    def small(self) -> ClosedLoad:
        return ClosedLoad(users=4, duration_s=1)

    @pytest.mark.parametrize(("path", "errors"), [("/right", False), ("/wrong", False), ("/500", True)])
    def test_totals_rows_and_times_agree_with_what_the_server_counted(  # type: ignore[override]  # one path at a time
        self,
        generator: LoadGenerator,
        small: ClosedLoad,
        server6: AnsweringServer,
        tmp_path: Path,
        path: str,
        errors: bool,
    ) -> None:
        """A wrong body goes unnoticed, and the summary says that nobody looked."""
        offered = offer(
            generator, order_of(tmp_path, small, request_to(path, body=AWKWARD), endpoint=server6.endpoint)
        )
        assert offered.exit_code == 0
        summary = generator.read(offered.folder)
        assert summary.n_requests == server6.seen.total() == server6.seen[path]
        assert summary.n_errors == (summary.n_requests if errors else 0)
        assert summary.errors_by_kind == ({"status 500": summary.n_errors} if errors else {})
        assert summary.bodies_checked is False
        assert server6.bodies.keys() == {AWKWARD.encode()}
        assert {host.rpartition(":")[0] for host in server6.hosts} == {"[::1]"}
        assert server6.types.keys() == {"application/json"}
        assert server6.n_connections <= small.users + 1
        self.check_placed(offered, summary)

    def check_placed(self, offered: Offered, summary: LoadSummary) -> None:
        """The rows, placed where the summary says that they began, lie within the time of the load."""
        table = self.rows(offered.folder).placed(summary.start_epoch_s)
        assert table.n_requests == summary.n_requests
        step_s = 0.02  # the kernel's tick
        assert table.start_epoch_s.min() >= offered.before_epoch_s - step_s
        assert (table.start_epoch_s + table.latency_s).max() <= offered.after_epoch_s + step_s

    def test_a_closed_port_gives_errors_or_a_reason_never_a_crash(
        self, generator: LoadGenerator, small: LoadProfile, tmp_path: Path
    ) -> None:
        with socket.socket() as taken:  # bound and never listening: nobody else can take the port
            taken.bind(("127.0.0.1", 0))
            endpoint = Endpoint(host="127.0.0.1", port=taken.getsockname()[1])
            offered = offer(generator, order_of(tmp_path, small, endpoint=endpoint))
        summary = generator.read(offered.folder)
        assert summary.n_requests == summary.n_errors == sum(summary.errors_by_kind.values()) > 0
        assert not summary.has_requests and summary.latency_mean_s is None


def oha_folder(folder: Path, profile: LoadProfile, errors: dict[str, int] | None = None) -> Path:
    """A folder as oha leaves it: three answers, the third with 500, and what got none."""
    (folder / ORDER_FILE).write_text(order_text(order_of(folder, profile)))
    totals = {
        "summary": {"total": 1.5, "requestsPerSec": 2.0}, "errorDistribution": errors or {},
        "statusCodeDistribution": {"200": 2, "500": 1},
    }  # fmt: skip
    (folder / TOTALS).write_text(json.dumps(totals))
    oha_db(folder / SAMPLES, [(0.25, 0.2, 0.3, 200), (0.4, None, 0.1, 200), (0.5, None, 0.1, 500)])
    os.utime(folder / ORDER_FILE, (999.0, 999.0))
    return folder


@pytest.mark.parametrize(
    ("made_s", "written_s", "start_s"),
    [(1000.0, 1002.0, 1000.2), (1003.0, 1002.0, None), (998.0, 1002.0, None)],
    ids=["as oha leaves it", "somebody read it since", "older than the order"],
)
def test_rows_are_placed_by_when_the_totals_file_was_made_or_not_at_all(
    tmp_path: Path, made_s: float, written_s: float, start_s: float | None
) -> None:
    folder = oha_folder(tmp_path, ClosedLoad(users=1, duration_s=1))
    os.utime(folder / TOTALS, (made_s, written_s))
    found = Oha(program=None).read(folder).start_epoch_s
    assert found == (None if start_s is None else pytest.approx(start_s))


def test_what_got_no_answer_is_an_error_and_what_oha_gave_up_is_not(tmp_path: Path) -> None:
    kinds = {"connection refused, os error 111": 4, "aborted due to deadline": 2}
    profile = OpenLoad(rate_per_s=10, duration_s=1, arrivals="constant")
    summary = Oha(program=None).read(oha_folder(tmp_path, profile, kinds))
    assert (summary.n_requests, summary.n_errors, summary.n_dropped) == (7, 5, 3)
    assert summary.errors_by_kind == {"connection refused; os error 111": 4, "status 500": 1}
    assert summary.latency_mean_s == pytest.approx((0.3 + 0.1 + 0.1) / 3)
    assert summary.duration_s == pytest.approx(0.4)  # from when the first was due to the last answer
    assert summary.offered_per_s == 10
