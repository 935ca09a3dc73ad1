# SPDX-License-Identifier: Apache-2.0
"""What files of strangers have: several runs, parts of rows, failures told in other ways, stamps that cannot be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.audit.auditing import audit_paths
from harness.audit.figures import Plan
from harness.audit.laws import LITTLE, ORDER
from harness.compare.comparing import compare_files
from harness.compare.words import verdict
from harness.errors import InputError
from harness.formats.source import SourceNotes, read_text_pieces
from harness.formats.wrk_histogram import LatencyHistogram
from harness.report import words
from harness.report.analyse import report_file
from harness.report.result import Report
from harness.tests.support.compared_arms import users_wait, write_arms
from harness.tests.support.generated_jtl import write_load
from harness.tests.support.oha_output import oha_db
from harness.tests.support.result_files import (
    JTL_HEADER,
    START_S,
    aggregate,
    jtl_rows,
    requests,
    vegeta_csv,
    wrk,
    wrk2,
)

GOLDEN = Path(__file__).parents[1] / "golden"
FULL = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,grpThreads,"
    "allThreads,Latency,Hostname,Connect"
)


def write(folder: Path, lines: Sequence[str] | str, name: str = "results.jtl") -> Path:
    path = folder / name
    path.write_text(lines if isinstance(lines, str) else "\n".join([*lines, ""]), "utf-8")
    return path


def row(at_ms: int, took: int, *, label: str = "GET /a", thread: str = "u 1-1", host: str = "gen-a", code: str = "200",
        message: str = "OK", ok: str = "true", failure: str = "", users: int = 4) -> str:  # fmt: skip
    stamp = int(START_S * 1e3) + at_ms
    return f"{stamp},{took},{label},{code},{message},{thread},{ok},{failure},512,{users},{users},{took - 1},{host},0"


def closed(users: int, each: int, *, host: str = "gen-a", seed: int = 0, label: str = "GET /a") -> list[str]:
    """Rows of users who send again when their answer has come."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        at = int(rng.integers(0, 50))
        for _ in range(each):
            took = int(rng.integers(40, 160))
            rows.append((at, row(at, took, thread=f"u 1-{user + 1}", host=host, users=users, label=label)))
            at += took
    return [text for _, text in sorted(rows)]


# --- several runs


def test_two_runs_appended_have_a_rate_each_and_none_together(tmp_path: Path) -> None:
    first, second = requests(300, seed=1), requests(300, seed=2, failed=6)
    path = write(tmp_path, [JTL_HEADER, *jtl_rows(first), *jtl_rows(second, first_s=3600.0)])
    report = report_file(path)
    assert (report.requests, report.errors, report.throughput_per_s, report.duration_s) == (
        600,
        6,
        None,
        None,
    )
    rates = [made.n / made.duration_s for made in (first, second)]
    assert [run.throughput_per_s for run in report.runs] == pytest.approx(rates, rel=1e-4)
    assert [run.errors for run in report.runs] == [0, 6] and report.stalls is None
    said = next(text for text in report.warnings if "holds 2 runs" in text)
    assert "in 2 runs (" in words.summary(report) and "--to 3600s" in said and "--from 3600s" in said
    (audited,), _ = audit_paths([path], Plan())
    assert any("several runs were written into one file" in one.text for one in audited.of("contradiction"))
    found = compare_files([str(path)], [str(write(tmp_path, [JTL_HEADER, *jtl_rows(first)], "one.jtl"))])
    row_ = found.row("throughput")
    assert row_ is not None and row_.a is None and "2 runs" in row_.why


def test_the_named_option_reports_one_of_the_runs(tmp_path: Path) -> None:
    from harness.formats.detect import open_any
    from harness.report.requests import gather
    from harness.report.selection import select, selection_named

    path = write(
        tmp_path, [JTL_HEADER, *jtl_rows(requests(300)), *jtl_rows(requests(200, seed=2), first_s=60.0)]
    )
    for begin, end, n in ((None, "60s", 300), ("60s", None, 200)):
        part = select(open_any(path), selection_named(label=None, skip="0", begin=begin, end=end))
        report = gather(part).report()  # type: ignore[arg-type]  # it has rows
        assert report.requests == n and not report.runs and report.throughput_per_s is not None
    for wrong in ({"begin": "5s", "end": "2s"}, {"begin": "5s", "skip": "3s", "end": None}):
        with pytest.raises(InputError):
            selection_named(**({"label": None, "skip": "0"} | wrong))  # type: ignore[arg-type]  # as an option


