# SPDX-License-Identifier: Apache-2.0
"""Output of check, list and verify fits the terminal, and no text is cut or squeezed into a narrow column."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cli import check, verify
from harness.cli.list import print_overview
from harness.definitions import experiment_files, load_study
from harness.tests.support.available import PROJECT
from harness.verify.page import VerifiedRow
from harness.verify.simulated import Cell, VerifyResult

#: No column of wrapped text is narrower than this.
NARROWEST = 24
TOOLS: Any = [
    {"name": "jdk", "state": "missing", "required": True, "why": "to build Java services", "how_to_get": "make setup"},
    {
        "name": "native-image", "state": "missing", "required": False, "why": "to compile ahead of time " * 2,
        "how_to_get": "a native-image on PATH " * 4,
    },
]  # fmt: skip


@pytest.fixture(params=[80, 120])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def words(text: str) -> str:
    return " ".join(text.split())


def words_that_fit(text: str, columns: int) -> str:
    assert text.strip()
    assert [line for line in text.splitlines() if len(line) > columns] == []
    return words(text)


def test_a_verification_prints_every_cell_whole(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    cells = tuple(
        Cell(name=f"error of the share of p99.9, poisson 1000/s, {n} ms, AR 0.9", value=0.01, at_most=0.02)
        for n in (30, 100)
    )
    result = VerifyResult(
        name="attribution", bar="share error <= .02; " * 8, control="the overlap alone is wrong", cells=cells,
        sims=10, seed=1,
    )  # fmt: skip
    verify._show(VerifiedRow(result=result, wall_s=1.0, place="2 cores"))
    text = words_that_fit(capsys.readouterr().out, columns)
    assert all(cell.name in text for cell in cells)


def test_check_prints_each_missing_tool_with_purpose_and_install_step(
    columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    check.print_missing(TOOLS)
    text = words_that_fit(capsys.readouterr().out, columns)
    assert text.index("required, not usable:") < text.index("optional, not usable:")
    for tool in TOOLS:
        assert words(f"{tool['name']} (missing): {tool['why']} install with: {tool['how_to_get']}") in text


def test_list_shows_every_title_whole_in_a_column_wide_enough(
    columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    titles = {name: load_study(PROJECT, name).experiment.title for name in experiment_files(PROJECT)}
    profile = {"trials": 10_000, "expected_s": 36_000.0}
    facts = {"profiles": {"quick": profile}, "levels_unavailable": {}, "variants": {"a": "no"}}
    print_overview([{"name": name, "title": title, **facts} for name, title in titles.items()])
    out = capsys.readouterr().out
    words_that_fit(out, columns)
    place = out.splitlines()[0].index("title")
    assert columns - place >= NARROWEST
    shown = words(" ".join(line[place:] for line in out.split("\n\n")[0].splitlines()[1:]))
    assert shown == words(" ".join(titles.values()))
