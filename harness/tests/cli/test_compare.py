# SPDX-License-Identifier: Apache-2.0
"""``rematch compare`` on a terminal, in a pipe and in a check of a pull request."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.tests.support.command import run_here
from harness.tests.support.generated_jtl import change_rows, users_wait, write_arms


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Arms a and b of equal services, and slow, an arm of one half as fast."""
    root = tmp_path_factory.mktemp("arms")
    write_arms(root)
    write_arms(root / "slow", b=lambda seed: users_wait(seed, median_s=0.1))
    return root


def test_the_answer_comes_first_and_fits_80_columns(folder: Path) -> None:
    code, out, err = run_here(folder, "compare", "a", "--", "slow/b")
    assert (code, err) == (0, "")
    first = " ".join(out.split("\n\n")[0].split())
    assert first.startswith("B against A, 5 and 5 runs; different: throughput") and "p99" in first
    assert "order: A B B A A B B A A B" in out
    assert [line for line in out.splitlines() if len(line) > 80] == []


def test_options_may_stand_before_and_behind_both_arms(folder: Path) -> None:
    a, b = ([f"{arm}/run{n}.jtl" for n in range(5)] for arm in "ab")
    for words in (
        ["a", "--", "b", "--json", "--fail-if", "p99 > 1.5"],
        ["--fail-if=p99 > 1.5", "--json", *a, "--", *b],
    ):
        code, out, _ = run_here(folder, "compare", *words)
        found = json.loads(out)
        assert code == 0 and [len(arm["runs"]) for arm in found["arms"]] == [5, 5]
        assert found["limits"][0]["outcome"] == "kept" and found["traps"] == []


def test_exit_status_of_limits(folder: Path) -> None:
    limits = ("--fail-if", "p99 > 1.05", "--fail-if", "p50 > 9")
    code, out, _ = run_here(folder, "compare", "a", "--", "slow/b", *limits)
    assert code == 1 and "limit p99 > 1.05: exceeded" in out and "limit p50 > 9: kept" in out
    code, _, err = run_here(
        folder, "compare", "a/run0.jtl", "--", "slow/b/run0.jtl", "--fail-if", "p99 > 1.05"
    )
    assert code == 2 and "cannot be told" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["a", "b"], ["a", "--", "b", "--", "a"], ["a", "--"], ["--", "b"], ["a", "--", "none"]]
)
def test_what_is_no_comparison_is_one_line(folder: Path, arguments: list[str]) -> None:
    code, out, err = run_here(folder, "compare", *arguments)
    assert (code, out) == (2, "") and err.startswith("rematch: ") and err.count("\n") == 1


def test_the_page_is_one_file_and_nothing_in_a_name_is_markup(folder: Path, tmp_path: Path) -> None:
    a, b = write_arms(tmp_path)
    for path in (*a.iterdir(), *b.iterdir()):
        change_rows(path, lambda n, row: row.update(label="<b>x</b> | @all" if n % 2 else "y"))
    code, out, _ = run_here(
        tmp_path, "compare", "a", "--", "b", "--html", "page.html", "--markdown", "page.md"
    )
    page, text = (tmp_path / "page.html").read_text(), (tmp_path / "page.md").read_text()
    assert code == 0 and "<b>x</b> | @all" in out
    assert "<b>x" not in page and "&lt;b&gt;x" in page
    assert not re.search(r"<(script|link|img|iframe)|(src|href)=\"(?!#)|url\((?!#)", page)
    assert page.count("<table") == 3 and "prefers-color-scheme: dark" in page
    assert "<b>x" not in text and "@all" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


def test_markdown_alone_is_printed_where_it_is_asked_for(folder: Path) -> None:
    code, out, _ = run_here(folder, "compare", "a", "--", "b", "--markdown", "-")
    assert code == 0 and out.startswith("**B against A, 5 and 5 runs;") and "| p99, ms |" in out