def test_times_since_a_start_that_begin_again_are_runs(tmp_path: Path) -> None:
    head = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status"
    rows = [f"{0.02 * i:.3f},0,0,0,0.05,10,200" for i in range(200)]
    report = report_file(write(tmp_path, [head, *rows, *rows[:100]], "oha.csv"))
    assert [run.requests for run in report.runs] == [200, 100] and report.throughput_per_s is None


def test_runs_that_oha_appended_to_one_database_are_runs(tmp_path: Path) -> None:
    rows = [(0.02 * i, None, 0.05, 200) for i in range(200)]
    oha_db(tmp_path / "oha.db", rows, run=1_764_325_800)
    report = report_file(oha_db(tmp_path / "oha.db", rows[:100], run=1_764_325_900))
    assert [run.requests for run in report.runs] == [200, 100] and report.throughput_per_s is None


def test_generators_that_ran_at_once_are_one_run_in_whatever_order(tmp_path: Path) -> None:
    rows = jtl_rows(requests(300)) + jtl_rows(requests(300, seed=2))
    report = report_file(write(tmp_path, [JTL_HEADER, *rows]))
    assert not report.runs and report.throughput_per_s == pytest.approx(600 / report.duration_s, rel=1e-6)  # type: ignore[operator]  # known


def test_what_a_script_prints_around_a_summary_of_wrk_is_none_of_it(tmp_path: Path) -> None:
    printed = " 50%    0.10us\n 99.999%  1.00us\n  7 requests in 1.00s, 1.00B read\nRequests/sec: 7.00\n"
    plain = report_file(write(tmp_path, wrk(requests=24512), "wrk.txt"))
    report = report_file(write(tmp_path, wrk(requests=24512) + printed, "wrk.txt"))
    assert (report.requests, report.throughput_per_s) == (24512, plain.throughput_per_s)
    assert (report.latency_ms, report.bounds_ms) == (plain.latency_ms, plain.bounds_ms)


def test_requests_of_gatling_may_be_called_as_a_verdict(tmp_path: Path) -> None:
    at = int(START_S * 1e3)
    rows = [
        f"REQUEST\t\t{('OK', 'KO', 'RUN', 'buy')[i % 4]}\t{at + 20 * i}\t{at + 20 * i + 40}\t{'KO' if i < 3 else 'OK'}\t "
        for i in range(60)
    ]
    log = write(tmp_path, [f"RUN\tshop.Order\torder\t{at}\t \t3.9.5", *rows], "simulation.log")
    report = report_file(log)
    assert (report.requests, report.errors, report.unreadable) == (60, 3, 0)
    assert {one.label: one.requests for one in report.labels} == dict.fromkeys(("OK", "KO", "RUN", "buy"), 15)


def test_two_summaries_of_wrk_are_no_one(tmp_path: Path) -> None:
    one, other = wrk(requests=24512), wrk(requests=48000, shares=("3.01ms", "3.60ms", "3.90ms", "5.90ms"))
    with pytest.raises(InputError, match="holds 2 runs: one begins at line 1 and line 15"):
        report_file(write(tmp_path, f"{one}\n{other}", "wrk.txt"))


def test_a_log_of_an_old_gatling_has_its_start_four_times_before_the_verdict(tmp_path: Path) -> None:
    at = int(START_S * 1e3)
    head = f"shop.Order\torder\tRUN\t{at}\t \t2.0"
    rows = [
        f"Buy\t7-{i}\tREQUEST\tshop\tbuy\t{at + 20 * i}\t{at + 20 * i + 1}\t{at + 20 * i + 30}\t{at + 20 * i + 40}\t{'KO' if i < 3 else 'OK'}\t "
        for i in range(60)
    ]
    report = report_file(write(tmp_path, [head, "Buy\t7-0\tUSER\tSTART\t1\t0", *rows], "simulation.log"))
    assert (report.requests, report.errors, report.unreadable) == (60, 3, 0)
    assert report.latency_ms["mean"] == pytest.approx(40) and report.labels[0].label == "shop / buy"


# --- several load generators


def engines(n: int, *, users: int = 4, each: int = 30) -> list[str]:
    rows = [text for engine in range(n) for text in closed(users, each, host=f"gen-{engine}", seed=engine)]
    return sorted(rows, key=lambda text: int(text.split(",")[0]))


def test_threads_are_those_of_their_host(tmp_path: Path) -> None:
    report = report_file(write(tmp_path, [FULL, *engines(20)]))
    assert report.loop is not None and (report.loop.kind, report.loop.users) == ("closed", 80)
    assert report.units == () and report.throughput_per_s is not None


