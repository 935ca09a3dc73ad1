# SPDX-License-Identifier: Apache-2.0
"""Files that were sorted, joined or cut after their tool wrote them: the numbers of their requests, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.report.audit.auditing import audit_paths
from harness.report.audit.laws import Plan
from harness.tests.support.generated_jtl import report_file
from harness.tests.support.result_files import JTL_HEADER, Made, jtl_rows, requests, wrk

MADE = requests(3000, failed=30)
ORDER = ("label", "elapsed", "timeStamp", "responseCode", "success")
STATS = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Requests/s"
HISTORY = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,Total Request Count,Total Failure Count,Total Average Response Time"


def in_columns(names: Sequence[str], made: Made = MADE, *, first_s: float = 0.0) -> list[str]:
    """The rows of :func:`jtl_rows` under these columns of JMeter, with their header."""
    at = [JTL_HEADER.split(",").index(name) for name in names]
    rows = (row.split(",") for row in jtl_rows(made, first_s=first_s))
    return [",".join(names), *(",".join(fields[i] for i in at) for fields in rows)]


def set_back(seconds: float) -> list[str]:
    """The rows of a generator whose clock was set back in the middle."""
    rows = jtl_rows(MADE)
    half = len(rows) // 2
    return [JTL_HEADER, *rows[:half], *jtl_rows(MADE, first_s=-seconds)[half:]]


HISTORY_ROWS = [
    f"{1764325800 + i},10,,Aggregated,50.0,0.5,{50 * i},{i // 2},{33.25 if i else 0}" for i in range(61)
]
HEY = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"
HEY_ROWS = [
    f"{took / 1e3:.4f},0,0,0,0,0,{200 if ok else 500},{at / 1e3:.4f}"
    for at, took, ok in zip(MADE.start_ms, MADE.latency_ms, MADE.ok, strict=True)
]
SORTED: dict[str, tuple[str, list[str], tuple[int, int]]] = {
    "columns in another order": ("results.jtl", in_columns(ORDER), (3000, 30)),
    "rows newest first": ("results.jtl", [JTL_HEADER, *reversed(jtl_rows(MADE))], (3000, 30)),
    "rows by latency": (
        "results.jtl", [JTL_HEADER, *sorted(jtl_rows(MADE), key=lambda row: int(row.split(",")[1]))], (3000, 30),
    ),
    "the total of Locust first": (
        "run_stats.csv", [STATS, ",Aggregated,100,4,9,9.5,10.0", "GET,/a,90,3,9,9.6,9.0", "GET,/b,10,1,9,8.6,1.0"], (100, 4),
    ),
    "rows of hey by latency": ("hey.csv", [HEY, *sorted(HEY_ROWS)], (3000, 30)),
    "a summary of wrk below its command": (
        "wrk.txt", ["$ time wrk -c20 --latency http://127.0.0.1/", *wrk(requests=100, seconds=10.0).splitlines()], (100, 0),
    ),
    "a history of Locust newest first": ("run_stats_history.csv", [HISTORY, *reversed(HISTORY_ROWS)], (3000, 30)),
}  # fmt: skip


@pytest.mark.parametrize("case", SORTED)
def test_a_file_that_was_sorted_has_the_numbers_of_its_rows(case: str, tmp_path: Path) -> None:
    name, lines, (n_requests, n_errors) = SORTED[case]
    path = tmp_path / name
    path.write_text("\n".join([*lines, ""]))
    report = report_file(path)
    assert (report.requests, report.errors, report.unreadable) == (n_requests, n_errors, 0)
    rates = {100: 10.0, 3000: 50.0 if name == "run_stats_history.csv" else 3000 / MADE.duration_s}
    assert report.throughput_per_s == pytest.approx(rates[n_requests], rel=1e-6) and not report.runs
    assert not any("backwards" in text for text in report.warnings)
    (audited,), _ = audit_paths([path], Plan())
    assert audited.of("contradiction") == ()


@pytest.mark.parametrize(("seconds", "is_told"), [(0.5, False), (2.5, True), (30.0, True)])
def test_a_clock_that_was_set_back_is_told(seconds: float, is_told: bool, tmp_path: Path) -> None:
    path = tmp_path / "results.jtl"
    path.write_text("\n".join([*set_back(seconds), ""]))
    report = report_file(path)
    assert report.requests == 3000
    assert any("time stamps run backwards by" in text for text in report.warnings) == is_told


JOINED: dict[str, tuple[Callable[[], list[str]], str]] = {
    "runs with other columns": (
        lambda: [*in_columns(ORDER), *in_columns(ORDER[:4], first_s=600.0)], "line 3002: holds runs with different columns"
    ),
    "runs with the same columns in another order": (
        lambda: [*in_columns(("elapsed", "success", "timeStamp")), *in_columns(("success", "elapsed", "timeStamp"), first_s=600.0)],
        "line 3002: holds runs with different columns",
    ),
    "rows that are sums of samples": (
        lambda: ["timeStamp,elapsed,success,SampleCount,ErrorCount", *(f"{1764325800000 + i},500,true,10,0" for i in range(9))],
        "column SampleCount: has rows that sum up several samples",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", JOINED)
def test_rows_that_are_not_of_one_form_are_refused_with_the_place(case: str, tmp_path: Path) -> None:
    lines, problem = JOINED[case]
    path = tmp_path / "results.jtl"
    path.write_text("\n".join([*lines(), ""]))
    with pytest.raises(InputError, match=problem):
        report_file(path)


def test_a_header_again_is_no_row_whatever_marks_stand_around_it(tmp_path: Path) -> None:
    path = tmp_path / "results.jtl"
    again = in_columns(ORDER, first_s=600.0)
    again[0] = "\ufeff" + again[0].replace(",", " ,")
    path.write_text("\n".join([*in_columns(ORDER), *again, ""]))
    report = report_file(path)
    assert (report.requests, report.unreadable, len(report.runs)) == (6000, 0, 2)
