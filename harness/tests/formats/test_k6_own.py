# SPDX-License-Identifier: Apache-2.0
"""Rules for k6's own outputs; the golden files are k6 1.8.0's, see their README."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.table import AggregateTable, RequestTable
from harness.report.analyse import report_file

K6 = Path(__file__).resolve().parents[1] / "golden" / "k6"
ROWS = ("own-seconds.csv.gz", "own-milli.csv.gz", "own-rfc3339.csv.gz", "own-points.json.gz")
SUMMARIES = ("summary-export.json", "summary-handled.json", "summary-machine.json")


def rows_of(name: str) -> RequestTable:
    table = read_any(K6 / name)
    assert isinstance(table, RequestTable) and table.source == "k6"
    return table


@pytest.mark.parametrize("name", ROWS)
def test_each_request_of_k6_is_one_row_with_its_name_and_error(name: str) -> None:
    table = rows_of(name)
    assert table.n_requests == 51 and table.unreadable.n == 0
    assert set(table.labels) == {"fast, small", "http://127.0.0.1:18231/slow", "refused"}
    assert table.errors_by_kind["dial: connection refused"] == 3
    assert set(table.errors_by_kind) == {"dial: connection refused", "HTTP 500"}
    assert sum(table.errors_by_kind.values()) == table.n_errors


def test_csv_json_and_summary_of_one_run_say_the_same() -> None:
    csv, points = rows_of("own-seconds.csv.gz"), rows_of("own-points.json.gz")
    assert np.sort(csv.latency_s) == pytest.approx(np.sort(points.latency_s), abs=1e-9)
    assert csv.errors_by_kind == points.errors_by_kind
    summary = read_any(K6 / "summary-export.json")
    assert isinstance(summary, AggregateTable) and summary.total is not None
    assert (summary.total.n_requests, summary.total.n_errors) == (points.n_requests, points.n_errors)
    assert summary.total.latency_mean_s == pytest.approx(float(points.latency_s.mean()))
    assert summary.total.latency_max_s == pytest.approx(float(points.latency_s.max()))


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_of_k6_is_totals_whichever_way_it_was_written(name: str) -> None:
    report = report_file(K6 / name)
    assert (report.source, report.requests) == ("k6", 51) and report.errors > 0 and report.stalls is None
    assert report.throughput_per_s == pytest.approx(60, abs=5)
    assert {"mean", "p50", "p90", "p95", "max"} <= {k for k, v in report.latency_ms.items() if v is not None}


def test_a_row_begins_before_its_stamp_by_its_latency() -> None:
    lines = gzip.decompress((K6 / "own-points.json.gz").read_bytes()).splitlines()
    points = [json.loads(line) for line in lines]
    first = next(p for p in points if p["type"] == "Point" and p["metric"] == "http_req_duration")
    table = rows_of("own-points.json.gz")
    assert first["data"]["time"].startswith("2026-11-23T00:50:30.")
    assert table.start_epoch_s[0] + table.latency_s[0] == pytest.approx(
        1795395030 + float("0." + first["data"]["time"].split(".")[1].rstrip("Z")), abs=1e-6
    )


@pytest.mark.parametrize("written", ["unix", "rfc3339"])
def test_whole_seconds_are_no_time_to_tell_a_rate_or_stalls_from(tmp_path: Path, written: str) -> None:
    data = gzip.decompress((K6 / "own-seconds.csv.gz").read_bytes())
    if written == "rfc3339":  # K6_CSV_TIME_FORMAT=rfc3339
        data = re.sub(rb",17953950(\d\d),", rb",2026-11-23T00:50:\1Z,", data)
    (tmp_path / "seconds.csv").write_bytes(data)
    report = report_file(tmp_path / "seconds.csv")
    assert report.requests == 51
    assert report.throughput_per_s is None and report.stalls is None
    assert any("K6_CSV_TIME_FORMAT" in said for said in report.warnings)


def test_a_file_of_k6_is_never_answered_with_jmeters_options(tmp_path: Path) -> None:
    lines = gzip.decompress((K6 / "own-seconds.csv.gz").read_bytes()).decode().splitlines()
    others = [line for line in lines if not line.startswith("http_req_duration,")]
    wrong = {
        "no requests.csv": "\n".join(others),
        "only a header.csv": lines[0],
        "few columns.csv": "metric_name,timestamp,metric_value,name\nhttp_req_duration,1795395030,3.0,a\n",
        "cut.json": (K6 / "summary-export.json").read_text()[:700],
        "no request.json": '{"metrics": {"http_req_blocked": {"avg": 1}}, "root_group": {}}',
    }
    for name, text in wrong.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=name) as problem:
            report_file(tmp_path / name)
        assert "JMeter with" not in str(problem.value), name


def test_a_broken_point_is_counted_and_a_cut_file_is_read(tmp_path: Path) -> None:
    data = gzip.decompress((K6 / "own-points.json.gz").read_bytes())
    path = tmp_path / "points.json"
    at = data.index(b'"metric":"http_req_duration","type":"Point"')
    path.write_bytes(data[:at] + data[at:].replace(b'"value":', b'"value":x', 1)[:20_000])
    table = read_any(path)
    assert isinstance(table, RequestTable)
    assert table.unreadable.n >= 1 and 0 < table.n_requests < 51