def test_clocks_of_generators_that_differ_are_no_runs_one_after_the_other(tmp_path: Path) -> None:
    early = closed(4, 60, host="gen-a")
    late = [f"{int(text[:13]) + 3_600_000}{text[13:]}" for text in closed(4, 60, host="gen-b", seed=1)]
    together = [text for pair in zip(early, late, strict=True) for text in pair]
    report = report_file(write(tmp_path, [FULL, *together]))
    assert report.throughput_per_s is None and len(report.runs) == 2
    assert any("the clocks of its load generators are 3,600 s apart" in text for text in report.warnings)
    report = report_file(write(tmp_path, [FULL, *early, *late]))
    assert any("holds 2 runs" in text for text in report.warnings)


@pytest.mark.parametrize("without", [("Hostname",), ("Hostname", "Latency")])
def test_without_hosts_no_unit_and_no_number_of_users_is_made_up(
    without: tuple[str, ...], tmp_path: Path
) -> None:
    names = FULL.split(",")
    kept = [i for i, name in enumerate(names) if name not in without]
    rows = [",".join(line.split(",")[i] for i in kept) for line in [FULL, *engines(20, users=1)]]
    report = report_file(write(tmp_path, rows))
    assert report.loop is not None and report.loop.users in {None, 20}  # never those of one generator
    assert report.units == () and any("several load generators" in one for one in report.loop.evidence)


# --- rows that are parts or sums of others


def test_parts_of_a_redirect_are_no_requests(tmp_path: Path) -> None:
    rows = [FULL]
    for user in range(5):
        for i in range(24):
            at, thread = 300 * i + 7 * user, f"u 1-{user}"
            rows += [
                row(at, 240, label="Login", thread=thread),
                row(at, 40, label="Login-0", thread=thread, code="302"),
                row(at + 40, 200, label="Login-1", thread=thread),
            ]
    report = report_file(write(tmp_path, rows))
    assert report.requests == 120 and [one.label for one in report.labels] == ["Login"]
    assert report.latency_ms["mean"] == pytest.approx(240)
    assert any("240 rows left out" in said and "Login-0, Login-1" in said for said in report.warnings)
    names = FULL.replace("threadName", "sender").split(",")
    report = report_file(write(tmp_path, [",".join(names), *rows[1:]]))
    assert report.requests == 360 and any("may be parts of other rows" in said for said in report.warnings)


@pytest.mark.parametrize("code", ["", "200"])
def test_sums_of_transactions_are_no_requests_whatever_they_are_called(code: str, tmp_path: Path) -> None:
    rows = [FULL]
    for user in range(5):
        for i in range(18):
            at, thread = 300 * i + 7 * user, f"u 1-{user}"
            rows += [
                row(at, 60, label="search", thread=thread),
                row(at + 61, 80, label="buy", thread=thread),
                row(at, 141, label="TC checkout", thread=thread, code=code),
            ]
    report = report_file(write(tmp_path, rows))
    assert report.requests == 180 and {one.label for one in report.labels} == {"search", "buy"}
    rows[1:] = sorted(rows[1:], key=lambda text: sum(map(int, text.split(",")[:2])))  # as they are written
    (audited,), _ = audit_paths([write(tmp_path, rows)], Plan())
    assert audited.of("contradiction") == ()


def test_requests_of_generators_with_the_same_threads_are_no_parts(tmp_path: Path) -> None:
    rows = [text for engine in range(6) for text in closed(3, 40, seed=engine, label=f"GET /{engine % 2}")]
    report = report_file(write(tmp_path, [FULL, *rows]))
    assert report.requests == len(rows)


# --- which rows failed


def test_a_failure_message_with_commas_belongs_to_its_row(tmp_path: Path) -> None:
    good = [row(20 * i, 50, thread=f"u 1-{i % 5}") for i in range(95)]
    bad = [
        row(2000 + 20 * i, 70, code="500", ok="false", failure="expected 200, but got 500, twice")
        for i in range(5)
    ]
    report = report_file(write(tmp_path, [FULL, *good, *bad]))
    assert (report.requests, report.errors, report.unreadable) == (100, 5, 0)


def test_rows_that_cannot_be_read_may_have_failed(tmp_path: Path) -> None:
    report = report_file(write(tmp_path, [FULL, *(row(20 * i, 50) for i in range(95)), *["x,y"] * 5]))
    assert report.unreadable == 5 and "no errors among the 95 rows that could be read" in words.summary(
        report
    )
    assert any("any of them may have failed" in said for said in report.warnings)


