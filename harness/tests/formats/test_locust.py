# SPDX-License-Identifier: Apache-2.0
"""Rules for reading Locust's files; the golden ones were written by Locust 2.47 and our listener."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.row_files import LOCUST_SAMPLES
from harness.formats.table import AggregateTable

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "locust"
SMALL = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def aggregate(path: Path) -> AggregateTable:
    table = read_any(path)
    assert isinstance(table, AggregateTable)
    return table


def test_samples_have_every_request_and_locusts_own_files_miss_the_last_ones() -> None:
    samples, stats = LOCUST_SAMPLES.read(GOLDEN / "samples.csv"), aggregate(GOLDEN / "run_stats.csv")
    failures = aggregate(GOLDEN / "run_failures.csv")
    totals = json.loads((GOLDEN / "totals.json").read_text())
    assert (samples.n_requests, samples.n_errors) == (totals["n_requests"], totals["n_errors"])
    assert stats.total is not None
    assert stats.total.n_requests == sum(row.n_requests for row in stats.rows) < samples.n_requests
    assert stats.total.n_errors == sum(failures.errors_by_kind.values())
    assert failures.errors_by_kind.keys() == {"Wrong('status 500')", "Wrong('wrong body')"}
    assert any("last flush" in note for note in stats.notes)
    assert aggregate(GOLDEN / "run_exceptions.csv").errors_by_kind == {}


def test_samples_keep_parts_of_milliseconds_and_percentiles_do_not() -> None:
    samples, stats = LOCUST_SAMPLES.read(GOLDEN / "samples.csv"), aggregate(GOLDEN / "run_stats.csv")
    assert stats.total is not None
    flushed = samples.latency_s[: stats.total.n_requests]
    assert stats.total.latency_mean_s == pytest.approx(flushed.mean(), abs=1e-6)
    assert stats.total.latency_max_s == pytest.approx(flushed.max(), abs=1e-6)
    assert samples.resolution_s < 1e-6 < stats.resolution_s == 0.001
    assert any("rounds" in note for note in stats.notes)
    assert {"p50", "p99.9", "max"} <= stats.total.latency_quantiles_s.keys()


def test_the_history_has_points_in_time_and_no_number_where_locust_had_none() -> None:
    history = aggregate(GOLDEN / "run_stats_history.csv")
    assert history.kind == "history"
    assert len(history.history) >= 3
    assert history.history[0].latency_quantiles_s == {}  # N/A in the file
    assert history.history[-1].latency_quantiles_s["p50"] > 0
    assert history.start_epoch_s == history.history[0].epoch_s
    assert history.duration_s == history.history[-1].epoch_s - history.history[0].epoch_s
    assert history.total is not None
    assert history.total.n_requests == max(point.n_requests or 0 for point in history.history)


OLD = """"Method","Name","# requests","# failures","Median response time","Average response time","Min response time","Max response time","Average Content Size","Requests/s"
"POST","/uppercase",200,3,12,13,2,410,13,19.97
"None","Total",200,3,12,13,2,410,13,19.97
"""  # as Locust 0.9 wrote it
ONE = """Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,99.999%,100%
POST,/uppercase,200,3,12,13.25,2.1,410.7,13,19.97,0.3,12,13,14,15,20,30,99,140,410,410,410,410
,Aggregated,200,3,12,13.25,2.1,410.7,13,19.97,0.3,12,13,14,15,20,30,99,140,410,410,410,410
"""  # as Locust 1.0 wrote it
DISTRIBUTION = """"Name","# requests","50%","66%","75%","80%","90%","95%","98%","99%","100%"
"POST /uppercase",200,12,13,14,15,20,30,99,140,410
"Total",200,12,13,14,15,20,30,99,140,410
"""


@pytest.mark.parametrize("text", [OLD, ONE, DISTRIBUTION], ids=["0.9", "1.0", "distribution"])
def test_columns_of_older_releases_are_read_by_their_meaning(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run_stats.csv"
    path.write_text(text)
    table = aggregate(path)
    assert table.total is not None
    assert table.total.n_requests == 200
    assert table.total.latency_quantiles_s["p50"] == 0.012
    assert [row.n_requests for row in table.rows] == [200]


@pytest.mark.parametrize("name", ["\N{SUPERSCRIPT TWO}9.99%", "999%", "%", ".%"])
def test_a_column_is_a_percentile_when_its_name_is_a_number_up_to_100(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run_stats.csv"
    path.write_text(ONE.replace("99.99%", name))
    total = aggregate(path).total
    assert total is not None
    assert set(total.latency_quantiles_s) >= {"p99.9", "p99.999", "max"}
    assert f"p{name.removesuffix('%')}" not in total.latency_quantiles_s


def test_a_load_without_any_answer_has_no_latency_rather_than_zero(tmp_path: Path) -> None:
    header = (GOLDEN / "run_stats.csv").read_text().splitlines()[0]
    path = tmp_path / "run_stats.csv"
    path.write_text(header + "\n,Aggregated,0,0,0,0.0,0,0,0,0.0,0.0" + ",0" * 11 + "\n")
    total = aggregate(path).total
    assert total is not None
    assert total.n_requests == 0
    assert total.latency_mean_s is None
    assert total.latency_quantiles_s == {}


@given(cut=st.integers(0, 900))
@SMALL
def test_statistics_cut_anywhere_raise_nothing_but_input_errors(tmp_path: Path, cut: int) -> None:
    for name in ("run_stats.csv", "run_stats_history.csv", "run_failures.csv"):
        path = tmp_path / name
        path.write_bytes((GOLDEN / name).read_bytes()[:cut])
        try:
            assert aggregate(path).unreadable_lines <= 1
        except InputError:
            assert b"\n" not in path.read_bytes()


@given(cut=st.integers(40, 3000))
@SMALL
def test_samples_cut_anywhere_keep_every_complete_row(tmp_path: Path, cut: int) -> None:
    whole, data = LOCUST_SAMPLES.read(GOLDEN / "samples.csv"), (GOLDEN / "samples.csv").read_bytes()[:cut]
    path = tmp_path / "samples.csv"
    path.write_bytes(data)
    n_complete = data.count(b"\n") - 1
    table = LOCUST_SAMPLES.read(path)
    assert n_complete <= table.n_requests <= n_complete + 1
    assert table.latency_s.tolist() == whole.latency_s[: table.n_requests].tolist()
    assert list(table.label) == list(whole.label[: table.n_requests])


@pytest.mark.parametrize(
    "bad", ["nan,1.0,true,a,", "1.0,inf,true,a,", "1.0,-1,true,a,", "1.0,1.0,,a,", "1.0,1.0,true"]
)
def test_a_sample_that_is_no_number_is_counted(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(f"start_epoch_s,latency_ms,ok,name,error\n2.5,0.25,true,a,\n{bad}\n")
    table = LOCUST_SAMPLES.read(path)
    assert table.latency_s.tolist() == [0.00025]
    assert (table.unreadable.n, table.unreadable.first_line) == (1, 3)


def test_a_tool_killed_inside_its_first_row_left_a_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text("start_epoch_s,latency_ms,ok,name,error\n17952")
    table = LOCUST_SAMPLES.read(path)
    assert (table.n_requests, table.unreadable.n) == (0, 1)


def test_a_file_that_is_not_from_locust_is_refused_as_samples() -> None:
    with pytest.raises(InputError, match="start_epoch_s,latency_ms,ok,name"):
        LOCUST_SAMPLES.read(GOLDEN / "run_stats.csv")
