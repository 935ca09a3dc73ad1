# SPDX-License-Identifier: Apache-2.0
"""docs/security.md and docs/platforms.md name what exists, and every line of a table says what holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.project import find_root

ROOT = find_root(Path(__file__).parent)
TESTS = ROOT / "harness" / "tests"
PAGES = [ROOT / "docs" / name for name in ("security.md", "platforms.md")]
QUOTED = re.compile(r"`([^`]+)`")
#: Files of the project, from its folder on.
TOP = ("docs/", "harness/", "notebooks/", "services/", "setup/")
#: What stands in the last cell of a line that no test holds.
BARE = ("untested", "no test of its own", "by running the tests")


def quoted(page: Path) -> set[str]:
    return set(QUOTED.findall(page.read_text("utf-8")))


def last_cells(text: str) -> Iterator[str]:
    """Yield the last cell of every row of every table whose last column is ``test``."""
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
        elif line.rstrip("| ").endswith("| test"):
            inside = True
        elif inside and not line.startswith("|---"):
            yield line.rstrip("| ").rpartition("|")[2].strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_the_page_names_exists(page: Path) -> None:
    named = {name for name in quoted(page) if name.startswith(TOP)}
    assert {name for name in named if not (ROOT / name).exists()} == set()
    tests = {name for name in quoted(page) if re.fullmatch(r"(?:[a-z]+/)*[a-z_]+\.py|[a-z]+/", name)} - named
    assert len(tests) > 15
    assert {name for name in tests if not (TESTS / name).exists()} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_line_of_a_table_names_a_test_or_says_that_there_is_none(page: Path) -> None:
    cells = list(last_cells(page.read_text("utf-8")))
    assert len(cells) > 40
    bare = [
        cell
        for cell in cells
        if not any((TESTS / name).exists() for name in QUOTED.findall(cell)) and not cell.startswith(BARE)
    ]
    assert bare == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_readme_leads_to_it(page: Path) -> None:
    assert f"docs/{page.name}" in (ROOT / "README.md").read_text("utf-8")


def test_a_line_without_a_test_would_be_found() -> None:
    rows = (
        "| must not | code | test |",
        "|---|---|---|",
        "| a | b | `store/test_archive.py` |",
        "| c | d |  |",
    )
    text = "\n".join((*rows, "", "| x | y |"))
    assert list(last_cells(text)) == ["`store/test_archive.py`", "d"]