@pytest.mark.parametrize(
    ("columns", "cells", "errors"),
    [
        ("responseCode,failureMessage,ErrorCount", ["200,,0", "200,wrong text,1"], 1),
        ("responseCode,failureMessage", ["200,,", "200,wrong text"], 1),
        ("responseCode", ["200", "503"], 1),
        ("success,responseCode", ["1,200", "0,200"], 1),
        ("success,responseCode", ["TRUE,200", ",503"], 1),
        ("success", ["PASSED", "FAILED"], 1),
        ("success", ["1.0", "0.0"], 1),
        ("responseCode", ["200.0", "500.0"], 1),
        ("responseCode", ["200 OK", "503 Service Unavailable"], 1),
        ("responseCode", ["OK", "Non HTTP response code: java.net.ConnectException"], 1),
        ("failureMessage", ["null", "timeout"], 1),
        ("failureMessage", ["-", "false"], 0),
    ],
)
def test_failures_are_told_by_what_the_file_has(
    columns: str, cells: list[str], errors: int, tmp_path: Path
) -> None:
    rows = [f"{int(START_S * 1e3) + 20 * i},50,{cells[i % 2]}".removesuffix(",") for i in range(40)]
    if columns == "responseCode,failureMessage":
        rows = [f"{int(START_S * 1e3) + 20 * i},50,{['200,', '200,wrong text'][i % 2]}" for i in range(40)]
    report = report_file(write(tmp_path, [f"timeStamp,elapsed,{columns}", *rows]))
    assert (report.requests, report.errors) == (40, 20 * errors)


def test_a_file_without_verdicts_is_never_without_errors(tmp_path: Path) -> None:
    rows = [f"0.0{i:03d},0,0,0,0,0" for i in range(100, 300)]
    head = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read"
    report = report_file(write(tmp_path, ["", head, *rows], "hey.csv"))
    assert report.requests == 200 and not report.errors_known
    assert "no errors" not in words.summary(report)


def test_an_empty_verdict_of_k6_leaves_it_to_the_status(tmp_path: Path) -> None:
    rows = [
        f"http_req_duration,{int(START_S * 1e3) + 20 * i},12.5,,{503 if i < 5 else 200},a" for i in range(150)
    ]
    path = write(
        tmp_path, ["metric_name,timestamp,metric_value,expected_response,status,name", *rows], "k6.csv"
    )
    report = report_file(path)
    assert (report.requests, report.errors) == (150, 5)
    others = [line.replace("http_req_duration", "ws_session_duration") for line in rows]
    with pytest.raises(InputError, match="there is no http_req_duration"):
        report_file(write(tmp_path, [path.read_text().split("\n")[0], *others], "k6.csv"))


def test_a_request_called_as_a_kind_of_line_is_a_request(tmp_path: Path) -> None:
    point = {"type": "Point", "metric": "http_req_duration"}
    lines = []
    for i in range(60):
        tags = {"status": "200", "expected_response": "true", "name": "Metric" if i % 3 else "Order"}
        data = {"time": f"2025-11-28T10:30:{i:02d}.5Z", "value": 20.0, "tags": tags}
        lines.append(json.dumps(point | {"data": data}))
    report = report_file(write(tmp_path, lines, "k6.json"))
    assert {one.label: one.requests for one in report.labels} == {"Metric": 40, "Order": 20}


# --- totals by their place


def test_the_total_of_locust_is_the_last_row_without_a_type(tmp_path: Path) -> None:
    head = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Requests/s,50%,99%,100%"  # fmt: skip
    rows = ["GET,Total,100,1,10,11.5,2,80,10,10,50,80", ",Aggregated,300,5,17,18.5,2,90,30,17,66,90"]
    middle = "GET,Aggregated,200,4,20,22,3,90,20,20,70,90"
    report = report_file(write(tmp_path, [head, rows[0], middle, rows[1]], "run_stats.csv"))
    assert (report.requests, report.errors, report.latency_ms["p99"]) == (300, 5, 66)
    assert {one.label: one.requests for one in report.labels} == {"GET Total": 100, "GET Aggregated": 200}


def test_a_distribution_of_an_old_locust_is_no_table_of_jmeter(tmp_path: Path) -> None:
    table = ['"Name","# requests","50%","99%","100%"', '"GET /a",100,5,30,90', '"Total",100,5,30,90']
    report = report_file(write(tmp_path, table, "run_distribution.csv"))
    assert (report.source, report.requests, report.latency_ms["p99"]) == ("locust", 100, 30)
    assert not report.errors_known and "no errors" not in words.summary(report)


def test_a_history_of_locust_is_totals_since_the_start(tmp_path: Path) -> None:
    head = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,99%,100%,Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time"  # fmt: skip
    rows = [
        f"{int(START_S) + t},10,,Aggregated,{25 if t < 40 else 0},0,{240 if t < 45 else 0},3100,5200,{min(25 * t, 1000)},{min(t // 2, 20)},240,431.5,12,5200"
        for t in range(60)
    ]
    report = report_file(write(tmp_path, [head, *rows], "run_stats_history.csv"))
    assert (report.requests, report.errors, report.duration_s) == (1000, 20, 59)
    assert report.throughput_per_s == pytest.approx(1000 / 59)
    assert report.latency_ms == {"mean": 431.5, "p50": 240, "p90": None, "p95": None, "p99": None, "p99.9": None, "max": 5200}  # fmt: skip
    later = [line.replace(str(int(START_S) + t), str(int(START_S) + 100 + t)) for t, line in enumerate(rows)]
    report = report_file(write(tmp_path, [head, *rows, *later[:11]], "run_stats_history.csv"))
    assert report.requests == 250 and any("an earlier run" in said for said in report.warnings)


