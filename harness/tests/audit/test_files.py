# SPDX-License-Identifier: Apache-2.0
"""Captured files of load tools are free of contradictions; one that is written into them is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness.audit.auditing import audit_paths
from harness.audit.figures import Plan
from harness.audit.auditing import CLOCK, GROWS, PARTS, audit_file
from harness.audit.laws import COUNTS, LITTLE, MEAN, PLAN, RATE, UNITS
from harness.errors import InputError
from harness.tests.support.command import run_here
from harness.tests.support.compared_arms import change_rows, users_wait
from harness.tests.support.generated_jtl import write_load

GOLDEN = Path(__file__).parent.parent / "golden"
CAPTURED = [
    *("jmeter/closed-10-users.jtl.gz", "jmeter/open-arrivals.jtl.gz", "jmeter/samples.jtl"),
    *("locust/run_stats.csv", "locust/run_stats_history.csv"),
]


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_files_contradict_nothing(name: str) -> None:
    file = audit_file(GOLDEN / name, Plan())
    assert file.of("contradiction") == ()
    assert file.of("holds")


def test_every_file_of_the_captured_folders_that_report_reads() -> None:
    for tool in ("k6", "oha", "vegeta", "wrk", "wrk2"):
        found, _ = audit_paths([GOLDEN / tool], Plan())
        assert found and [check for file in found for check in file.of("contradiction")] == []


@pytest.fixture
def jtl(tmp_path: Path) -> Path:
    path = tmp_path / "run.jtl"
    write_load(path, users_wait(3))
    return path


def test_users_of_the_file_bound_what_is_under_way(jtl: Path) -> None:
    file = audit_file(jtl, Plan())
    assert file.of("contradiction") == ()
    assert any(check.law == LITTLE and check.outcome == "holds" for check in file.checks)
    few = audit_file(jtl, Plan(users=2))
    assert LITTLE in {check.law for check in few.of("contradiction")}
    assert PLAN in {check.law for check in audit_file(jtl, Plan(users=10, loops=7)).of("contradiction")}


def test_a_clock_that_was_set_back_is_named(jtl: Path) -> None:
    lines = jtl.read_text("utf-8").splitlines()
    half = len(lines) // 2

    def back(line: str) -> str:
        stamp, rest = line.split(",", 1)
        return f"{int(stamp) - 60_000},{rest}"

    jtl.write_text("\n".join([*lines[:half], *map(back, lines[half:]), ""]), "utf-8")
    assert CLOCK in {check.law for check in audit_file(jtl, Plan()).of("contradiction")}


def test_another_unit_of_the_latencies_is_named(jtl: Path) -> None:
    def a_thousand_times(_: int, row: dict[str, str]) -> None:
        row["elapsed"] = str(1000 * int(row["elapsed"]))

    change_rows(jtl, a_thousand_times)
    found = {check.law for check in audit_file(jtl, Plan()).of("contradiction")}
    assert {UNITS, LITTLE} <= found


def test_a_part_longer_than_the_whole_is_counted(jtl: Path) -> None:
    def connect(number: int, row: dict[str, str]) -> None:
        row["Connect"] = str(int(row["elapsed"]) + 50 * (number == 5))

    change_rows(jtl, connect)
    wrong = [check for check in audit_file(jtl, Plan()).of("contradiction") if check.law == PARTS]
    assert len(wrong) == 1 and "Connect is longer than elapsed in 1 of" in wrong[0].text


def _changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    text = (GOLDEN / name).read_text("utf-8")
    assert old in text
    path = tmp_path / Path(name).name
    path.write_text(text.replace(old, new, 1), "utf-8")
    return path


def test_a_total_of_locust_that_its_labels_do_not_make(tmp_path: Path) -> None:
    more = _changed(tmp_path, "locust/run_stats.csv", ",Aggregated,121,58", ",Aggregated,131,58")
    found = {check.law for check in audit_file(more, Plan()).of("contradiction")}
    assert found == {COUNTS}
    mean = _changed(tmp_path, "locust/run_stats.csv", "2,18.818626041318883", "2,19.818626041318883")
    assert MEAN in {check.law for check in audit_file(mean, Plan()).of("contradiction")}


def test_counts_of_a_history_that_fall(tmp_path: Path) -> None:
    source = (GOLDEN / "locust/run_stats_history.csv").read_text("utf-8").splitlines()
    place = source[0].split(",").index("Total Request Count")
    last = source[-1].split(",")
    last[place] = "1"
    path = tmp_path / "run_stats_history.csv"
    path.write_text("\n".join([*source[:-1], ",".join(last), ""]), "utf-8")
    assert GROWS in {check.law for check in audit_file(path, Plan()).of("contradiction")}


def test_the_rate_of_wrk_is_its_requests_over_its_time(tmp_path: Path) -> None:
    path = next(
        one for one in sorted((GOLDEN / "wrk").glob("*.txt")) if "Requests/sec:" in one.read_text("utf-8")
    )
    assert audit_file(path, Plan()).of("contradiction") == ()
    text = path.read_text("utf-8")
    rate = text.split("Requests/sec:")[1].split()[0]
    other = tmp_path / path.name
    other.write_text(text.replace(rate, f"{2 * float(rate):.2f}"), "utf-8")
    assert RATE in {check.law for check in audit_file(other, Plan()).of("contradiction")}


def test_folders_name_what_they_leave_out(tmp_path: Path, jtl: Path) -> None:
    (tmp_path / "notes.pdf").write_bytes(b"%PDF-1.7 nothing")
    with gzip.open(tmp_path / "again.jtl.gz", "wb") as stream:
        stream.write(jtl.read_bytes())
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
