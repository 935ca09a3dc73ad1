# SPDX-License-Identifier: Apache-2.0
"""Captured files of load tools are free of contradictions; one that is written into them is named."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.report.audit.auditing import CLOCK, PARTS, audit_file, audit_paths
from harness.report.audit.laws import COUNTS, LITTLE, MEAN, PLAN, RATE, UNITS, Plan
from harness.tests.support.command import run_here
from harness.tests.support.compared_arms import change_rows, users_wait
from harness.tests.support.generated_jtl import write_load

GOLDEN = Path(__file__).parent.parent / "golden"
CAPTURED = [
    *("jmeter/closed-10-users.jtl.gz", "jmeter/open-arrivals.jtl.gz", "jmeter/samples.jtl"),
    *("locust/run_stats.csv", "locust/run_stats_history.csv", "k6", "oha", "vegeta", "wrk", "wrk2"),
]


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_files_contradict_nothing(name: str) -> None:
    files, _ = audit_paths([GOLDEN / name], Plan())
    assert files and all(file.of("contradiction") == () and file.of("holds") for file in files)


@pytest.fixture
def jtl(tmp_path: Path) -> Path:
    return write_load(tmp_path / "run.jtl", users_wait(3))


def broken(path: Path, plan: Plan | None = None) -> set[str]:
    """The laws that a file contradicts."""
    return {check.law for check in audit_file(path, plan or Plan()).of("contradiction")}


def test_users_of_the_file_bound_what_is_under_way(jtl: Path) -> None:
    file = audit_file(jtl, Plan())
    assert file.of("contradiction") == () and LITTLE in {check.law for check in file.of("holds")}
    assert LITTLE in broken(jtl, Plan(users=2)) and PLAN in broken(jtl, Plan(users=10, loops=7))


def set_back(number: int, row: dict[str, str]) -> None:
    row["timeStamp"] = str(int(row["timeStamp"]) - (60_000 if number > 1000 else 0))


def a_thousand_times(number: int, row: dict[str, str]) -> None:
    row["elapsed"] = str(1000 * int(row["elapsed"]))


def longer_part(number: int, row: dict[str, str]) -> None:
    row["Connect"] = str(int(row["elapsed"]) + 50 * (number == 5))


@pytest.mark.parametrize(
    ("change", "laws"), [(set_back, {CLOCK}), (a_thousand_times, {UNITS, LITTLE}), (longer_part, {PARTS})]
)
def test_a_contradiction_in_the_rows_is_named(
    change: Callable[[int, dict[str, str]], None], laws: set[str], jtl: Path
) -> None:
    change_rows(jtl, change)
    assert laws <= broken(jtl)
    if change is longer_part:
        (check,) = (each for each in audit_file(jtl, Plan()).of("contradiction") if each.law == PARTS)
        assert "Connect is longer than elapsed in 1 of" in check.text


@pytest.mark.parametrize(
    ("name", "old", "new", "laws"),
    [
        ("locust/run_stats.csv", ",Aggregated,121,58", ",Aggregated,131,58", {COUNTS}),
        ("wrk/latency.txt", "Requests/sec:  56724.68", "Requests/sec:  99724.68", {RATE}),
        ("locust/run_stats.csv", "2,18.818626041318883", "2,19.818626041318883", {MEAN}),
    ],
)
def test_a_changed_number_of_a_summary_is_named(
    tmp_path: Path, name: str, old: str, new: str, laws: set[str]
) -> None:
    text = (GOLDEN / name).read_text("utf-8")
    assert old in text
    path = tmp_path / Path(name).name
    path.write_text(text.replace(old, new, 1), "utf-8")
    assert laws <= broken(path)


def test_folders_name_what_they_leave_out(tmp_path: Path, jtl: Path) -> None:
    (tmp_path / "notes.pdf").write_bytes(b"%PDF-1.7 nothing")
    (tmp_path / "again.jtl.gz").write_bytes(gzip.compress(jtl.read_bytes()))
    code, out, _ = run_here(tmp_path, "audit", ".", "--strict")
    assert code == 0 and out.startswith("no contradiction in 2 files") and "notes.pdf was left out" in out


@pytest.mark.parametrize("name", ["missing.jtl", "notes.pdf", "empty"])
def test_a_file_that_was_named_and_cannot_be_read_ends_with_2(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.pdf").write_bytes(b"%PDF-1.7 nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        audit_paths([tmp_path / name], Plan())
    code, out, err = run_here(tmp_path, "audit", name)
    assert (code, out) == (2, "") and err.startswith(f"rematch: {name}: ") and err.count("\n") == 1