def test_percentiles_of_wrk_are_read_in_every_unit(tmp_path: Path) -> None:
    slow = wrk(requests=24, mean="1.70s", largest="2.30s", shares=("1.69s", "1.85s", "2.01s", "2.30s"))
    assert "50%    1.69s \n" in slow  # as wrk pads it
    report = report_file(write(tmp_path, slow, "wrk.txt"))
    assert (report.latency_ms["p50"], report.latency_ms["p99"]) == (1690, 2300)
    slow = wrk2(requests(600)).replace(" 50.000%  ", " 50.000%    0.02s \n 90.000%  ")
    assert report_file(write(tmp_path, slow, "wrk2.txt")).latency_ms["p50"] == 20


def test_percentiles_of_wrk_stand_below_their_heading(tmp_path: Path) -> None:
    text = "thread addr: 127.0.0.1\n" + wrk(requests=24512) + "-----\n99%,11900\n 50%    1.00us\n"
    report = report_file(write(tmp_path, text, "wrk.txt"))
    assert report.latency_ms["p50"] == pytest.approx(7.81) and report.latency_ms["p99"] == pytest.approx(11.9)
    assert report.loop is not None and report.loop.users == 20


@pytest.mark.parametrize(("share", "rate"), [("4,200%", "12,55210"), ("4.200%", "12.55210")])
def test_an_aggregate_table_has_decimals_of_either_sign(share: str, rate: str, tmp_path: Path) -> None:
    made = requests(1000, failed=42)
    table = aggregate(made, share=f'"{share}"', rate=f'"{rate}"')
    report = report_file(write(tmp_path, table, "aggregate.csv"))
    assert (report.requests, report.errors, report.throughput_per_s) == (1000, 42, 12.5521)


def test_an_aggregate_table_whose_errors_cannot_be_read_has_no_headline_without_errors(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="holds no totals"):
        report_file(write(tmp_path, aggregate(requests(10), share="n/a"), "aggregate.csv"))
    lines = [line.rsplit(",", 2)[0] for line in aggregate(requests(10)).splitlines()]
    report = report_file(write(tmp_path, lines, "aggregate.csv"))
    assert not report.errors_known and words.errors(report) == "failures not in the file"


# --- errors beside the answers


def test_errors_of_wrk_without_an_answer_come_on_top(tmp_path: Path) -> None:
    errors = ("Socket errors: connect 0, read 3268, write 0, timeout 48", "Non-2xx or 3xx responses: 6")
    report = report_file(write(tmp_path, wrk(requests=2606, seconds=10.07, errors=errors), "wrk.txt"))
    assert (report.requests, report.errors) == (2606 + 3268, 3268 + 48 + 6)
    assert report.correct_per_s == pytest.approx(258.79 * (2606 - 54) / 2606, rel=1e-3)
    nothing = wrk(requests=0, mean="0.00us", largest="0.00us", shares=("0.00us",) * 4, errors=errors[:1])
    report = report_file(write(tmp_path, nothing, "wrk.txt"))
    assert (report.requests, report.errors) == (3268, 3268) and set(report.latency_ms.values()) == {None}


def test_latencies_of_wrk_are_of_the_answers_that_came_in_time(tmp_path: Path) -> None:
    def report_of(connections: int, late: int) -> Report:
        text = wrk(
            requests=1000,
            mean="1.20s",
            largest="1.99s",
            shares=("1.20s", "1.50s", "1.80s", "1.98s"),
            connections=connections,
            errors=(f"Socket errors: connect 0, read 0, write 0, timeout {late}",),
        )
        return report_file(write(tmp_path, text, "wrk.txt"))

    report = report_of(200, 600)
    assert (report.requests, report.errors, report.latency_ms["mean"]) == (1000, 600, 1200)
    assert any("its latencies are of the other 400" in said for said in report.warnings)
    # 20 connections had an answer each .2 s: of the 400 in time, half can have taken no more than 1,001 ms
    report = report_of(20, 600)
    low, high = report.bounds_ms["p50"]
    assert report.latency_ms["mean"] is None and low is None and high == pytest.approx(1001, rel=1e-2)
    assert set(report_of(20, 1000).latency_ms.values()) == {None}


