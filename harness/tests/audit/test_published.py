# SPDX-License-Identifier: Apache-2.0
"""The articles' own tables, row by row; files of load tools; and both with one number changed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.project import find_root
from harness.report.audit import laws
from harness.report.audit.auditing import CLOCK, PARTS, audit_file, audit_paths, audit_published
from harness.report.audit.laws import COUNTS, LITTLE, MEAN, PLAN, RATE, UNITS, Plan
from harness.report.audit.tables import audit_table
from harness.tests.support.command import run_here
from harness.tests.support.generated_jtl import change_rows, users_wait, write_load

FOLDER = find_root() / "data" / "published"


@pytest.fixture(scope="module")
def tables() -> dict[str, laws.Audited]:
    found, left_out = audit_published(find_root(), laws.Plan())
    assert len(found) + len(left_out) == len(list(FOLDER.glob("*.csv")))
    assert all("no numbers of a load" in line for line in left_out)
    return {one.path.stem: one for one in found}


def _of(file: laws.Audited, law: str) -> list[laws.Check]:
    return [check for check in file.checks if check.law == law]


def test_the_ramp_identity_is_held_against_all_rows_of_the_strings(tables: dict[str, laws.Audited]) -> None:
    rows = [check for name in ("strings-rounds", "strings-i9") for check in _of(tables[name], laws.RAMP)]
    assert len(rows) == 32
    wrong = [check for check in rows if check.outcome != "holds"]
    assert [(check.line, check.outcome) for check in wrong] == [(13, "contradiction")]
    assert wrong[0].row == "round 1, 1, Helidon native, java, off, calls-1000"
    assert "printed 17,837.2/s, predicted 16,103.1/s" in wrong[0].text
    predicted = (
        100 * 10_000 / (10.0 * 99 / 100 + 10_000 * 5.79e-3)
    )  # of the first row: 5.79 ms, and a ramp of 10 s
    assert rows[0].line == 5 and f"predicted {predicted:,.6g}/s" in rows[0].text


def test_what_the_latencies_of_round_3_do_not_explain_is_remarkable(tables: dict[str, laws.Audited]) -> None:
    slow = [check for check in _of(tables["strings-round3"], laws.RAMP) if check.outcome == "remarkable"]
    assert {check.line for check in slow} >= {18, 19, 20, 21}  # a hundred pods behind one address
    assert all("ratio 0." in check.text for check in slow)


def test_totals_of_the_rematch_are_not_of_the_samples_of_their_labels(
    tables: dict[str, laws.Audited],
) -> None:
    file = tables["bank-rematch"]
    wrong = file.of("contradiction")
    assert {(check.line, check.law) for check in wrong} == {(23, laws.PERCENTILES), (31, laws.PERCENTILES)}
    assert "p99 of the total 9.00 ms, of its labels 20.5 to 95.5 ms" in wrong[0].text
    assert any("20,000" in note for note in file.notes)
    assert {check.outcome for law in (laws.COUNTS, laws.MEAN, laws.ENDS) for check in _of(file, law)} == {
        "holds"
    }


def test_a_start_above_the_end_is_named_with_its_row(tables: dict[str, laws.Audited]) -> None:
    found = [check for check in tables["strings-rounds"].of("remarkable") if "MB" in check.text]
    assert [check.line for check in found] == [17]


GOOD = """# somebody's table
users,loops,ramp_up_s,label,requests,throughput_per_s,latency_mean_ms,latency_min_ms,latency_max_ms,p99_ms,errors,errors_percent
10,100,1,total,1000,500.0,10.00,2,80,40,10,1.0
10,100,1,a,600,300.0,5.00,2,30,20,10,1.7
10,100,1,b,400,200.0,17.50,9,80,60,0,0
"""


@pytest.mark.parametrize(
    ("old", "new", "law", "line"),
    [
        ("1000,500.0", "1000,900.0", laws.RAMP, 3),
        ("1000,500.0", "1000,1900.0", laws.LITTLE, 3),
        ("500.0,10.00", "500.0,10000", laws.LITTLE, 3),
        ("500.0,10.00", "500.0,10000", laws.UNITS, 3),
        ("500.0,10.00", "500.0,0.010", laws.UNITS, 3),
        ("total,1000", "total,1001", laws.PLAN, 3),
        ("total,1000", "total,1001", laws.COUNTS, 3),
        ("500.0,10.00", "500.0,10.60", laws.MEAN, 3),
        ("2,80,40", "5,80,40", laws.ENDS, 3),
        ("80,40,10", "80,70,10", laws.PERCENTILES, 3),
        ("9,80,60,0,0", "9,80,60,0,3", "the share of errors is errors over requests", 5),
        ("9,80,60,0,0", "9,50,60,0,0", "latencies are in order: least, mean and percentiles, greatest", 5),
    ],
)
def test_a_changed_number_is_named_with_row(tmp_path: Path, old: str, new: str, law: str, line: int) -> None:
    path = tmp_path / "table.csv"
    path.write_text(GOOD, "utf-8")
    assert audit_table(path, laws.Plan()).of("contradiction") == ()
    assert old in GOOD
    path.write_text(GOOD.replace(old, new), "utf-8")
    wrong = audit_table(path, laws.Plan()).of("contradiction")
    assert (law, line) in {(check.law, check.line) for check in wrong}


@pytest.mark.parametrize(
    ("text", "plan", "wrong"),
    [
        ("users,throughput_per_s,latency_mean_ms\n1,1250,1\n1,2600,1\n", laws.Plan(), [(laws.LITTLE, 3)]),  # 1 ms may have been .5 ms
        ("requests,duration_s,throughput_per_s\n1000,10.0,100\n1000,10.0,120\n", laws.Plan(rate_per_s=105.0),
         [(laws.RATE, 3), (laws.OFFERED, 3)]),
    ],
)  # fmt: skip
def test_rows_of_a_small_table(
    tmp_path: Path, text: str, plan: laws.Plan, wrong: list[tuple[str, int]]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    assert [(check.law, check.line) for check in audit_table(path, plan).of("contradiction")] == wrong


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("users,throughput_per_s\n1,fast\n", "line 2, throughput_per_s"),
        ("users,throughput_per_s\n1\n", "line 2"),
        ("users,throughput_per_s\n1,-3\n", "line 2, throughput_per_s"),
    ],
)
def test_bad_cells_name_their_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as refused:
        audit_table(path, laws.Plan())
    assert refused.value.place == place and refused.value.exit_code == 2


def test_the_command_audits_the_articles_without_arguments() -> None:
    code, out, err = run_here(find_root(), "audit", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "") and found["contradictions"] > 0
    stems = {Path(file["path"]).stem for file in found["files"]}
    assert stems >= {"strings-rounds", "strings-i9", "bank-rematch"}
    code, out, _ = run_here(find_root(), "audit", "--published", "--strict")
    assert code == 1 and "bank-rematch.csv" in out
    assert [line for line in out.splitlines() if len(line) > 80 and "/" not in line] == []


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
def test_a_changed_total_is_named(tmp_path: Path, name: str, old: str, new: str, laws: set[str]) -> None:
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
