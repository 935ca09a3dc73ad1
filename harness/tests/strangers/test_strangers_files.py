# SPDX-License-Identifier: Apache-2.0
"""What files of strangers have: several runs, parts of rows, failures told in other ways, stamps that cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.source import SourceNotes, read_text_pieces
from harness.formats.wrk_histogram import LatencyHistogram
from harness.report import words
from harness.report.analyse import report_requests
from harness.report.audit.auditing import audit_paths
from harness.report.audit.laws import LITTLE, ORDER, Plan
from harness.report.compare.comparing import compare_files
from harness.report.compare.words import verdict
from harness.report.result import Report
from harness.report.selection import select, selection_named
from harness.tests.support.generated_jtl import report_file, users_wait, write_arms, write_load
from harness.tests.support.result_files import (
    JTL_HEADER,
    START_S,
    aggregate,
    jtl_rows,
    oha_db,
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
FEW = "timeStamp,elapsed,label,success"
AT_MS = int(START_S * 1e3)


def write(folder: Path, lines: Sequence[str] | str, name: str = "results.jtl") -> Path:
    path = folder / name
    path.write_text(lines if isinstance(lines, str) else "\n".join([*lines, ""]), "utf-8")
    return path


def row(at_ms: int, took: int, *, label: str = "GET /a", thread: str = "u 1-1", host: str = "gen-a", code: str = "200",
        message: str = "OK", ok: str = "true", failure: str = "", users: int = 4) -> str:  # fmt: skip
    stamp = AT_MS + at_ms
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


class Case(NamedTuple):
    """A file's name and lines, what a report of it says, and what stands in one of its warnings."""

    file: str
    lines: Sequence[str] | str
    requests: int
    errors: int = 0
    warning: str = ""
    facts: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it


def fact(report: Report, name: str) -> Any:
    """One fact of a report: a latency by its name, or a field."""
    if name in report.latency_ms:
        return report.latency_ms[name]
    if name == "labels":
        return {label.label: label.requests for label in report.labels}
    if name == "runs":
        return [run.requests for run in report.runs]
    return getattr(report.loop, name) if name == "users" else getattr(report, name)


OHA = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status"
OHA_ROWS = [f"{0.02 * i:.3f},0,0,0,0.05,10,200" for i in range(200)]
K6 = "metric_name,timestamp,metric_value,expected_response,status,name"
K6_ROWS = [f"http_req_duration,{AT_MS + 20 * i},12.5,,{503 if i < 5 else 200},a" for i in range(150)]
K6_POINTS = [
    json.dumps({
        "type": "Point", "metric": "http_req_duration",
        "data": {"time": f"2025-11-28T10:30:{i:02d}.5Z", "value": 20.0,
                 "tags": {"status": "200", "expected_response": "true", "name": "Metric" if i % 3 else "Order"}},
    })
    for i in range(60)
]  # fmt: skip
GATLING = [
    f"REQUEST\t\t{('OK', 'KO', 'RUN', 'buy')[i % 4]}\t{AT_MS + 20 * i}\t{AT_MS + 20 * i + 40}\t{'KO' if i < 3 else 'OK'}\t "
    for i in range(60)
]
OLD_GATLING = [
    f"Buy\t7-{i}\tREQUEST\tshop\tbuy\t{AT_MS + 20 * i}\t{AT_MS + 20 * i + 1}\t{AT_MS + 20 * i + 30}\t{AT_MS + 20 * i + 40}\t{'KO' if i < 3 else 'OK'}\t "
    for i in range(60)
]
STATS = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Requests/s,50%,99%,100%"
STATS_ROWS = [
    "GET,Total,100,1,10,11.5,2,80,10,10,50,80", "GET,Aggregated,200,4,20,22,3,90,20,20,70,90",
    ",Aggregated,300,5,17,18.5,2,90,30,17,66,90",
]  # fmt: skip
HISTORY = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,99%,100%,Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time"
HISTORY_ROWS = [
    f"{int(START_S) + t},10,,Aggregated,{25 if t < 40 else 0},0,{240 if t < 45 else 0},3100,5200,{min(25 * t, 1000)},{min(t // 2, 20)},240,431.5,12,5200"
    for t in range(60)
]
LATER = [
    line.replace(str(int(START_S) + t), str(int(START_S) + 100 + t)) for t, line in enumerate(HISTORY_ROWS)
]
FAILED = ("Socket errors: connect 0, read 3268, write 0, timeout 48", "Non-2xx or 3xx responses: 6")
FAILED_WRK2 = ("Socket errors: connect 4, read 3, write 0, timeout 7138", "Non-2xx or 3xx responses: 6")
SLOW = wrk(requests=24, mean="1.70s", largest="2.30s", shares=("1.69s", "1.85s", "2.01s", "2.30s"))
NOTHING = wrk(requests=0, mean="0.00us", largest="0.00us", shares=("0.00us",) * 4, errors=FAILED[:1])
AROUND = " 50%    0.10us\n 99.999%  1.00us\n  7 requests in 1.00s, 1.00B read\nRequests/sec: 7.00\n"
AUTOCANNON = {"url": "http://x", "connections": 10, "duration": 10.0, "errors": 22, "timeouts": 22, "non2xx": 75,
              "requests": {"total": 1687}, "statusCodeStats": {"503": {"count": 75}}}  # fmt: skip