def test_a_run_of_wrk_that_took_no_time_is_reported(tmp_path: Path) -> None:
    report = report_file(write(tmp_path, wrk(requests=3, seconds=0.01).replace("0.01s", "0.00s"), "wrk.txt"))
    assert (report.requests, report.latency_ms["p99"]) == (3, 11.9)


def test_timeouts_of_wrk2_are_looks_at_connections_and_no_requests(tmp_path: Path) -> None:
    errors = ("Socket errors: connect 4, read 3, write 0, timeout 7138", "Non-2xx or 3xx responses: 6")
    report = report_file(write(tmp_path, wrk2(requests(600, failed=6), errors=errors), "wrk2.txt"))
    assert (report.requests, report.errors) == (600 + 7, 7 + 6)
    assert report.errors_by_kind == {"connect": 4, "read": 3, "status": 6}
    assert any("7,138 timeouts are no requests" in said for said in report.warnings)


def test_answers_of_autocannon_with_another_body_failed(tmp_path: Path) -> None:
    found = json.loads((GOLDEN / "autocannon" / "autocannon.json").read_text("utf-8")) | {"mismatches": 12}
    plain = report_file(GOLDEN / "autocannon" / "autocannon.json")
    report = report_file(write(tmp_path, json.dumps(found), "autocannon.json"))
    assert (report.requests, report.errors) == (plain.requests, plain.errors + 12)
    assert report.errors_by_kind["another body than expected"] == 12


@pytest.mark.parametrize(("n_latencies", "mean"), [(1612, 50.25), (0, None)])
def test_latencies_of_autocannon_are_of_those_that_it_counts(
    n_latencies: int, mean: float | None, tmp_path: Path
) -> None:
    latency = {"average": mean, "min": 20, "max": 480, "p50": 45, "p99": 200, "totalCount": n_latencies}
    found = {"url": "http://x", "connections": 10, "duration": 10.0, "errors": 22, "timeouts": 22, "non2xx": 75,
             "latency": latency, "requests": {"total": 1687}, "statusCodeStats": {"503": {"count": 75}}}  # fmt: skip
    report = report_file(write(tmp_path, json.dumps(found), "autocannon.json"))
    assert (report.requests, report.errors) == (1709, 97)
    assert report.correct_per_s == pytest.approx((1687 - 75) / 10)
    assert report.latency_ms["mean"] == (None if mean is None else pytest.approx(mean))
    assert any(f"of {n_latencies:,} of 1,687 answers" in said for said in report.warnings)


# --- wrk's added requests


def corrected_by_wrk(latency_us: np.ndarray, interval_us: int) -> np.ndarray:
    """What wrk makes of latencies: for each one above twice the interval a request at each interval less."""
    added = [
        np.arange(one - interval_us, interval_us, -interval_us) for one in latency_us if one > 2 * interval_us
    ]
    return np.concatenate([latency_us, *added])


def quantile(latency_us: np.ndarray, share: float) -> float:
    count, value = np.unique(latency_us, return_counts=True)[::-1]
    return LatencyHistogram(value_us=value, count=count).quantile_s(share)


@pytest.mark.parametrize("seed", range(8))
def test_what_wrk_prints_bounds_the_latencies_of_the_requests_that_were_sent(
    seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    n, connections = 20_000, 16
    real = np.maximum(1, rng.lognormal(6, 0.3 + 0.3 * seed, n)).astype(np.int64)
    real[rng.random(n) < 0.02] *= 40
    seconds = round(real.sum() / connections / 1e6, 2) or 0.01
    printed = corrected_by_wrk(real, int(seconds * 1e6 * connections / n))
    shares = [f"{quantile(printed, share) * 1e3:.2f}ms" for share in (0.5, 0.75, 0.9, 0.99)]
    text = wrk(
        requests=n, mean=f"{printed.mean() / 1e3:.2f}ms", largest=f"{real.max() / 1e3:.2f}ms", shares=shares,
        connections=connections, seconds=seconds,
    )  # fmt: skip
    report = report_file(write(tmp_path, text, "wrk.txt"))
    assert len(printed) > n and report.latency_ms["mean"] is None and report.latency_ms["p99"] is None
    assert any("never sent" in said for said in report.warnings)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)):
        most = report.bounds_ms[name][1]
        assert most is not None and quantile(real, share) * 1e3 <= most * 1.01 + 0.01, name
    assert report.bounds_ms["mean"][1] == pytest.approx(real.mean() / 1e3, rel=0.06)


# --- time stamps that cannot be


