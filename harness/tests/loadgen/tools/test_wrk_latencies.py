# SPDX-License-Identifier: Apache-2.0
"""wrk, for real, against a service that stands still: its latencies are those of the requests that it sent."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.wrk_histogram import (
    LEFT,
    UNDONE,
    expected_interval_us,
    read_wrk_histogram,
    undo_correction,
)
from harness.loadgen.base import ORDER_FILE, LoadSpec, order_text
from harness.loadgen.tools.wrk import HISTOGRAM, RESULT, Wrk
from harness.model import ClosedLoad, LoadSummary
from harness.tests.contracts.load_generator import PATIENCE_S, end, offer, start
from harness.tests.support.answering_server import answering_server, order_of

USERS = 4
WRK = Wrk(program=Path(shutil.which("wrk") or "/no/wrk"))


class OtherLayout(Wrk):
    """A wrk that keeps its histogram in another way, as its script sees it."""

    def files(self, spec: LoadSpec) -> dict[str, str]:
        files = super().files(spec)
        return {name: text.replace("limit, min, max;", "limit, max, min;") for name, text in files.items()}


def test_of_a_service_that_stood_still_the_latencies_are_those_of_its_requests(tmp_path: Path) -> None:
    with answering_server() as server:
        process = start(WRK, order_of(tmp_path, ClosedLoad(users=USERS, duration_s=2), endpoint=server.endpoint))
        try:
            for _ in range(2):
                time.sleep(0.5)
                server.delay_s = 0.2
                time.sleep(0.1)
                server.delay_s = 0.0
            assert process.wait(timeout=PATIENCE_S) == 0
        finally:
            end(process)
    summary = WRK.read(tmp_path)
    assert (summary.latency_method, summary.n_latencies) == (UNDONE, summary.n_requests)
    assert summary.n_errors == 0 and summary.latency_mean_s is not None
    # what wrk says itself: requests that nobody sent, and more in flight than there are connections
    said = json.loads((tmp_path / RESULT).read_text())
    corrected = read_wrk_histogram(tmp_path / HISTOGRAM)
    assert corrected.n > summary.n_requests
    assert said["latency_us"]["mean"] / 1e6 == pytest.approx(corrected.mean_s, abs=1e-8)
    assert summary.latency_mean_s * summary.achieved_per_s <= USERS
    # the ends are what they were: only what was made up between them is gone
    assert summary.latency_quantiles_s["max"] == said["latency_us"]["max"] / 1e6
    assert summary.latency_quantiles_s["min"] == said["latency_us"]["min"] / 1e6
    # a control: an interval that is off by the least there is, is noticed
    interval_us = expected_interval_us(
        duration_us=said["duration_us"], n_answers=said["requests"], connections=USERS
    )
    for wrong in (interval_us - 1, interval_us + 1, 2 * interval_us):
        with pytest.raises(InputError):
            undo_correction(corrected, wrong, n_recorded=summary.n_requests)


def test_a_wrk_whose_histogram_cannot_be_read_reports_its_own_latencies_and_why(tmp_path: Path) -> None:
    with answering_server() as server:
        generator = OtherLayout(program=WRK.program)
        order = order_of(tmp_path, ClosedLoad(users=USERS, duration_s=1), endpoint=server.endpoint)
        assert offer(generator, order).exit_code == 0
    summary = generator.read(tmp_path)
    as_before(summary, json.loads((tmp_path / RESULT).read_text()))
    why = "its script could not read the histogram (this wrk keeps its histogram in another way)"
    assert summary.latency_method == f"{LEFT}: {why}"


def as_before(summary: LoadSummary, said: dict[str, dict[str, float]]) -> None:
    us = said["latency_us"]
    assert summary.n_latencies is None
    assert summary.latency_mean_s == us.pop("mean") / 1e6
    del us["stdev"]
    assert summary.latency_quantiles_s == {name: value / 1e6 for name, value in us.items()}


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A folder as wrk leaves it: ten answers of two connections, one of them slow; e is 200 us."""
    order = order_of(tmp_path, ClosedLoad(users=2, duration_s=1))
    (tmp_path / ORDER_FILE).write_text(order_text(order))
    latency_us = {"min": 90, "mean": 250.0, "stdev": 0.0, "max": 610} | {
        f"p{name}": 610 for name in ("50", "75", "90", "95", "99", "99.9", "99.99")
    }
    errors = dict.fromkeys(("connect", "read", "write", "status", "timeout"), 0)
    said = {"duration_us": 1000, "requests": 10, "bytes": 1, "errors": errors, "latency_us": latency_us}
    (tmp_path / RESULT).write_text(json.dumps(said | {"histogram_rows": 4}))
    (tmp_path / HISTOGRAM).write_text("step_us,count\n90,9\n120,1\n200,1\n200,1\n")
    return tmp_path


def test_what_was_restored_is_what_is_reported(left: Path) -> None:
    summary = Wrk(program=None).read(left)
    assert (summary.n_latencies, summary.latency_method) == (10, UNDONE)
    assert summary.latency_mean_s == pytest.approx(142e-6)
    assert summary.latency_quantiles_s["p90"] == 90e-6
    assert summary.latency_quantiles_s["p95"] == summary.latency_quantiles_s["max"] == 610e-6
