# SPDX-License-Identifier: Apache-2.0
"""``--label``, ``--skip`` and ``--fail-if`` of ``rematch report``, and what a summary leaves open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.report.limits import check_file, file_limit
from harness.report.selection import Selection, seconds_named, select
from harness.tests.support.command import run_here
from harness.tests.support.generated_jtl import change_rows, report_file, users_wait, write_load

GOLDEN = Path(__file__).parent.parent / "golden"
AUTOCANNON = GOLDEN / "autocannon" / "autocannon.json"


@pytest.fixture
def jtl(tmp_path: Path) -> Path:
    """Two names of requests; those of the slow one last 100 ms longer, and every tenth of them fails."""
    path = tmp_path / "run.jtl"
    write_load(path, users_wait(5))

    def two_names(number: int, row: dict[str, str]) -> None:
        slow = number % 2 == 1
        row["label"] = "slow" if slow else "quick"
        row["elapsed"] = str(int(row["elapsed"]) + 100 * slow)
        if slow and number % 20 == 1:
            row["success"], row["responseCode"] = "false", "500"

    change_rows(path, two_names)
    return path


def _columns(path: Path) -> list[dict[str, str]]:
    head, *lines = path.read_text("utf-8").splitlines()
    return [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]


def test_a_label_is_its_own_rows_with_the_kinds_of_their_errors(jtl: Path) -> None:
    code, out, _ = run_here(jtl.parent, "report", jtl.name, "--label", "slow", "--json")
    found, rows = json.loads(out), [row for row in _columns(jtl) if row["label"] == "slow"]
    failed = [row for row in rows if row["success"] == "false"]
    assert code == 0 and (found["requests"], found["errors"]) == (len(rows), len(failed))
    assert sum(found["errors_by_kind"].values()) == len(failed)
    good = [int(row["elapsed"]) for row in rows if row["success"] == "true"]
    assert found["latency_ms"]["mean"] == pytest.approx(sum(good) / len(good))
    assert any(text.startswith("only slow: ") for text in found["warnings"])
    with pytest.raises(InputError, match="no request of that name.*quick"):
        select(read_any(jtl), Selection(label="other"))


def test_the_beginning_is_left_out(jtl: Path) -> None:
    stamps = [int(row["timeStamp"]) for row in _columns(jtl)]
    later = [stamp for stamp in stamps if stamp >= min(stamps) + 2000]
    assert 0 < len(later) < len(stamps)
    code, out, _ = run_here(jtl.parent, "report", jtl.name, "--skip", "2s", "--json")
    found = json.loads(out)
    assert code == 0 and found["requests"] == len(later)
    assert any(text.startswith("left out: the first 2.00 s") for text in found["warnings"])
    code, _, err = run_here(jtl.parent, "report", jtl.name, "--skip", "2h")
    assert code == 2 and "is no span of time" in err
    code, _, err = run_here(jtl.parent, "report", jtl.name, "--skip", "1000")
    assert code == 2 and "is no longer than that" in err


@pytest.mark.parametrize(("text", "seconds"), [("10", 10), ("10s", 10), ("500ms", 0.5), ("2 m", 120)])
def test_spans(text: str, seconds: float) -> None:
    assert seconds_named(text, "--skip") == seconds


def test_limits_decide_the_exit_status(jtl: Path) -> None:
    def status(limit: str) -> tuple[int, str]:
        code, out, err = run_here(jtl.parent, "report", jtl.name, "--fail-if", limit)
        return code, " ".join((out + err).split())

    assert status("p99 > 10s")[0] == 0
    code, said = status("p99 > 1ms")
    assert code == 1 and "limit p99 > 1ms: exceeded" in said
    assert status("p99 of slow > 100ms")[0] == 1
    assert status("mean of quick > 100ms")[0] == 0
    assert status("errors > 1%")[0] == 1 and status("errors > 0.2")[0] == 0
    assert status("throughput < 1000000")[0] == 1
    assert status("p98 > 10s")[0] == 0 and status("p98 > 1ms")[0] == 1
    for wrong in ("p99 > 250", "errors > 200%", "p95 of slow > 1ms", "p99 of other > 1ms"):
        assert status(wrong)[0] == 2, wrong


def test_rows_that_are_sums_of_others_are_meant_where_they_are_named() -> None:
    path = GOLDEN / "jmeter" / "default-transactions.jtl"
    table = select(read_any(path), Selection(label="the whole, in short"))
    assert isinstance(table, RequestTable) and table.n_requests == 45


def test_a_percentile_that_a_summary_leaves_out_has_bounds() -> None:
    report = report_file(AUTOCANNON)
    low, high = report.bounds_ms["p95"]
    assert report.latency_ms["p95"] is None and (low, high) == (report.latency_ms["p90"], 12.0)
    assert low is not None and "not printed: " in report.interval_reasons["p95"]
    outcomes = [
        check_file(file_limit(f"p95 > {limit}ms"), report).outcome for limit in (low / 2, (low + 12) / 2, 24)
    ]
    assert outcomes == ["exceeded", "cannot be told", "kept"]


def test_nothing_can_be_left_out_of_a_summary() -> None:
    with pytest.raises(InputError, match="is a summary"):
        select(read_any(AUTOCANNON), Selection(skip_s=1.0))
    stats = read_any(GOLDEN / "locust" / "run_stats.csv")
    one = select(stats, Selection(label="POST right"))
    assert one.total is not None and one.total.n_requests == 63  # type: ignore[union-attr]
