# SPDX-License-Identifier: Apache-2.0
"""Rules for the stalls of a report: none below the limit that it states; real stops: ``verify/test_recorded.py``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.stalls import (
    detectability_limit,
    harm_of,
    jitter_reach_s,
    shortest_visible_s,
)
from harness.project import find_root
from harness.report import peaks
from harness.report.output import main
from harness.report.result import Report
from harness.tests.support.generated_jtl import Load, open_load, write_load
from harness.tests.support.reports import report_file


def agrees_with_its_limit(report: Report) -> None:
    assert report.stalls is not None and report.shortest_visible_ms is not None
    assert all(stall.duration_s * 1e3 >= report.shortest_visible_ms for stall in report.stalls)
    if report.shorter_stalls is not None:
        assert report.shorter_stalls.longest_ms < report.shortest_visible_ms
    harms_s = [stall.harm_s for stall in report.stalls]
    assert harms_s == sorted(harms_s, reverse=True), "the most harmful first"


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
def test_no_captured_file_of_a_tool_has_a_stall_below_its_own_limit(path: Path) -> None:
    report = report_file(path)
    if report.stalls is None or report.shortest_visible_ms is None:
        assert not report.stalls
    else:
        agrees_with_its_limit(report)


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


def test_a_long_file_is_looked_through_in_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_load(tmp_path / "paused.jtl", jittery(0.25, 0.0))
    whole = report_file(path).stalls or ()
    for name, n in {"STRETCH": 6000, "BESIDE": 1500}.items():
        monkeypatch.setattr(peaks, name, n)
    parts = report_file(path).stalls or ()
    assert len(whole) >= 5 and {
        (each.kind, each.start_s, each.end_s) for each in whole if each.kind == "stall"
    } == {(each.kind, each.start_s, each.end_s) for each in parts if each.kind == "stall"}


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
