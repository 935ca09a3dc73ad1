# SPDX-License-Identifier: Apache-2.0
"""Rules for reading what k6 (our script), oha, vegeta and wrk2 leave; the golden files are their own."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.oha_db import read_oha_db
from harness.formats.row_files import K6_HEADER, K6_SAMPLES, OHA_COLUMNS, OHA_CSV, VEGETA_CSV
from harness.formats.table import AggregateTable, RequestTable
from harness.formats.wrk2_text import read_wrk2
from harness.report.analyse import report_file
from harness.tests.support.oha_output import oha_db

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
VEGETA, WRK2, OHA = GOLDEN / "vegeta" / "results.csv", GOLDEN / "wrk2", GOLDEN / "oha"


# --- vegeta


def test_vegetas_rows_add_up_to_vegetas_own_report() -> None:
    table, report = read_any(VEGETA), json.loads((VEGETA.parent / "report.json").read_text())
    assert isinstance(table, RequestTable)
    assert (table.source, table.resolution_s) == ("vegeta", 1e-9)
    assert table.n_requests == report["requests"] == 400
    assert table.n_errors == report["status_codes"]["500"]
    latencies = report["latencies"]
    assert table.latency_s.sum() == pytest.approx(latencies["total"] / 1e9)
    assert table.latency_s.max() == pytest.approx(latencies["max"] / 1e9)
    assert table.latency_s.min() == pytest.approx(latencies["min"] / 1e9)
    assert np.quantile(table.latency_s, 0.5) == pytest.approx(latencies["50th"] / 1e9, rel=0.02)
    first_s, last_s = table.start_epoch_s.min(), table.start_epoch_s.max()
    assert last_s - first_s == pytest.approx(report["duration"] / 1e9, abs=1e-6)
    assert table.labels == ("http://127.0.0.1:18099/hello",)


def test_a_cut_last_row_of_vegeta_is_counted_not_fatal(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_bytes(VEGETA.read_bytes()[:-200])
    table = VEGETA_CSV.read(path)
    assert (table.n_requests, table.unreadable.n, table.unreadable.n_cut) == (399, 1, 1)


def test_a_request_without_an_answer_is_an_error_of_vegeta(tmp_path: Path) -> None:
    row = (
        '1795252467300838552,0,1724571,0,0,"Get ""http://x"": dial tcp: refused, again",,,0,GET,http://x/,\n'
    )
    path = tmp_path / "samples.csv"
    path.write_text(row)
    table = VEGETA_CSV.read(path)
    assert (table.n_requests, table.n_errors) == (1, 1)
    assert table.start_epoch_s[0] == pytest.approx(1795252467.300838552, abs=1e-6)


def test_rows_of_jmeter_are_not_taken_for_vegetas() -> None:
    table = read_any(GOLDEN / "jmeter" / "no-header.jtl")
    assert isinstance(table, RequestTable)
    assert table.source == "jmeter"


# --- wrk2


def test_wrk2s_summary_is_read_number_by_number() -> None:
    table = read_any(WRK2 / "latency.txt")
    assert isinstance(table, AggregateTable)
    assert table.source == "wrk2"
    assert table.total is not None
    assert (table.total.n_requests, table.total.n_errors) == (6000, 23)
    assert table.total.latency_mean_s == pytest.approx(1.011e-3)
    assert table.total.latency_max_s == pytest.approx(10.112e-3)
    assert table.total.latency_quantiles_s == pytest.approx(
        {
            "p50": 838e-6, "p75": 1.17e-3, "p90": 1.40e-3, "p95": 1.606e-3, "p99": 9.36e-3,
            "p99.9": 9.92e-3, "p99.99": 10.12e-3, "p99.999": 10.12e-3,
        }
    )  # fmt: skip
    assert table.total.answers_per_s == 499.94
    assert table.errors_by_kind == {"status": 23}
    assert table.duration_s == 12.0


def test_wrk2s_latencies_are_of_fewer_requests_than_it_sent_and_that_is_said() -> None:
    table = read_wrk2(WRK2 / "latency.txt")
    assert table.n_latencies == 972
    assert any("972 of 6000" in note for note in table.notes)


def test_of_wrk2s_two_distributions_the_corrected_one_is_read() -> None:
    table = read_wrk2(WRK2 / "latency-uncorrected.txt")
    assert table.total is not None
    assert table.total.latency_quantiles_s["p50"] == pytest.approx(0.86e-3)  # uncorrected: 100 us
    assert table.total.latency_mean_s == pytest.approx(0.990e-3)
    assert (table.total.n_requests, table.total.n_errors) == (5998, 32)


@pytest.mark.parametrize("cut_before", ["#[Mean", "  6000 requests", "  Latency Distribution"])
def test_a_summary_of_wrk2_that_ends_early_is_refused(tmp_path: Path, cut_before: str) -> None:
    text = (WRK2 / "latency.txt").read_text()
    path = tmp_path / "wrk2.txt"
    path.write_text(text[: text.index(cut_before)])
    with pytest.raises(InputError, match="wrk2"):
        read_wrk2(path)


# --- k6


def test_samples_of_the_k6_script_keep_nanoseconds_and_say_which_requests_failed(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(
        f'{K6_HEADER}\n1795252467.300838,0.123456,true,hello,\n1795252467.301900,7.5,false,"a, b",status 500\n'
    )
    table = read_any(path)
    assert isinstance(table, RequestTable)
    assert (table.source, table.resolution_s, table.n_errors) == ("k6", 1e-9, 1)
    assert table.latency_s.tolist() == pytest.approx([0.000123456, 0.0075])
    assert table.labels == ("hello", "a, b")


def test_a_row_that_k6_was_killed_in_is_counted_not_fatal(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(f"{K6_HEADER}\n1795252467.300838,0.5,true,hello,\n1795252467.30")
    table = K6_SAMPLES.read(path)
    assert (table.n_requests, table.unreadable.n, table.unreadable.n_cut) == (1, 1, 1)


def test_another_file_is_not_taken_for_the_k6_scripts(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text("metric_name,timestamp,metric_value\n")
    with pytest.raises(InputError, match="k6"):
        K6_SAMPLES.read(path)


# --- oha


def test_oha_rows_begin_when_they_were_due(tmp_path: Path) -> None:
    path = oha_db(tmp_path / "samples.db", [(0.5, 0.1, 0.6, 200), (0.2, None, 0.01, 500)])
    table = read_any(path)
    assert isinstance(table, RequestTable)
    assert table.from_zero
    assert table.start_epoch_s.tolist() == [0.1, 0.2]
    assert table.latency_s.tolist() == [0.6, 0.01]
    assert table.ok.tolist() == [True, False]


def test_an_oha_table_is_placed_on_the_wall_clock_by_whoever_knows(tmp_path: Path) -> None:
    table = read_oha_db(oha_db(tmp_path / "samples.db", [(0.5, None, 0.6, 200), (0.7, None, 0.6, 200)]))
    placed = table.placed(1000.0)
    assert placed.start_epoch_s.tolist() == pytest.approx([1000.0, 1000.2])
    assert not placed.from_zero
    assert not table.placed(None).has_start_times


def test_an_sqlite_file_is_read_from_its_gzipped_form_too(tmp_path: Path) -> None:
    plain = oha_db(tmp_path / "samples.db", [(0.5, None, 0.6, 200)])
    packed = tmp_path / "samples.db.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    one, two = read_any(plain), read_any(packed)
    assert isinstance(one, RequestTable) and isinstance(two, RequestTable)
    assert one.to_frame().equals(two.to_frame())


def test_ohas_rows_add_up_to_ohas_own_totals() -> None:
    table, totals = read_any(OHA / "samples.db.gz"), json.loads((OHA / "totals.json").read_text())
    assert isinstance(table, RequestTable)
    assert table.n_requests == totals["statusCodeDistribution"]["200"] == 28
    assert table.latency_s.mean() == pytest.approx(totals["summary"]["average"])
    assert table.latency_s.max() == pytest.approx(totals["summary"]["slowest"])
    assert np.median(np.diff(table.start_epoch_s)) == pytest.approx(
        0.025, abs=0.001
    )  # one was due every 25 ms


def test_ohas_csv_of_a_rate_has_the_same_latencies_but_begins_later() -> None:
    """Rows of the csv begin when they were sent, and the connection was busy."""
    table = read_any(OHA / "oha.csv")
    assert isinstance(table, RequestTable)
    assert (table.source, table.n_requests, table.n_errors) == ("oha", 31, 0)
    assert table.start_epoch_s[1] == pytest.approx(0.035932745)
    assert table.latency_s[1] == pytest.approx(0.039614152)


@pytest.mark.parametrize("damage", ["cut", "another table"])
def test_a_damaged_or_foreign_sqlite_file_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "samples.db"
    if damage == "cut":
        rows = [(float(n), None, 0.1, 200) for n in range(500)]
        path.write_bytes(oha_db(tmp_path / "whole.db", rows).read_bytes()[:9000])
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE other (x INTEGER)")
        connection.close()
    with pytest.raises(InputError, match="oha"):
        read_any(path)


def test_ohas_csv_is_read_and_its_report_says_what_is_not_in_it(tmp_path: Path) -> None:
    path = tmp_path / "oha.csv"
    rows = [f"{n * 0.001},0,0.0001,0.0004,0.0005,13,{500 if n == 7 else 200}" for n in range(200)]
    path.write_text("\n".join([",".join(OHA_COLUMNS), *rows]) + "\n")
    table = OHA_CSV.read(path)
    assert (table.n_requests, table.n_errors, table.from_zero) == (200, 1, True)
    report = report_file(path)
    assert report.start_epoch_s is None
    assert report.latency_ms["p50"] == pytest.approx(0.5)
    assert any("answered requests only" in warning for warning in report.warnings)
