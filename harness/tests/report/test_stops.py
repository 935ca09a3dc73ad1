# SPDX-License-Identifier: Apache-2.0
"""Rules for the stalls of a report: none below the limit that it states, and those made for real are in it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agent.ports import free_port
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.stalls import (
    detectability_limit,
    harm_of,
    jitter_reach_s,
    shortest_visible_s,
)
from harness.project import find_root
from harness.report.analyse import report_file
from harness.report.output import main
from harness.report.result import Report
from harness.store import SessionFolder, Store
from harness.tests.support.available import only_when_long
from harness.tests.support.generated_jtl import Load, open_load, write_load
from harness.tests.support.patience import patient

Span = tuple[float, float]
USERS = 12
STOPS_S = (0.3, 0.5, 0.4)
#: From one stop to the next; and what a user waits between an answer and the next request: the tests beside this one
#: need the CPUs, too.
APART_S, THINK_S = 0.8, 0.01
EPOCH_S = 1.7e9


def real_file(folder: Path, *, busy: bool) -> tuple[Path, list[Span]]:
    """Users against a real server that is stopped and continued, as a JMeter file; and when it was stopped.

    ``busy``: as many other programs compute as there are cores.
    """
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--protocol", "HTTP/1.1", str(port)],
        cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(busy * (os.cpu_count() or 1))
    ]
    rows: list[str] = []
    stops: list[Span] = []
    over = threading.Event()
    try:
        answers_when_ready(port)
        users = [threading.Thread(target=ask, args=(port, user, rows, over)) for user in range(USERS)]
        for user in users:
            user.start()
        for length in STOPS_S:
            time.sleep(APART_S)
            os.kill(server.pid, signal.SIGSTOP)
            began = time.time()
            time.sleep(length)
            stops.append((began, time.time()))
            os.kill(server.pid, signal.SIGCONT)
        time.sleep(APART_S)
        over.set()
        for user in users:
            user.join()
    finally:
        over.set()
        os.kill(server.pid, signal.SIGCONT)
        for process in (server, *others):
            process.kill()
            process.wait()
    path = folder / "real.jtl"
    path.write_text("timeStamp,elapsed,label,responseCode,threadName,success\n" + "".join(rows))
    return path, stops


def answers_when_ready(port: int) -> None:
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patient(60))
            connection.request("GET", "/")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


def ask(port: int, user: int, rows: list[str], over: threading.Event) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patient(60))
    while not over.is_set():
        began, clock = time.time(), time.perf_counter()
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        took_ms = round((time.perf_counter() - clock) * 1e3)
        rows.append(f"{round(began * 1e3)},{took_ms},root,{answer.status},users 1-{user},true\n")
        time.sleep(THINK_S)


def agrees_with_its_limit(report: Report) -> None:
    assert report.stalls is not None and report.shortest_visible_ms is not None
    assert all(stall.duration_s * 1e3 >= report.shortest_visible_ms for stall in report.stalls)
    if report.shorter_stalls is not None:
        assert report.shorter_stalls.longest_ms < report.shortest_visible_ms
    assert list(report.harms_s) == sorted(report.harms_s, reverse=True), "the most harmful first"


@pytest.mark.parametrize(
    "busy",
    [False, pytest.param(True, marks=only_when_long("with a program on every CPU"))],
    ids=["idle", "busy"],
)
def test_real_stops_are_listed_and_nothing_below_the_stated_limit_is(tmp_path: Path, busy: bool) -> None:
    path, stops = real_file(tmp_path, busy=busy)
    report = report_file(path)
    agrees_with_its_limit(report)
    assert report.stalls is not None and report.shortest_visible_ms is not None
    for low, high in stops:
        # On a machine so busy that even this would not show, the report says so by its limit.
        if (high - low) * 1e3 >= 1.5 * report.shortest_visible_ms:
            assert any(stall.start_s < high and low < stall.end_s for stall in report.stalls)


def jittery(pause_s: float, jitter_s: float) -> Load:
    """Arrivals with a short stop of everything every 0.1 s, as a busy machine makes, and five real pauses."""
    load = open_load(20_000, 800.0, 0.001, sigma=0.2, seed=3)
    start, latency = load.start, load.latency.copy()
    lows = [(low, jitter_s) for low in np.arange(0.05, start[-1], 0.1)]
    lows += [(low, pause_s) for low in (3.0, 7.0, 11.0, 15.0, 19.0)]
    for low, length in lows:
        held = (start >= low) & (start < low + length)
        latency[held] += low + length - start[held]
    return Load(start=start, latency=latency, thread=load.thread, threads=load.threads)


def test_everyday_jitter_is_summed_up_in_one_line_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_load(tmp_path / "busy.jtl", jittery(0.25, 0.012))
    report = report_file(path)
    agrees_with_its_limit(report)
    assert report.shorter_stalls is not None and report.shorter_stalls.number >= 10
    assert report.stalls is not None and len([s for s in report.stalls if s.duration_s > 0.2]) == 5
    main([path], html=tmp_path / "page.html")
    text, page = " ".join(capsys.readouterr().out.split()), (tmp_path / "page.html").read_text()
    one_line = f"{report.shorter_stalls.number} shorter ones of at most"
    assert one_line in text and one_line in page
    assert page.count("<td>stall</td>") + page.count("<td>slow period</td>") == len(report.stalls)
    main([path], as_json=True)
    plain = json.loads(capsys.readouterr().out)
    assert len(plain["stalls"]) == len(report.stalls)
    assert plain["shorter_stalls"]["number"] == report.shorter_stalls.number
    assert 0 < plain["shorter_stalls"]["share"] < 1


CAPTURED = sorted(
    path
    for tool in ("jmeter", "k6", "locust", "oha", "vegeta")
    for path in (find_root() / "harness" / "tests" / "golden" / tool).iterdir()
    if path.suffix in (".jtl", ".csv", ".gz", ".db") and "run_" not in path.name
)


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_captured_file_of_a_tool_has_a_stall_below_its_own_limit(path: Path, tmp_path: Path) -> None:
    report = report_file(path)
    if report.stalls is None or report.shortest_visible_ms is None:
        assert not report.stalls
        return
    agrees_with_its_limit(report)
    main([path], html=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<td>stall</td>") + page.count("<td>slow period</td>") == len(report.stalls)


#: Experiments whose trials have rows, and what tools write them to in the folder of a trial.
WITH_ROWS = {"gc-peaks", "gc-loops", "clients-hello", "bank-rematch"}
ROWS = ("load/samples.jtl", "load/samples.csv")


@only_when_long("every bundled trial with a row a request")
@pytest.mark.parametrize("session", Store(find_root()).sessions(bundled=True), ids=lambda one: one.key)
def test_no_bundled_trial_has_a_stall_below_its_own_limit(session: SessionFolder, tmp_path: Path) -> None:
    files = [(trial, name) for trial in session.finished() for name in ROWS if session.has(trial, name)]
    assert files or WITH_ROWS.isdisjoint(session.key.split("/"))
    for trial, name in files:
        path = tmp_path / f"{trial}{Path(name).suffix}"
        with session.open(trial, name) as file:
            path.write_bytes(file.read())
        report = report_file(path)
        path.unlink()
        if report.stalls is not None and report.shortest_visible_ms is not None:
            agrees_with_its_limit(report)
        else:
            assert not report.stalls, "without a limit nothing is listed"


def test_jitter_that_reaches_above_the_ordinary_tail_is_not_listed_stop_by_stop(tmp_path: Path) -> None:
    """Stops of 4 to some 40 ms, as a scheduler under load makes them, and five that are twenty times as long."""
    rng = np.random.default_rng(5)
    load = open_load(48_000, 800.0, 0.001, sigma=0.2, seed=3)
    start, latency = load.start, load.latency.copy()
    lows = np.sort(rng.uniform(0, start[-1], 600))
    held_up = [(low, length) for low, length in zip(lows, 0.004 + rng.exponential(0.005, 600), strict=True)]
    for low, length in [*held_up, *((at, 0.4) for at in (6.0, 18.0, 30.0, 42.0, 54.0))]:
        held = (start >= low) & (start < low + length)
        latency[held] = np.maximum(latency[held], low + length - start[held])
    report = report_file(
        write_load(
            tmp_path / "jitter.jtl",
            Load(start=start, latency=latency, thread=load.thread, threads=load.threads),
        )
    )
    agrees_with_its_limit(report)
    assert report.stalls is not None
    assert all(stall.duration_s > 0.3 for stall in report.stalls[:5]), "ordered by harm"
    assert len([stall for stall in report.stalls if stall.duration_s < 0.3]) <= 2, (
        "one false stall a minute or less"
    )


def test_harm_is_what_the_requests_under_way_took_beyond_the_median() -> None:
    start, latency = np.arange(0.0, 10.0, 0.01), np.full(1000, 0.001)
    latency[500:510] = 0.101 - 0.01 * np.arange(10)
    stall = Stall(start_s=5.0, end_s=5.1, kind="stall", n_requests=10, log_p=-20.0)
    elsewhere = stall.model_copy(update={"start_s": 7.0, "end_s": 7.05})
    assert harm_of(start, latency, [stall, elsewhere]) == pytest.approx([0.55, 0.0])
    assert harm_of(start, latency, []).shape == (0,)


def test_few_short_stalls_say_nothing_of_jitter_and_many_say_how_long_it_becomes() -> None:
    assert jitter_reach_s([0.01] * 9, 0.02, 60.0) == 0.0
    rng = np.random.default_rng(1)
    lengths = 0.005 + rng.exponential(0.003, 2000)
    reach = jitter_reach_s(lengths.tolist(), 0.015, 600.0)
    assert reach == pytest.approx(0.005 + 0.003 * np.log(200 / 0.5), rel=0.15)
    assert np.count_nonzero(lengths > reach) / 10 <= 1.0


def test_pauses_do_not_raise_the_limit_above_themselves(tmp_path: Path) -> None:
    """Five pauses hold up more than a hundredth of the requests: p99 alone would put the limit above them."""
    load = jittery(0.25, 0.0)
    report = report_file(write_load(tmp_path / "paused.jtl", load))
    assert report.latency_ms["p99"] is not None and 2 * report.latency_ms["p99"] > 250
    assert report.shortest_visible_ms is not None and report.shortest_visible_ms < 50
    assert report.stalls is not None and len([s for s in report.stalls if s.kind == "stall"]) == 5


@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.floats(0.001, 0.5), max_size=8), seed=st.integers(0, 100))
def test_the_limit_lies_between_that_of_clear_requests_and_that_of_all(
    lengths: list[float], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    start = np.sort(rng.uniform(0, 20, 4000))
    latency = rng.lognormal(-6, 0.5, 4000)
    stalls = []
    for k, length in enumerate(lengths):
        low = 2.0 * k + 1
        held = (start >= low) & (start < low + length)
        latency[held] += low + length - start[held]
        stalls.append(Stall(start_s=low, end_s=low + length, kind="stall", n_requests=9, log_p=-20.0))
    limit = shortest_visible_s(start, latency, stalls, {})
    rate = len(start) / float((start + latency).max() - start.min())
    assert limit is not None and limit <= detectability_limit(rate, float(np.quantile(latency, 0.99))) + 1e-12
    assert limit >= 10 / rate - 1e-12
