# SPDX-License-Identifier: Apache-2.0
"""Rules for the stalls of a report: none below the limit that it states; real stops: ``verify/test_recorded.py``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.stalls import harm_of
from harness.report import peaks
from harness.report.output import main
from harness.report.result import Report
from harness.tests.support.generated_jtl import Load, open_load, report_file, write_load


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


def test_everyday_jitter_is_one_line_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_harm_is_what_the_requests_under_way_took_beyond_the_median() -> None:
    start, latency = np.arange(0.0, 10.0, 0.01), np.full(1000, 0.001)
    latency[500:510] = 0.101 - 0.01 * np.arange(10)
    stall = Stall(start_s=5.0, end_s=5.1, kind="stall", n_requests=10, log_p=-20.0)
    elsewhere = stall.model_copy(update={"start_s": 7.0, "end_s": 7.05})
    assert harm_of(start, latency, [stall, elsewhere]) == pytest.approx([0.55, 0.0])
    assert harm_of(start, latency, []).shape == (0,)


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
