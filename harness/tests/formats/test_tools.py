# SPDX-License-Identifier: Apache-2.0
"""Files of load generators other than JMeter: their own totals, older releases, rows that are damaged or hostile."""

from __future__ import annotations

import gzip
import re
import sqlite3
from pathlib import Path

import pytest

from harness.agent.cgroup import parse_cpu_stat, whole_number
from harness.errors import InputError
from harness.formats.detect import open_any, read_any
from harness.formats.row_files import read_oha_db
from harness.formats.table import AggregateTable, RequestTable
from harness.formats.wrk_text import SCALES, number_of, read_wrk2
from harness.tests.support.generated_jtl import report_file
from harness.tests.support.result_files import oha_db, write

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def requests_of(path: Path) -> RequestTable:
    table = read_any(path)
    assert isinstance(table, RequestTable)
    return table


def totals_of(path: Path) -> AggregateTable:
    table = read_any(path)
    assert isinstance(table, AggregateTable)
    return table


@pytest.mark.parametrize("kind", ["failures", "exceptions"])
def test_a_list_of_locust_without_requests_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match=f"is a list of {kind}, without requests .*_stats.csv"):
        read_any(GOLDEN / "locust" / f"run_{kind}.csv")


@pytest.mark.parametrize("form", ["unix", "rfc3339"])
def test_whole_seconds_are_no_time_to_tell_a_rate_or_stalls_from(tmp_path: Path, form: str) -> None:
    data = gzip.decompress((GOLDEN / "k6" / "own-seconds.csv.gz").read_bytes())
    if form == "rfc3339":  # K6_CSV_TIME_FORMAT=rfc3339
        data = re.sub(rb",17953950(\d\d),", rb",2026-11-23T00:50:\1Z,", data)
    (tmp_path / "seconds.csv").write_bytes(data)
    report = report_file(tmp_path / "seconds.csv")
    assert report.requests == 51 and report.throughput_per_s is None and report.stalls is None
    assert any("K6_CSV_TIME_FORMAT" in text for text in report.warnings)


def test_oha_rows_begin_when_they_were_due_and_are_placed_by_whoever_knows(tmp_path: Path) -> None:
    path = oha_db(tmp_path / "samples.db", [(0.5, 0.1, 0.6, 200), (0.2, None, 0.01, 500)])
    table = requests_of(path)
    assert table.from_zero and table.start_epoch_s.tolist() == [0.1, 0.2]
    assert table.latency_s.tolist() == [0.6, 0.01] and table.ok.tolist() == [True, False]
    placed = table.placed(1000.0)
    assert placed.start_epoch_s.tolist() == pytest.approx([1000.0, 1000.1]) and not placed.from_zero
    assert not table.placed(None).has_start_times
    report = report_file(GOLDEN / "oha" / "oha.csv")
    assert report.start_epoch_s is None
    assert any("answered requests only" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("text", "value_s"),
    [("196.00us", 196e-6), ("2.58ms", 2.58e-3), ("1.20s", 1.2), ("1.50m", 90.0), ("2.00h", 7200.0)],
)
def test_times_of_wrk_carry_their_unit(text: str, value_s: float) -> None:
    assert number_of(text) == pytest.approx(value_s)
    assert number_of("28.98k", SCALES) == pytest.approx(28_980.0)
    for wrong in ("", "12", "nan", "-1.00ms", "1.00 ms", "12.00Ms"):
        with pytest.raises(ValueError, match="wrk"):
            number_of(wrong)


OLD = """"Method","Name","# requests","# failures","Median response time","Average response time","Min response time","Max response time","Average Content Size","Requests/s"
"POST","/uppercase",200,3,12,13,2,410,13,19.97
"None","Total",200,3,12,13,2,410,13,19.97
"""  # as Locust 0.9 wrote it
ONE = """Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,99.999%,100%
POST,/uppercase,200,3,12,13.25,2.1,410.7,13,19.97,0.3,12,13,14,15,20,30,99,140,410,410,410,410
,Aggregated,200,3,12,13.25,2.1,410.7,13,19.97,0.3,12,13,14,15,20,30,99,140,410,410,410,410
"""  # as Locust 1.0 wrote it


@pytest.mark.parametrize("text", [OLD, ONE], ids=["0.9", "1.0"])
def test_columns_of_older_releases_of_locust_are_read_by_their_meaning(tmp_path: Path, text: str) -> None:
    table = totals_of(write(tmp_path / "run_stats.csv", text))
    assert table.total is not None and table.total.n_requests == 200
    assert table.total.latency_quantiles_s["p50"] == 0.012
    assert [row.n_requests for row in table.rows] == [200]


