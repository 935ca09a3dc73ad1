# SPDX-License-Identifier: Apache-2.0
"""Rules for what a report says first and in its tables: names of requests, kinds of errors, reasons, digits."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.stats.quantiles import rank, woodruff_ranks
from harness.errors import InputError
from harness.formats.row_layout import error_kind
from harness.formats.table import MOST_KINDS, OTHER_KINDS
from harness.report import analyse, words
from harness.report.output import main
from harness.report.words import percent
from harness.tests.support.generated_jtl import report_file

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
HEADER = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage\n"


def two_labels(path: Path, n: int = 2000, *, quoted: bool = False) -> Path:
    """Requests of 90 ms and of less than one, some failed in four ways."""
    rng = np.random.default_rng(4)
    rows = []
    for i in range(n):
        label, took = ("<slow> & co", rng.normal(90, 12)) if i % 4 == 1 else ("quick", 0)
        ending = "200,OK,u 1-1,true,"
        if i % 10 == 3:
            ending = "500,Internal Server Error,u 1-1,false,"
        elif i % 100 == 5:
            ending = "200,OK,u 1-1,false,wrong answer"
        elif i % 100 == 7:
            ending = (
                "Non HTTP response code: java.net.SocketTimeoutException,"
                "Non HTTP response message: Read timed out,u 1-1,false,"
            )
        rows.append(f"{1790000000000 + 10 * i},{took:.0f},{label},{ending}")
        if quoted and i == 50:
            rows.append(f'{1790000000000 + 10 * i},0,"qui\nck",{ending}')
    path.write_text(HEADER + "\n".join(rows) + "\n")
    return path


KINDS = {
    "HTTP 500 Internal Server Error": 200,
    "HTTP 200: wrong answer": 20,
    "java.net.SocketTimeoutException: Read timed out": 20,
}


@pytest.mark.parametrize("quoted", [False, True], ids=["through Arrow", "line by line"])
def test_errors_have_their_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str], quoted: bool) -> None:
    path = two_labels(tmp_path / "r.jtl", quoted=quoted)
    main([path], as_json=True)
    assert json.loads(capsys.readouterr().out)["errors_by_kind"] == KINDS
    main([path], html=tmp_path / "page.html")
    text, page = capsys.readouterr().out, (tmp_path / "page.html").read_text()
    for kind, n in KINDS.items():
        assert (
            kind in text and f'<td>{n}</td><td>{percent(n / 2000)}</td><td class="text">{kind}</td>' in page
        ) or quoted
    assert "12 % errors (200 x HTTP 500 Internal Server Error, 2 other kinds)" in " ".join(text.split())


def test_each_name_has_its_numbers_and_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = two_labels(tmp_path / "r.jtl")
    report = report_file(path)
    rows = {row.label: row for row in report.labels}
    assert [row.label for row in report.labels] == ["quick", "<slow> & co"]
    slow, quick = rows["<slow> & co"], rows["quick"]
    assert (slow.requests, quick.requests) == (500, 1500)
    assert slow.errors + quick.errors == report.errors and slow.errors == 120
    values = [
        float(line.split(",")[1]) / 1e3
        for line in path.read_text().splitlines()[1:]
        if ",<slow> & co," in line and ",true," in line
    ]
    ordered = np.sort(values)
    wanted = ordered[rank(len(values), 0.9) - 1]
    lower, upper = woodruff_ranks(np.array([values]), np.array([wanted]), 0.9, 0.95)
    assert slow.latency_ms["p90"] == pytest.approx(wanted * 1e3)
    assert slow.intervals["p90"] == pytest.approx((ordered[lower[0] - 1] * 1e3, ordered[upper[0] - 1] * 1e3))
    assert report.throughput_per_s == pytest.approx(sum(row.throughput_per_s or 0 for row in report.labels))
    main([path], html=tmp_path / "page.html")
    text, page = capsys.readouterr().out, (tmp_path / "page.html").read_text()
    assert "<slow> & co" in text and "&lt;slow&gt; &amp; co" in page and "<slow>" not in page
    main([path], as_json=True)
    plain = json.loads(capsys.readouterr().out)["labels"]
    assert [row["label"] for row in plain] == ["quick", "<slow> & co"]
    assert set(plain[0]) == {"label", "requests", "errors", "throughput_per_s", "latency_ms", "intervals"}


def test_the_first_line_sums_up_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([two_labels(tmp_path / "r.jtl")])
    first = " ".join(capsys.readouterr().out.split())
    assert re.match(r"99\.\d answers/s; 99 % within 1\d\d ms; 12 % errors \(200 x HTTP 500 Internal", first)
    stopped = words.summary(report_file(GOLDEN / "jmeter" / "closed-10-users.jtl.gz"))
    assert (
        stopped == "170 answers/s from 10 users; 99 % within 432 ms; no errors; 6 stalls, the longest 420 ms."
    )


def test_a_percentile_below_the_clock_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([two_labels(tmp_path / "r.jtl")])
    text = " ".join(capsys.readouterr().out.split())
    assert "p50 │ < 1 │" in text and "p50 is below the tool's clock of 1 ms: shown as < 1 ms" in text
    assert "p99.9 │ - │ needs 100,000 requests" in text
    report = report_file(tmp_path / "r.jtl")
    assert {name for name in report.intervals if report.intervals[name] is None} == set(
        report.interval_reasons
    )


def test_a_decimal_comma_is_named_and_read_when_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("timeStamp;elapsed;label;success\n" + "1790000000000;34,5;a;true\n" * 300)
    with pytest.raises(InputError, match=r"sheet\.csv: column elapsed: has a decimal comma.*--decimal ,"):
        report_file(path)
    assert report_file(path, unit="ms", decimal=",").latency_ms["p50"] == 34.5
    path.write_text("timeStamp,elapsed,label,success\n" + '1790000000000,"34,5","a\nb",true\n' * 300)
    assert report_file(path, unit="ms", decimal=",").latency_ms["p50"] == 34.5
    with pytest.raises(InputError, match="--decimal"):
        report_file(GOLDEN / "locust" / "samples.csv", decimal=",")


def test_kinds_without_end_are_counted_together(tmp_path: Path) -> None:
    rows = [f"{1790000000000 + 10 * i},5,a,500,kind {i},u 1-1,false," for i in range(MOST_KINDS + 50)]
    (tmp_path / "r.jtl").write_text("\n".join([HEADER.rstrip(), *rows * 2, ""]))
    counts = report_file(tmp_path / "r.jtl").errors_by_kind
    assert len(counts) == MOST_KINDS + 1 and counts[OTHER_KINDS] == 100
    assert error_kind("", "", "", "") == "no reason given" and "\n" not in error_kind("500", "a\nb", "", "")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_how_far_a_long_file_was_read_is_shown_where_somebody_looks_on(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(analyse, "LONG_BYTES", 1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setenv("TERM", "xterm")
    main([GOLDEN / "jmeter" / "closed-10-users.jtl.gz"], as_json=True)
    shown = capsys.readouterr().err
    assert ("100%" in shown and "closed-10-users" in shown) if is_terminal else shown == ""


@pytest.mark.parametrize("epoch_s", [1e300, -1e300, 1e12])
def test_a_damaged_time_is_shown_as_found_and_is_no_date(epoch_s: float) -> None:
    report = report_file(GOLDEN / "jmeter" / "closed-10-users.jtl.gz")
    damaged = report.model_copy(update={"start_epoch_s": epoch_s})
    assert f"begins {epoch_s:g} s after 1970-01-01, which is not a plausible date" in str(words.when(damaged))