def late(connections: int, n_late: int) -> str:
    """A summary of wrk, of whose 1,000 answers so many came late."""
    return wrk(
        requests=1000, mean="1.20s", largest="1.99s", shares=("1.20s", "1.50s", "1.80s", "1.98s"),
        connections=connections, errors=(f"Socket errors: connect 0, read 0, write 0, timeout {n_late}",),
    )  # fmt: skip


def autocannon(n_latencies: int, mean: float | None) -> str:
    latency = {"average": mean, "min": 20, "max": 480, "p50": 45, "p99": 200, "totalCount": n_latencies}
    return json.dumps(AUTOCANNON | {"latency": latency})


def other_bodies() -> Case:
    path = GOLDEN / "autocannon" / "autocannon.json"
    document = json.loads(path.read_text("utf-8")) | {"mismatches": 12}
    plain = report_file(path)
    kinds = plain.errors_by_kind | {"another body than expected": 12}
    return Case("autocannon.json", json.dumps(document), plain.requests, plain.errors + 12,
                facts={"errors_by_kind": kinds})  # fmt: skip


def redirects(names: str) -> list[str]:
    """Rows of a login with its two parts, under these columns."""
    rows = [names]
    for user in range(5):
        for i in range(24):
            at, thread = 300 * i + 7 * user, f"u 1-{user}"
            rows += [
                row(at, 240, label="Login", thread=thread),
                row(at, 40, label="Login-0", thread=thread, code="302"),
                row(at + 40, 200, label="Login-1", thread=thread),
            ]
    return rows


def transactions(code: str) -> list[str]:
    """Rows of two requests with their sum, in the order in which they end."""
    rows = []
    for user in range(5):
        for i in range(18):
            at, thread = 300 * i + 7 * user, f"u 1-{user}"
            rows += [
                row(at, 60, label="search", thread=thread),
                row(at + 61, 80, label="buy", thread=thread),
                row(at, 141, label="TC checkout", thread=thread, code=code),
            ]
    return [FULL, *sorted(rows, key=lambda text: sum(map(int, text.split(",")[:2])))]


def years_away() -> list[str]:
    rows = [row(20 * i, 50) for i in range(100)]
    rows[30], rows[60] = "0" + rows[30][13:], "981173106000" + rows[60][13:]
    return [FULL, *rows]


def grouped(sign: str) -> Case:
    took = [850 + 100 * (i % 9) for i in range(40)]
    rows = [
        f'{AT_MS + 20 * i},"{format(each, ",").replace(",", sign)}",a,true' for i, each in enumerate(took)
    ]
    return Case("results.jtl", [FEW, *rows], 40, facts={"mean": float(np.mean(took)), "unreadable": 0})