def test_a_stamp_years_from_the_others_is_unreadable(tmp_path: Path) -> None:
    rows = [row(20 * i, 50) for i in range(100)]
    rows[30] = "0" + rows[30][13:]
    rows[60] = "981173106000" + rows[60][13:]
    report = report_file(write(tmp_path, [FULL, *rows]))
    assert (report.requests, report.unreadable) == (98, 2)
    assert report.duration_s == pytest.approx(99 * 0.02 + 0.05)


def test_day_and_month_are_told_by_the_order_of_the_rows(tmp_path: Path) -> None:
    before = [f"04/11/2025 23:59:{50 + i // 4},70,a,true" for i in range(40)]
    after = [f"05/11/2025 00:00:0{i // 4},70,a,true" for i in range(20)]
    report = report_file(write(tmp_path, ["timeStamp,elapsed,label,success", *before, *after]))
    assert report.duration_s == pytest.approx(14.07)
    assert any("read day first" in said for said in report.warnings)
    report = report_file(write(tmp_path, ["timeStamp,elapsed,label,success", *after]))
    assert any("which is a guess" in said for said in report.warnings)


@pytest.mark.parametrize("sign", [",", ".", "'", " "])
def test_thousands_are_no_fractions(sign: str, tmp_path: Path) -> None:
    took = [850 + 100 * (i % 9) for i in range(40)]
    rows = [
        f'{int(START_S * 1e3) + 20 * i},"{one:,}",a,true'.replace('"' + f"{one:,}", '"' + f"{one:,}".replace(",", sign))
        for i, one in enumerate(took)
    ]  # fmt: skip
    report = report_file(write(tmp_path, ["timeStamp,elapsed,label,success", *rows]))
    assert report.latency_ms["mean"] == pytest.approx(np.mean(took)) and report.unreadable == 0
    only_large = [text for text in rows if f'"1{sign}' in text] * 3
    if sign == ",":
        with pytest.raises(InputError, match="a fraction, or thousands"):
            report_file(write(tmp_path, ["timeStamp,elapsed,label,success", *only_large]))


def test_whole_numbers_that_a_script_wrote_as_fractions_are_whole(tmp_path: Path) -> None:
    rows = [f"{int(START_S * 1e3) + 20 * i}.0,{50 + i}.0,a,true" for i in range(30)]
    report = report_file(write(tmp_path, ["timeStamp,elapsed,label,success", *rows]))
    assert (report.requests, report.unreadable, report.latency_ms["max"]) == (30, 0, 79)