@pytest.mark.parametrize("name", ["\N{SUPERSCRIPT TWO}9.99%", "999%", "%", ".%"])
def test_a_column_is_a_percentile_when_its_name_is_a_number_up_to_100(tmp_path: Path, name: str) -> None:
    total = totals_of(write(tmp_path / "run_stats.csv", ONE.replace("99.99%", name))).total
    assert total is not None
    assert set(total.latency_quantiles_s) >= {"p99.9", "p99.999", "max"}
    assert f"p{name.removesuffix('%')}" not in total.latency_quantiles_s


#: As the releases 2, 3.0 to 3.3, and 3.4 to 3.11 write the same request.
GATLING = {
    "2": "REQUEST\tscenario\t17\tshop,cart\tadd\t1700000000100\t1700000000350\t{}\t{}",
    "3.0": "REQUEST\t17\tshop,cart\tadd\t1700000000100\t1700000000350\t{}\t{}",
    "3.4": "REQUEST\tshop,cart\tadd\t1700000000100\t1700000000350\t{}\t{}",
}


@pytest.mark.parametrize("release", GATLING)
def test_requests_of_gatling(tmp_path: Path, release: str) -> None:
    good = GATLING[release].format("OK", " ")
    bad = GATLING[release].format("KO", "status.find.is(200), but actually found 500")
    lines = ["RUN\tShop\tshop\t1700000000000\t \t3.9.5", "USER\tscenario\tSTART\t1700000000090", good, bad]
    text = "\n".join([*lines, "GROUP\tshop\t1\t2\t1\tOK", "ERROR\tcrash\t3", good[:40]])
    table = requests_of(write(tmp_path / "simulation.log", text))
    assert table.source == "gatling" and table.ok.tolist() == [True, False]
    assert table.latency_s.tolist() == [0.25, 0.25]
    assert table.start_epoch_s.tolist() == [1_700_000_000.1] * 2
    assert table.labels == ("shop / cart / add",)
    assert table.errors_by_kind == {"status.find.is(200), but actually found 500": 1}
    assert (table.unreadable.n, table.unreadable.n_cut) == (1, 1)


@pytest.mark.parametrize(
    "bad", ["nan,1.0,true,a,", "1.0,inf,true,a,", "1.0,-1,true,a,", "1.0,1.0,,a,", "1.0,1.0,true"]
)
def test_a_sample_that_is_no_number_is_counted(tmp_path: Path, bad: str) -> None:
    text = f"start_epoch_s,latency_ms,ok,name,error\n2.5,0.25,true,a,\n{bad}\n"
    table = requests_of(write(tmp_path / "samples.csv", text))
    assert table.latency_s.tolist() == [0.00025]
    assert (table.unreadable.n, table.unreadable.first_line) == (1, 3)


@pytest.mark.parametrize("cut_before", ["#[Mean", "  6000 requests", "  Latency Distribution"])
def test_a_summary_of_wrk2_that_ends_early_is_refused(tmp_path: Path, cut_before: str) -> None:
    text = (GOLDEN / "wrk2" / "latency.txt").read_text()
    with pytest.raises(InputError, match="wrk2"):
        read_wrk2(write(tmp_path / "wrk2.txt", text[: text.index(cut_before)]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00\x00\x00\x00\x063.13.1\x00\x00\x00\x05Shop", "is Gatling's binary log"),
        (b"w\xff\x81\x03\x01\x01\x06Result\x01\xff\x82\x00\x01\t\x01\x04Code\x01\x06\x00\x01\tTimestamp\x01\x07Latency\x01",
         "is a binary file; allowed: .*vegeta encode -to csv"),
    ],
)  # fmt: skip
def test_a_binary_file_is_named_whatever_it_is_called(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "run-7.log").write_bytes(data)
    with pytest.raises(InputError, match=message):
        open_any(tmp_path / "run-7.log")


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("there", "put"),
    [(b"CREATE TABLE", b"CREATE\xff\xfeABLE"), (b"tableoha", b"tableoh\xff"), (b"duration", b"durati\xff\n")],
)
def test_a_schema_of_oha_that_is_not_utf_8_is_refused(there: bytes, put: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE oha (start, start_latency_correction, duration, status)")
    connection.close()
    data = file.read_bytes()
    assert data.count(there) == 1
    file.write_bytes(data.replace(there, put))
    with pytest.raises(InputError, match=r"a\.db: cannot be read as oha's") as refused:
        read_oha_db(file)
    assert refused.value.exit_code == 2 and "\n" not in str(refused.value)
    file.write_bytes(data)
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO oha VALUES ('x', NULL, 'y', 'z')")
    connection.close()
    with pytest.raises(InputError, match=r"a\.db"):
        read_oha_db(file)


@pytest.mark.parametrize(
    "text", ["\N{SUPERSCRIPT TWO}", DIGITS, "-1", "", "1.5", "\N{ARABIC-INDIC DIGIT THREE}"]
)
def test_a_counter_of_the_kernel_is_digits(text: str) -> None:
    assert whole_number(text) is None
    assert parse_cpu_stat(f"nr_throttled {text}\nthrottled_usec {text}") is None
