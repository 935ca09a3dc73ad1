# SPDX-License-Identifier: Apache-2.0
"""Files of tools that no session runs: hey, autocannon, Gatling."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.detect import open_any, read_any
from harness.formats.row_files import HEY_CSV
from harness.formats.table import AggregateTable, RequestTable
from harness.report.analyse import report_file

GOLDEN = Path(__file__).parent.parent / "golden"
HEY = GOLDEN / "hey" / "hey.csv"
AUTOCANNON = GOLDEN / "autocannon" / "autocannon.json"


def test_each_row_of_hey() -> None:
    rows = list(csv.DictReader(HEY.read_text("utf-8").splitlines()))
    table = read_any(HEY)
    assert isinstance(table, RequestTable) and table.source == "hey" and table.from_zero
    assert table.latency_s.tolist() == [float(row["response-time"]) for row in rows]
    assert table.start_epoch_s.tolist() == [float(row["offset"]) for row in rows]
    assert table.ok.tolist() == [row["status-code"] == "200" for row in rows]
    assert 0 < table.n_errors < table.n_requests
    report = report_file(HEY)
    assert report.loop is not None and report.loop.kind == "closed"
    assert set(report.errors_by_kind) == {"HTTP 503"}


def test_an_old_hey_without_status_and_offset(tmp_path: Path) -> None:
    lines = HEY.read_text("utf-8").splitlines()
    path = tmp_path / "old.csv"
    path.write_text("\n".join([*(",".join(line.split(",")[:6]) for line in lines), ""]), "utf-8")
    table = HEY_CSV.read(path)
    assert not table.has_start_times and not table.ok_known and table.n_requests == len(lines) - 1


def test_totals_of_autocannon() -> None:
    written = json.loads(AUTOCANNON.read_text("utf-8"))
    table = read_any(AUTOCANNON)
    assert isinstance(table, AggregateTable) and table.source == "autocannon" and table.total is not None
    assert table.total.n_requests == written["requests"]["total"] + written["errors"]
    assert table.total.n_errors == written["non2xx"] + written["errors"] > 0
    assert table.total.latency_quantiles_s["p99.9"] == written["latency"]["p99_9"] / 1e3
    report = report_file(AUTOCANNON)
    assert report.latency_ms["p95"] is None
    assert report.bounds_ms["p95"] == (written["latency"]["p90"], written["latency"]["p97_5"])
    assert report.errors_by_kind == {"HTTP 503": written["non2xx"]}


#: As the releases 2, 3.0 to 3.3, and 3.4 to 3.11 write the same request.
REQUESTS = {
    "2": "REQUEST\tscenario\t17\tshop,cart\tadd\t1700000000100\t1700000000350\t{}\t{}",
    "3.0": "REQUEST\t17\tshop,cart\tadd\t1700000000100\t1700000000350\t{}\t{}",
    "3.4": "REQUEST\tshop,cart\tadd\t1700000000100\t1700000000350\t{}\t{}",
}


@pytest.mark.parametrize("release", REQUESTS)
def test_requests_of_gatling(tmp_path: Path, release: str) -> None:
    good = REQUESTS[release].format("OK", " ")
    bad = REQUESTS[release].format("KO", "status.find.is(200), but actually found 500")
    path = tmp_path / "simulation.log"
    lines = ["RUN\tShop\tshop\t1700000000000\t \t3.9.5", "USER\tscenario\tSTART\t1700000000090", good, bad]
    path.write_text("\n".join([*lines, "GROUP\tshop\t1\t2\t1\tOK", "ERROR\tcrash\t3", good[:40]]), "utf-8")
    table = open_any(path).collect()  # type: ignore[union-attr]
    assert table.source == "gatling" and table.ok.tolist() == [True, False]
    assert table.latency_s.tolist() == [0.25, 0.25]
    assert table.start_epoch_s.tolist() == [1_700_000_000.1] * 2
    assert table.labels == ("shop / cart / add",)
    assert table.errors_by_kind == {"status.find.is(200), but actually found 500": 1}
    assert (table.unreadable.n, table.unreadable.n_cut) == (1, 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00\x00\x00\x00\x063.13.1\x00\x00\x00\x05Shop", "is Gatling's binary log"),
        (b"w\xff\x81\x03\x01\x01\x06Result\x01\xff\x82\x00\x01\t\x01\x04Code\x01\x06\x00\x01\tTimestamp\x01\x07Latency\x01",
         "is a binary file; allowed: .*vegeta encode -to csv"),
    ],
)  # fmt: skip
def test_a_binary_file_is_named_whatever_it_is_called(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run-7.log"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        open_any(path)
