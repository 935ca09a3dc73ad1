# SPDX-License-Identifier: Apache-2.0
"""The page of verifications: every row that there is, nothing typed by hand, intervals beside the values."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import harness.verify.page
from harness.cli.app import app
from harness.errors import InputError, RematchError
from harness.project import find_root
from harness.tests.support.synthetic import make_project
from harness.verify.page import PAGE, ROWS, VerifiedRow, cells, read_record, render, verify_row, write_page
from harness.verify.simulated import VERIFICATIONS, VerifyResult
from harness.verify.simulated.result import Cell, share

ROOT = find_root(Path(__file__).parent)
GOOD, BAD = (Cell(name="c", value=value, at_most=1.0) for value in (0.5, 2.0))


def row(name: str, *cells: Cell) -> VerifiedRow:
    result = VerifyResult(name=name, bar="x <= 1", control="y", cells=cells, sims=100, seed=1)
    return VerifiedRow(result=result, wall_s=3.0, place="2 cores, commit c")


def test_the_page_says_what_its_record_says_and_has_exactly_the_known_rows() -> None:
    text, rows = (ROOT / PAGE).read_text("utf-8"), read_record(ROOT)
    assert text == render(rows)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(ROWS)
    assert {row.result.name: row.result.sims for row in rows}.items() >= {
        (name, verification.sims) for name, verification in VERIFICATIONS.items()
    }


def test_a_row_that_runs_again_replaces_its_section_and_leaves_the_others(tmp_path: Path) -> None:
    first, second = ROWS[0], ROWS[1]
    write_page(tmp_path, [row(second, GOOD), row(first, GOOD)])
    write_page(tmp_path, [row(first, BAD)])
    text = (tmp_path / PAGE).read_text()
    assert "not run yet: " in text
    failed, held = text[text.index(f"## {first}") :].split(f"## {second}")
    assert "DOES NOT HOLD" in failed and "DOES NOT HOLD" not in held


def test_a_cell_without_a_limit_is_no_bar_and_one_near_its_limit_says_so() -> None:
    assert cells(Cell(name="c", value=1.0))[-1] == "no bar"
    assert cells(share(100, name="c", value=0.95, at_least=0.93))[-1] == "undecided"
    assert cells(share(100_000, name="c", value=0.95, at_least=0.93))[-1] == "holds"
    assert cells(share(100, name="c", value=0.92, at_least=0.93))[-1] == "undecided"
    assert share(0, name="c", value=0.0, at_least=0.93).refuted
    assert share(0, name="c", value=0.0, at_most=0.1).refuted
    assert "0 of 0" in render([row(ROWS[0], Cell(name="c", value=1.0))])


def test_a_row_is_timed_and_an_unknown_one_names_those_there_are() -> None:
    timed = verify_row("aa", "here", sims=20, seed=2)
    assert timed.wall_s > 0 and timed.result.sims == 20 and timed.place == "here"
    with pytest.raises(InputError, match="allowed: coverage, .*, sigstop, bound, all"):
        verify_row("nothing", "here")


def test_a_row_that_cannot_run_is_said_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, place: str, **_: object) -> VerifiedRow:
        if name == ROWS[-1]:
            raise RematchError("no service")
        return row(name, GOOD)

    monkeypatch.setattr(harness.verify.page, "verify_row", run)
    monkeypatch.setenv("REMATCH_ROOT", str(make_project(tmp_path, experiments=())))
    monkeypatch.setattr(sys, "argv", ["rematch", "verify", "all", "--write", "--json"])
    with pytest.raises(SystemExit) as end:
        app()
    out, err = capsys.readouterr()
    assert end.value.code == 1 and f"not run: {ROWS[-1]}: no service" in err
    assert [row["name"] for row in json.loads(out)] == list(ROWS[:-1])
    assert f"not run yet: {ROWS[-1]}" in (tmp_path / "project" / PAGE).read_text()
