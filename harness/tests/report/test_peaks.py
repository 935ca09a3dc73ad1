# SPDX-License-Identifier: Apache-2.0
"""Rules for a report with a runtime's log: what does not fit is noticed and said; and for the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from harness.formats.runtime_log import read_runtime_log
from harness.report.html import slowest_of_slices
from harness.report.output import main
from harness.report.result import Report
from harness.tests.support.generated_jtl import report_file
from harness.verify.simulated import queueing

EPOCH_S = 1.7e9
Spans = list[tuple[float, float]]
#: Starts, latencies, and the pauses that lengthened some.
Trial = tuple[np.ndarray, np.ndarray, queueing.Pauses]


@pytest.fixture(scope="module")
def trial() -> Trial:
    rng = np.random.default_rng(3)
    arrivals = queueing.arrival_times(600.0, 24.0, rng)
    pauses = queueing.regular_pauses(24.0, 0.06, 1.5, rng)
    service = queueing.service_times(len(arrivals), queueing.ServiceLaw(), rng)
    return *queueing.simulate_open(arrivals, service, servers=8, pauses=pauses), pauses


def write_jtl(path: Path, start: np.ndarray, latency: np.ndarray) -> Path:
    rows = [
        f"{int((EPOCH_S + s) * 1e3)},{max(1, round(x * 1e3))},a,200,true"
        for s, x in zip(start.tolist(), latency.tolist(), strict=True)
    ]
    path.write_text("timeStamp,elapsed,label,responseCode,success\n" + "\n".join(rows) + "\n")
    return path


def write_log(path: Path, spans: Spans) -> Path:
    path.write_text("".join(
        f'[{round((EPOCH_S + b) * 1e3)}ms][{round((b + 100) * 1e9)}ns][info][safepoint] Safepoint "G1CollectForAllocation", '
        f"Time since last: 1 ns, Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns, Total: {round((b - a) * 1e9)} ns\n"
        for a, b in spans
    ))  # fmt: skip
    return path


def reported(folder: Path, trial: Trial, spans: Spans) -> Report:
    jtl = write_jtl(folder / "r.jtl", trial[0], trial[1])
    return report_file(jtl, read_runtime_log(write_log(folder / "gc.log", spans)))


def causes(report: Report) -> set[str | None]:
    return {stall.cause for stall in report.stalls or ()}


def said(report: Report, words: str) -> bool:
    return any(words in warning for warning in report.warnings)


def test_the_log_of_the_same_process_explains_its_peaks(tmp_path: Path, trial: Trial) -> None:
    report = reported(tmp_path, trial, trial[2].spans)
    assert causes(report) == {"gc_pause"} and report.attribution is not None
    assert report.attribution["p99"]["causes"]["gc_pause"]["value"] > 0.9
    without = report_file(tmp_path / "r.jtl")  # a known pause does not raise the limit
    assert report.shortest_visible_ms is not None and without.shortest_visible_ms is not None
    assert 0 < report.shortest_visible_ms <= without.shortest_visible_ms


def test_plots_keep_the_slowest_request_of_every_moment() -> None:
    start = np.arange(10_000, dtype=np.float64) * 0.01
    latency = np.random.default_rng(1).lognormal(-6, 1, 10_000)
    at = slowest_of_slices(start, latency, 100)
    assert list(at) == [int(100 * k + latency[100 * k : 100 * k + 100].argmax()) for k in range(100)]
    assert list(slowest_of_slices(np.zeros(3), np.array([1.0, 3.0, 2.0]))) == [1]


def test_clocks_that_do_not_agree_are_refused_with_how_far_apart(tmp_path: Path, trial: Trial) -> None:
    report = reported(tmp_path, trial, [(a - 0.7, b - 0.7) for a, b in trial[2].spans])
    assert report.attribution is not None and "apart" in report.attribution["refused"]
    assert report.attribution["clock_offset_s"] == pytest.approx(0.7, abs=0.005)


@pytest.mark.parametrize(
    ("spans", "why"),
    [
        (lambda pauses: [(float(t), float(t) + 0.06) for t in np.sort(np.random.default_rng(8).uniform(0, 24, 16))],
         "another process's log"),
        (lambda pauses: [(a + 10.0, b + 10.0) for a, b in pauses if a + 10.0 < 24], "clocks more than"),
        (lambda pauses: [(a + 86400, b + 86400) for a, b in pauses], "no pause of the log overlaps the requests"),
        (lambda pauses: [], "the log is empty"),
    ],
    ids=["another process", "clocks further apart than is looked for", "another day", "empty"],
)  # fmt: skip
def test_a_log_that_does_not_belong_to_the_requests_explains_nothing_and_says_why(
    tmp_path: Path, trial: Trial, spans: Callable[[Spans], Spans], why: str
) -> None:
    report = reported(tmp_path, trial, spans(list(trial[2].spans)))
    assert (
        report.attribution is not None and "refused" in report.attribution and "p99" not in report.attribution
    )
    assert causes(report) == {None}
    assert said(report, "attribution refused") and said(report, why)


def test_a_log_of_another_process_laid_over_a_calm_file_is_refused_too(tmp_path: Path) -> None:
    start = np.arange(0, 24, 0.002)
    latency = np.random.default_rng(3).gamma(4, 0.0005, len(start))
    others = [(float(t), float(t) + 0.06) for t in np.arange(1.3, 23, 1.4)]
    jtl = write_jtl(tmp_path / "calm.jtl", start, latency)
    report = report_file(jtl, read_runtime_log(write_log(tmp_path / "gc.log", others)))
    assert report.attribution is not None and "another process's log" in report.attribution["refused"]


def test_too_few_pauses_to_check_the_clocks_by_are_said(tmp_path: Path, trial: Trial) -> None:
    report = reported(tmp_path, trial, list(trial[2].spans)[:3])
    assert report.attribution is not None and "refused" not in report.attribution
    assert said(report, "whether the clocks agree could not be checked")


def test_a_log_that_starts_late_or_ends_early_is_noticed(tmp_path: Path, trial: Trial) -> None:
    late = reported(tmp_path, trial, trial[2].spans[8:])
    assert said(late, "log begins") and not said(late, "log ends")
    early = reported(tmp_path, trial, trial[2].spans[:8])
    assert said(early, "log ends") and not said(early, "log begins")
    assert causes(early) >= {"unexplained", "gc_pause"}


def test_a_page_loads_nothing(tmp_path: Path, trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    jtl = write_jtl(tmp_path / "<b>x.jtl", trial[0], trial[1])
    log = write_log(tmp_path / "gc.log", trial[2].spans[::2])
    pages = []
    for name in ("page.html", "again.html"):
        main([jtl], gc=[log], html=tmp_path / name, as_json=True)
        report = json.loads(capsys.readouterr().out)
        pages.append((tmp_path / name).read_text(encoding="utf-8"))
    page = pages[0]
    assert page == pages[1], "the same data give the same page"
    assert "&lt;b&gt;x.jtl" in page and "<b>x" not in page
    plots = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(plots) == 2 and all(ElementTree.fromstring(plot) is not None for plot in plots)
    assert len(re.findall(r'role="img" aria-label="[^"]{30,}"', page)) == 2
    links = page.replace('xlink:href="#', 'ok="#')
    assert not re.search(r'(?:src|href)="(?!#)', links) and "<script" not in page
    assert f"All {len(report['stalls'])}, by time taken from requests" in page
    unexplained = sum(stall["cause"] == "unexplained" for stall in report["stalls"])
    assert page.count("<td>unexplained</td>") - 1 == unexplained  # and a row of shares