def test_users_who_hardly_wait_are_said_first(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(3), []
    for user in range(4):
        at = 0
        for _ in range(60):
            took = int(rng.integers(40, 160))
            rows.append((at, row(at, took, thread=f"u 1-{user + 1}")))
            at += took + int(rng.integers(20_000, 60_000))
    report = report_file(write(tmp_path, [FULL, *(text for _, text in sorted(rows))]))
    assert "4 users; its users waited for answers for only 0.24 % of the time" in words.summary(report)


def test_undefined_bytes_of_an_old_code_page_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "old.jtl"
    path.write_bytes(
        b"timeStamp,elapsed,label,success\n1764325800000,5,a\x81\xe4,true\n1764325800009,6,a\x8d\xe4,true\n"
    )
    assert len({one.label for one in report_file(path).labels}) == 2
    assert b"".join(read_text_pieces(path, SourceNotes())).decode()


# --- older releases and other files


@pytest.mark.parametrize("columns", [6, 7, 9, 12])
def test_every_release_of_vegeta_is_read(columns: int, tmp_path: Path) -> None:
    made = requests(50, failed=5)
    report = report_file(write(tmp_path, vegeta_csv(made, columns), "vegeta.csv"))
    assert (report.requests, report.errors) == (50, 5) and report.errors_by_kind == {"refused": 5}


def test_a_k6_summary_may_have_its_checks_first_and_no_http(tmp_path: Path) -> None:
    checks = {f"check {i}": {"name": "x" * 100, "passes": 1} for i in range(800)}
    metrics = {
        "http_reqs": {"count": 10, "rate": 2.0},
        "http_req_duration": {"avg": 3.0, "med": 2.5, "max": 9},
    }
    path = write(tmp_path, json.dumps({"root_group": {"checks": checks}, "metrics": metrics}), "summary.json")
    report = report_file(path)
    assert (report.requests, report.errors_known) == (10, False) and path.stat().st_size > 70_000
    metrics = {"grpc_req_duration": {"avg": 3.1}, "iterations": {"count": 9}}
    with pytest.raises(
        InputError, match="no http_req_duration in this k6 summary; found 'grpc_req_duration'"
    ):
        report_file(write(tmp_path, json.dumps({"metrics": metrics}), "summary.json"))


def test_a_csv_of_any_program_is_read_by_its_names_or_asks_for_a_unit(tmp_path: Path) -> None:
    rows = [f"{START_S + 0.02 * i:.2f},{12.5 + i}" for i in range(50)]
    report = report_file(write(tmp_path, ["timestamp,latency_ms", *rows], "mine.csv"))
    assert (report.source, report.requests, report.latency_ms["max"]) == ("csv", 50, 61.5)
    path = write(tmp_path, ["timestamp,latency", *rows], "mine.csv")
    with pytest.raises(
        InputError, match="column latency: has response times without a unit.*--latency-unit ms"
    ):
        report_file(path)
    assert report_file(path, latency_unit="us").latency_ms["max"] == pytest.approx(0.0615)


# --- what cannot be


@pytest.mark.parametrize(
    "change",
    [{"errors": 11}, {"throughput_per_s": -70.5}, {"latency_ms": {"p50": 90.0, "p99": 9.0}},
     {"latency_ms": {"mean": 90.0, "max": 9.0}}, {"duration_s": float("inf")}, {"duration_s": float("nan")},
     {"duration_s": -1.0}, {"correct_per_s": float("nan")}, {"latency_ms": {"p50": float("inf")}}],
)  # fmt: skip
def test_a_report_whose_numbers_cannot_be_is_refused_with_the_file(change: dict[str, object]) -> None:
    known = {
        "path": Path("some.txt"), "source": "wrk", "requests": 10, "errors": 1, "start_epoch_s": None, "duration_s": 1.0,
        "throughput_per_s": 10.0, "correct_per_s": 9.0, "resolution_ms": 1.0, "latency_ms": {}, "intervals": {}, "stalls": None,
    }  # fmt: skip
    assert Report.model_validate(known).requests == 10
    with pytest.raises(InputError, match="some.txt: contradicts itself"):
        Report.model_validate(known | change)


def test_a_rate_that_the_requests_do_not_allow_is_refused(tmp_path: Path) -> None:
    text = wrk(requests=24512).replace("2448.75", "9999.75")
    with pytest.raises(
        InputError, match=r"contradicts itself.*9999.75 answers/s for 10.01 s, and 24,512 requests"
    ):
        report_file(write(tmp_path, text, "wrk.txt"))


def test_a_board_whose_users_cannot_all_have_been_busy(tmp_path: Path) -> None:
    board = write(
        tmp_path,
        ["name,users,throughput_per_s,p50_ms,p99_ms", "a,512,148906,1.19,2.19", "b,64,172187,0.31,0.55"],
        "board.csv",
    )
    (found,), _ = audit_paths([board], Plan())
    (remark,) = found.of("remarkable")
    assert (remark.law, remark.line) == (LITTLE, 2) and "above p99 2.19 ms" in remark.text
    means = write(tmp_path, ["name,throughput_per_s,latency_mean_ms,p99_ms", "a,100,5.0,2.0"], "means.csv")
    (found,), _ = audit_paths([means], Plan())
    assert [check.law for check in found.of("remarkable")] == [ORDER]


# --- the end of the ramp, percentiles, the verdict


def test_the_end_of_the_ramp_is_named_with_the_option_that_leaves_it_out(tmp_path: Path) -> None:
    slow = [row(200 * i, 50, thread=f"u 1-{i % 5}") for i in range(50)]
    quick = [row(10_000 + 20 * i, 50, thread=f"u 1-{i % 5}") for i in range(2000)]
    path = write(tmp_path, [FULL, *slow, *quick])
    (said,) = [text for text in report_file(path).warnings if "--skip" in text]
    assert "begins with 5.00 requests/s" in said and "--skip 10s leaves it out" in said


def test_any_percentile_may_be_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, [FULL, *(row(20 * i, 1 + i % 400) for i in range(2000))])
    report = report_file(path, quantiles={"p42": 0.42, "p99.5": 0.995})
    ordered = np.sort([1 + i % 400 for i in range(2000)])
    assert list(report.latency_ms) == ["mean", "p42", "p99.5", "max"]
    assert report.latency_ms["p99.5"] == ordered[round(2000 * 0.995) - 1]


def test_the_title_of_a_comparison_is_a_verdict(tmp_path: Path) -> None:
    a, b = write_arms(tmp_path, b=lambda seed: users_wait(seed, median_s=0.1))
    assert verdict(compare_files([str(a)], [str(b)])).startswith("B is worse than A: throughput 0.")
    assert verdict(compare_files([str(b)], [str(a)])).startswith("B is better than A: throughput ")
    one = write_load(tmp_path / "one.jtl", users_wait(1))
    other = write_load(tmp_path / "two.jtl", users_wait(2))
    assert verdict(compare_files([str(one)], [str(other)])) == "No verdict: one run"