def checks_first() -> str:
    checks = {f"check {i}": {"name": "x" * 100, "passes": 1} for i in range(800)}
    metrics = {
        "http_reqs": {"count": 10, "rate": 2.0},
        "http_req_duration": {"avg": 3.0, "med": 2.5, "max": 9},
    }
    return json.dumps({"root_group": {"checks": checks}, "metrics": metrics})


GOOD = [row(20 * i, 50, thread=f"u 1-{i % 5}") for i in range(95)]
WITH_COMMAS = "expected 200, but got 500, twice"
BAD = [row(2000 + 20 * i, 70, code="500", ok="false", failure=WITH_COMMAS) for i in range(5)]
BEFORE = [f"04/11/2025 23:59:{50 + i // 4},70,a,true" for i in range(40)]
AFTER = [f"05/11/2025 00:00:0{i // 4},70,a,true" for i in range(20)]
RAMP = [row(200 * i, 50, thread=f"u 1-{i % 5}") for i in range(50)]
STEADY = [row(10_000 + 20 * i, 50, thread=f"u 1-{i % 5}") for i in range(2000)]
SUMMED = [line.rsplit(",", 2)[0] for line in aggregate(requests(10)).splitlines()]
ANY_PROGRAM = [f"{START_S + 0.02 * i:.2f},{12.5 + i}" for i in range(50)]
ENGINES = [text for engine in range(6) for text in closed(3, 40, seed=engine, label=f"GET /{engine % 2}")]
LOGINS = {"labels": {"Login": 120}, "mean": 240.0}
HEY = ["", "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read",
       *(f"0.0{i:03d},0,0,0,0,0" for i in range(100, 300))]  # fmt: skip
QUIET_END = {
    "duration_s": 59, "throughput_per_s": 1000 / 59,
    "latency_ms": {"mean": 431.5, "p50": 240, "p90": None, "p95": None, "p99": None, "p99.9": None, "max": 5200},
}  # fmt: skip

