# SPDX-License-Identifier: Apache-2.0
"""wrk, for real, against a service that stands still: its latencies are those of the requests that it sent."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.tools.wrk import HISTOGRAM, RESULT, SCRIPT, Wrk
from harness.model import ClosedLoad, LoadSummary
from harness.model.endpoint import Endpoint
from harness.tests.contracts.load_generator import PATIENCE_S, end, start
from harness.tests.support.answering_server import answering_server, order_of
from harness.tests.support.synthetic import ROOT

USERS = 4
SERVICE = """
import sys
from harness.tests.support.answering_server import answering_server
with answering_server() as server:
    print(server.endpoint.port, flush=True)
    sys.stdin.read()
"""


@dataclass(frozen=True, kw_only=True)
class RealWrk(Wrk):
    """The adapter's command, but for what is done to the script."""

    program: Path | None = field(default_factory=lambda: Path(shutil.which("wrk") or "/no/wrk"))
    script: Callable[[str], str] = str

    def command(self, spec: LoadSpec) -> LoadCommand:
        command = super().command(spec)
        files = command.files | {SCRIPT: self.script(command.files[SCRIPT])}
        return command.model_copy(update={"files": files})


@contextmanager
def service() -> Iterator[tuple[int, Endpoint]]:
    """A service in a process of its own, which can be stopped and continued."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVICE], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield process.pid, Endpoint(host="127.0.0.1", port=int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


def paused(
    folder: Path, generator: LoadGenerator, *, duration_s: int, stops_s: tuple[float, ...]
) -> LoadSummary:
    """Offer a load while the service stands still, as often and as long as ``stops_s`` says."""
    with service() as (pid, endpoint):
        profile = ClosedLoad(users=USERS, duration_s=duration_s)
        process = start(generator, order_of(folder, profile, endpoint=endpoint))
        try:
            for stop_s in stops_s:
                time.sleep(0.5)
                os.kill(pid, signal.SIGSTOP)
                time.sleep(stop_s)
                os.kill(pid, signal.SIGCONT)
            assert process.wait(timeout=PATIENCE_S) == 0
        finally:
            end(process)
    return generator.read(folder)


def totals(folder: Path) -> dict[str, int]:
    said = json.loads((folder / RESULT).read_text())
    return {"duration_us": said["duration_us"], "n_answers": said["requests"], "connections": USERS}


def test_of_a_service_that_stood_still_the_latencies_are_those_of_its_requests(tmp_path: Path) -> None:
    summary = paused(tmp_path, RealWrk(), duration_s=2, stops_s=(0.2, 0.2))
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
    interval_us = expected_interval_us(**totals(tmp_path))
    for wrong in (interval_us - 1, interval_us + 1, 2 * interval_us):
        with pytest.raises(InputError):
            undo_correction(corrected, wrong, n_recorded=summary.n_requests)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (lambda text: text.replace('require("ffi")', 'require("no-ffi")'), "no-ffi"),
        (lambda text: text.replace("limit, min, max;", "limit, max, min;"), "keeps its histogram in another way"),
    ],
    ids=["no ffi", "another layout"],
)  # fmt: skip
def test_a_wrk_whose_histogram_cannot_be_read_says_what_it_said_before_and_why(
    tmp_path: Path, script: Callable[[str], str], why: str
) -> None:
    with answering_server() as server:
        generator = RealWrk(script=script)
        profile = ClosedLoad(users=USERS, duration_s=1)
        process = start(generator, order_of(tmp_path, profile, endpoint=server.endpoint))
        assert process.wait(timeout=PATIENCE_S) == 0
    summary = generator.read(tmp_path)
    as_before(summary, json.loads((tmp_path / RESULT).read_text()))
    assert (summary.latency_method or "").startswith(f"{LEFT}: its script could not read the histogram (")
    assert why in (summary.latency_method or "")


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
    program = tmp_path / "wrk"
    program.touch()
    for name, text in Wrk(program=program).command(order).files.items():
        (tmp_path / name).write_text(text)
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


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        (HISTOGRAM, "90,9\n", "90,8\n", "has 9 requests, and wrk measured 10"),
        (HISTOGRAM, "120,1\n200,1\n", "320,1\n", "has 3 of 4 rows"),
        (HISTOGRAM, "90,9", "x,9", "not a wrk histogram"),
        (
            HISTOGRAM,
            "120,1\n200,1\n200,1",
            "120,1\n201,1\n199,1",
            "no correction by 200 us made this histogram",
        ),
        (RESULT, '"timeout": 0', '"timeout": 1', "has 10 requests, and wrk measured 9"),
        (RESULT, '"duration_us": 1000', '"duration_us": 1005', "no correction by 201 us made this histogram"),
    ],
)
def test_what_does_not_fit_together_is_reported_as_before_with_one_reason(
    left: Path, name: str, old: str, new: str, why: str
) -> None:
    text = (left / name).read_text()
    assert text.count(old) == 1
    (left / name).write_text(text.replace(old, new))
    summary = Wrk(program=None).read(left)
    as_before(summary, json.loads((left / RESULT).read_text()))
    assert (summary.latency_method or "").startswith(f"{LEFT}: ")
    assert why in (summary.latency_method or "") and "\n" not in (summary.latency_method or "")