CASES: dict[str, Case | Callable[[], Case]] = {
    "times of oha begin again": Case("oha.csv", [OHA, *OHA_ROWS, *OHA_ROWS[:100]], 300,
                                     facts={"runs": [200, 100], "throughput_per_s": None}),
    "parts of a redirect": Case("results.jtl", redirects(FULL), 120, warning="Login-0, Login-1", facts=LOGINS),
    "parts without threads": Case("results.jtl", redirects(FULL.replace("threadName", "sender")), 360,
                                  warning="may be parts of other rows"),
    "sums without a code": Case("results.jtl", transactions(""), 180, facts={"labels": {"search": 90, "buy": 90}}),
    "sums with a code": Case("results.jtl", transactions("200"), 180, facts={"labels": {"search": 90, "buy": 90}}),
    "generators with the same threads": Case("results.jtl", [FULL, *ENGINES], len(ENGINES)),
    "a failure message with commas": Case("results.jtl", [FULL, *GOOD, *BAD], 100, 5, facts={"unreadable": 0}),
    "unreadable rows": Case("results.jtl", [FULL, *GOOD, *["x,y"] * 5], 95, warning="any of them may have failed",
                            facts={"unreadable": 5}),
    "no verdicts": Case("hey.csv", HEY, 200, facts={"errors_known": False}),
    "an empty verdict of k6": Case("k6.csv", [K6, *K6_ROWS], 150, 5),
    "requests of k6 called as a kind of line": Case("k6.json", K6_POINTS, 60,
                                                    facts={"labels": {"Metric": 40, "Order": 20}}),
    "requests of Gatling called as a verdict": Case(
        "simulation.log", [f"RUN\tshop.Order\torder\t{AT_MS}\t \t3.9.5", *GATLING], 60, 3,
        facts={"unreadable": 0, "labels": dict.fromkeys(("OK", "KO", "RUN", "buy"), 15)}),
    "an old Gatling": Case(
        "simulation.log", [f"shop.Order\torder\tRUN\t{AT_MS}\t \t2.0", "Buy\t7-0\tUSER\tSTART\t1\t0", *OLD_GATLING],
        60, 3, facts={"unreadable": 0, "mean": 40.0, "labels": {"shop / buy": 60}}),
    "the total of Locust": Case("run_stats.csv", [STATS, *STATS_ROWS], 300, 5,
                                facts={"p99": 66, "labels": {"GET Total": 100, "GET Aggregated": 200}}),
    "a distribution of Locust": Case(
        "run_distribution.csv", ['"Name","# requests","50%","99%","100%"', '"GET /a",100,5,30,90', '"Total",100,5,30,90'],
        100, facts={"source": "locust", "p99": 30, "errors_known": False}),
    "a history of Locust": Case("run_stats_history.csv", [HISTORY, *HISTORY_ROWS], 1000, 20, facts=QUIET_END),
    "a history of two runs": Case("run_stats_history.csv", [HISTORY, *HISTORY_ROWS, *LATER[:11]], 250, 5,
                                  warning="an earlier run"),
    "percentiles of wrk in seconds": Case("wrk.txt", SLOW, 24, facts={"p50": 1690, "p99": 2300}),
    "percentiles of wrk2 in seconds": Case(
        "wrk2.txt", wrk2(requests(600)).replace(" 50.000%  ", " 50.000%    0.02s \n 90.000%  "), 600, facts={"p50": 20}),
    "lines of a script around wrk": Case(
        "wrk.txt", "thread addr: 127.0.0.1\n" + wrk(requests=24512) + "-----\n99%,11900\n 50%    1.00us\n" + AROUND, 24512,
        facts={"p50": 7.81, "p99": 11.9, "users": 20, "throughput_per_s": 2448.75}),
    "decimal commas of an aggregate table": Case(
        "aggregate.csv", aggregate(requests(1000, failed=42), share='"4,200%"', rate='"12,55210"'), 1000, 42,
        facts={"throughput_per_s": 12.5521}),
    "decimal points of an aggregate table": Case(
        "aggregate.csv", aggregate(requests(1000, failed=42), share='"4.200%"', rate='"12.55210"'), 1000, 42,
        facts={"throughput_per_s": 12.5521}),
    "an aggregate table without errors": Case("aggregate.csv", SUMMED, 10, facts={"errors_known": False}),
    "errors of wrk beside the answers": Case("wrk.txt", wrk(requests=2606, seconds=10.07, errors=FAILED), 2606 + 3268,
                                             3268 + 48 + 6, facts={"correct_per_s": 258.79 * (2606 - 54) / 2606}),
    "nothing answered to wrk": Case("wrk.txt", NOTHING, 3268, 3268, facts={"mean": None, "p50": None, "max": None}),
    "late answers of wrk": Case("wrk.txt", late(200, 600), 1000, 600, warning="its latencies are of the other 400",
                                facts={"mean": 1200}),
    "only late answers of wrk": Case("wrk.txt", late(20, 1000), 1000, 1000, facts={"mean": None, "p99": None}),
    "a run of wrk that took no time": Case("wrk.txt", wrk(requests=3, seconds=0.01).replace("0.01s", "0.00s"), 3,
                                           facts={"p99": 11.9}),
    "timeouts of wrk2": Case(
        "wrk2.txt", wrk2(requests(600, failed=6), errors=FAILED_WRK2), 607, 13, warning="7,138 timeouts are no requests",
        facts={"errors_by_kind": {"connect": 4, "read": 3, "status": 6}}),
    "bodies of autocannon": other_bodies,
    "some latencies of autocannon": Case("autocannon.json", autocannon(1612, 50.25), 1709, 97,
                                         warning="of 1,612 of 1,687 answers", facts={"correct_per_s": 161.2, "mean": 50.25}),
    "no latencies of autocannon": Case("autocannon.json", autocannon(0, None), 1709, 97, warning="of 0 of 1,687 answers",
                                       facts={"correct_per_s": 161.2, "mean": None}),
    "stamps years away": Case("results.jtl", years_away(), 98, facts={"unreadable": 2, "duration_s": 99 * 0.02 + 0.05}),
    "days first": Case("results.jtl", [FEW, *BEFORE, *AFTER], 60, warning="read day first", facts={"duration_s": 14.07}),
    "days or months": Case("results.jtl", [FEW, *AFTER], 20, warning="which is a guess"),
    **{f"thousands with {sign!r}": grouped(sign) for sign in (",", ".", "'", " ")},
    "whole numbers as fractions": Case("results.jtl", [FEW, *(f"{AT_MS + 20 * i}.0,{50 + i}.0,a,true" for i in range(30))],
                                       30, facts={"unreadable": 0, "max": 79}),
    **{f"vegeta with {n} columns": Case("vegeta.csv", vegeta_csv(requests(50, failed=5), n), 50, 5,
                                        facts={"errors_by_kind": {"refused": 5}}) for n in (6, 7, 9, 12)},
    "checks first in a k6 summary": Case("summary.json", checks_first(), 10, facts={"errors_known": False}),
    "a csv of any program": Case("mine.csv", ["timestamp,latency_ms", *ANY_PROGRAM], 50,
                                 facts={"source": "csv", "max": 61.5}),
    "a ramp": Case("results.jtl", [FULL, *RAMP, *STEADY], 2050, warning="--skip 10s leaves it out"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_file_has_these_numbers(name: str, tmp_path: Path) -> None:
    known = CASES[name]
    case = known if isinstance(known, Case) else known()
    path = write(tmp_path, case.lines, case.file)
    report = report_file(path)
    assert (report.requests, report.errors) == (case.requests, case.errors)
    for key, value in case.facts.items():
        expected = pytest.approx(value, rel=1e-4) if isinstance(value, float) else value
        assert fact(report, key) == expected, key
    assert any(case.warning in text for text in report.warnings) or not case.warning
    if not report.errors_known:
        assert words.errors(report) == "failures not in the file" and "no errors" not in words.summary(report)
    if report.unreadable and not report.errors:
        assert f"no errors among the {report.requests} rows that could be read" in words.summary(report)
    if name.startswith("sums"):
        (audited,), _ = audit_paths([path], Plan())
        assert audited.of("contradiction") == ()


GRPC = {"metrics": {"grpc_req_duration": {"avg": 3.1}, "iterations": {"count": 9}}}
ONLY_LARGE = [f'{AT_MS + 20 * i},"1,{200 + i}",a,true' for i in range(30)]
TWO_OF_WRK = (
    wrk(requests=24512) + "\n" + wrk(requests=48000, shares=("3.01ms", "3.60ms", "3.90ms", "5.90ms")) + "\n"
)
REFUSED: dict[str, tuple[str, Sequence[str] | str, str]] = {
    "two summaries of wrk": ("wrk.txt", TWO_OF_WRK, "holds 2 runs: one begins at line 1 and line 15"),
    "no requests of k6": ("k6.csv", [K6, *(line.replace("http_req", "ws_session") for line in K6_ROWS)],
                          "there is no http_req_duration"),
    "k6 without a verdict": ("k6.csv", ["metric_name,timestamp,metric_value,name", "http_req_duration,1764325800,3.0,a"],
                             "does not say which requests failed"),
    "errors that cannot be read": ("aggregate.csv", aggregate(requests(10), share="n/a"), "holds no totals"),
    "a fraction, or thousands": ("results.jtl", [FEW, *ONLY_LARGE], "a fraction, or thousands"),
    "a k6 summary without http": ("summary.json", json.dumps(GRPC),
                                  "no http_req_duration in this k6 summary; found 'grpc_req_duration'"),
    "no unit": ("mine.csv", ["timestamp,latency", *ANY_PROGRAM],
                "column latency: has response times without a unit.*--latency-unit ms"),
    "a rate that the requests do not allow": ("wrk.txt", wrk(requests=24512).replace("2448.75", "9999.75"),
                                              "contradicts itself.*9999.75 answers/s for 10.01 s, and 24,512 requests"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_in_these_words(name: str, tmp_path: Path) -> None:
    file, lines, problem = REFUSED[name]
    with pytest.raises(InputError, match=problem):
        report_file(write(tmp_path, lines, file))


@pytest.mark.parametrize(
    ("columns", "cells", "errors"),
    [
        ("responseCode,failureMessage,ErrorCount", ["200,,0", "200,wrong text,1"], 1),
        ("responseCode,failureMessage", ["200,", "200,wrong text"], 1),
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
def test_failures_are_told_by_columns(columns: str, cells: list[str], errors: int, tmp_path: Path) -> None:
    rows = [f"{AT_MS + 20 * i},50,{cells[i % 2]}" for i in range(40)]
    report = report_file(write(tmp_path, [f"timeStamp,elapsed,{columns}", *rows]))
    assert (report.requests, report.errors) == (40, 20 * errors)


def test_two_runs_appended_have_a_rate_each_and_none_together(tmp_path: Path) -> None:
    first, second = requests(300, seed=1), requests(300, seed=2, failed=6)
    path = write(tmp_path, [JTL_HEADER, *jtl_rows(first), *jtl_rows(second, first_s=3600.0)])
    report = report_file(path)
    assert (report.requests, report.errors) == (600, 6)
    assert report.throughput_per_s is None and report.duration_s is None
    rates = [made.n / made.duration_s for made in (first, second)]
    assert [run.throughput_per_s for run in report.runs] == pytest.approx(rates, rel=1e-4)
    assert [run.errors for run in report.runs] == [0, 6] and report.stalls is None
    warning = next(text for text in report.warnings if "holds 2 runs" in text)
    assert "in 2 runs (" in words.summary(report) and "--to 3600s" in warning and "--from 3600s" in warning
    (audited,), _ = audit_paths([path], Plan())
    assert any("several runs were written into one file" in each.text for each in audited.of("contradiction"))
    compared = compare_files([str(path)], [str(write(tmp_path, [JTL_HEADER, *jtl_rows(first)], "one.jtl"))])
    rate = compared.row("throughput")
    assert rate is not None and rate.a is None and "2 runs" in rate.why


def test_the_named_option_reports_one_of_the_runs(tmp_path: Path) -> None:
    path = write(
        tmp_path, [JTL_HEADER, *jtl_rows(requests(300)), *jtl_rows(requests(200, seed=2), first_s=60.0)]
    )
    for begin, end, n in ((None, "60s", 300), ("60s", None, 200)):
        part = select(read_any(path), selection_named(label=None, skip="0", begin=begin, end=end))
        report = report_requests(part)  # type: ignore[arg-type]  # it has rows
        assert report.requests == n and not report.runs and report.throughput_per_s is not None
    for wrong in ({"begin": "5s", "end": "2s"}, {"begin": "5s", "skip": "3s", "end": None}):
        with pytest.raises(InputError):
            selection_named(**({"label": None, "skip": "0"} | wrong))  # type: ignore[arg-type]  # as an option


def test_runs_that_oha_appended_to_one_database_are_runs(tmp_path: Path) -> None:
    rows = [(0.02 * i, None, 0.05, 200) for i in range(200)]
    oha_db(tmp_path / "oha.db", rows, run=1_764_325_800)
    report = report_file(oha_db(tmp_path / "oha.db", rows[:100], run=1_764_325_900))
    assert [run.requests for run in report.runs] == [200, 100] and report.throughput_per_s is None


def engines(n: int, *, users: int = 4, each: int = 30) -> list[str]:
    rows = [text for engine in range(n) for text in closed(users, each, host=f"gen-{engine}", seed=engine)]
    return sorted(rows, key=lambda text: int(text.split(",")[0]))


def test_threads_are_those_of_their_host(tmp_path: Path) -> None:
    report = report_file(write(tmp_path, [FULL, *engines(20)]))
    assert report.loop is not None and (report.loop.kind, report.loop.users) == ("closed", 80)
    assert report.units == () and report.throughput_per_s is not None


def test_clocks_of_generators_that_differ_are_no_runs_one_after_the_other(tmp_path: Path) -> None:
    early = closed(4, 60, host="gen-a")
    later = [f"{int(text[:13]) + 3_600_000}{text[13:]}" for text in closed(4, 60, host="gen-b", seed=1)]
    together = [text for pair in zip(early, later, strict=True) for text in pair]
    report = report_file(write(tmp_path, [FULL, *together]))
    assert report.throughput_per_s is None and len(report.runs) == 2
    assert any("the clocks of its load generators are 3,600 s apart" in text for text in report.warnings)
    report = report_file(write(tmp_path, [FULL, *early, *later]))
    assert any("holds 2 runs" in text for text in report.warnings)


@pytest.mark.parametrize("without", [("Hostname",), ("Hostname", "Latency")])
def test_without_hosts_no_units_and_no_users_are_made_up(without: tuple[str, ...], tmp_path: Path) -> None:
    names = FULL.split(",")
    left = [i for i, name in enumerate(names) if name not in without]
    rows = [",".join(line.split(",")[i] for i in left) for line in [FULL, *engines(20, users=1)]]
    report = report_file(write(tmp_path, rows))
    assert report.loop is not None and report.loop.users in {None, 20}  # never those of one generator
    assert report.units == () and any("several load generators" in text for text in report.loop.evidence)


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


def corrected_by_wrk(latency_us: np.ndarray, interval_us: int) -> np.ndarray:
    """What wrk makes of latencies: for each one above twice the interval a request at each interval less."""
    added = [
        np.arange(each - interval_us, interval_us, -interval_us)
        for each in latency_us
        if each > 2 * interval_us
    ]
    return np.concatenate([latency_us, *added])


def quantile(latency_us: np.ndarray, share: float) -> float:
    count, value = np.unique(latency_us, return_counts=True)[::-1]
    return LatencyHistogram(value_us=value, count=count).quantile_s(share)


@pytest.mark.parametrize("seed", range(8))
def test_what_wrk_prints_bounds_the_latencies_of_requests_that_were_sent(seed: int, tmp_path: Path) -> None:
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
    assert any("never sent" in text for text in report.warnings)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)):
        most = report.bounds_ms[name][1]
        assert most is not None and quantile(real, share) * 1e3 <= most * 1.01 + 0.01, name
    assert report.bounds_ms["mean"][1] == pytest.approx(real.mean() / 1e3, rel=0.06)


def test_bounds_of_wrk_are_of_the_answers_that_came_in_time(tmp_path: Path) -> None:
    # 20 connections had an answer each .2 s: of the 400 in time, half can have taken no more than 1,001 ms
    report = report_file(write(tmp_path, late(20, 600), "wrk.txt"))
    low, high = report.bounds_ms["p50"]
    assert report.latency_ms["mean"] is None and low is None and high == pytest.approx(1001, rel=1e-2)


def test_a_unit_that_is_given_is_that_of_the_latencies(tmp_path: Path) -> None:
    path = write(tmp_path, ["timestamp,latency", *ANY_PROGRAM], "mine.csv")
    assert report_file(path, unit="us").latency_ms["max"] == pytest.approx(0.0615)


def test_undefined_bytes_of_an_old_code_page_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "old.jtl"
    path.write_bytes(
        b"timeStamp,elapsed,label,success\n1764325800000,5,a\x81\xe4,true\n1764325800009,6,a\x8d\xe4,true\n"
    )
    assert len({each.label for each in report_file(path).labels}) == 2
    assert b"".join(read_text_pieces(path, SourceNotes())).decode()


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


def test_a_board_whose_users_cannot_all_have_been_busy(tmp_path: Path) -> None:
    board = write(
        tmp_path,
        ["name,users,throughput_per_s,p50_ms,p99_ms", "a,512,148906,1.19,2.19", "b,64,172187,0.31,0.55"],
        "board.csv",
    )
    (audited,), _ = audit_paths([board], Plan())
    (remark,) = audited.of("remarkable")
    assert (remark.law, remark.line) == (LITTLE, 2) and "above p99 2.19 ms" in remark.text
    means = write(tmp_path, ["name,throughput_per_s,latency_mean_ms,p99_ms", "a,100,5.0,2.0"], "means.csv")
    (audited,), _ = audit_paths([means], Plan())
    assert [check.law for check in audited.of("remarkable")] == [ORDER]


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
    first = write_load(tmp_path / "one.jtl", users_wait(1))
    second = write_load(tmp_path / "two.jtl", users_wait(2))
    assert verdict(compare_files([str(first)], [str(second)])) == "No verdict: one run"
