# SPDX-License-Identifier: Apache-2.0
"""Pages name only what exists, the README leads to them, and lines that promise something say what holds it."""

from __future__ import annotations

import re
import tomllib

import pytest

from harness.tests.support.available import PROJECT

TESTS = PROJECT / "harness" / "tests"
ARCHITECTURE = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
RECIPES = sorted(path.stem for path in (PROJECT / "docs").glob("add-a-*.md"))
PROMISES = ("security", "platforms")
#: Files of the project, from its folder on; a page of the tests' own names those below ``harness/tests``.
NAMED = re.compile(r"(?<![\w/.])((?:data|docs|harness|notebooks|paper|services|setup)/[\w./-]*[\w/])")
#: Written by whoever follows a recipe.
BLANKS = ("NAME", "NN-", "WORKLOAD")
#: What stands in the last cell of a line that no test holds.
BARE = ("untested", "no test of its own", "by running the tests")


def read(page: str) -> str:
    return (PROJECT / "docs" / f"{page}.md").read_text("utf-8")


@pytest.mark.parametrize("page", [*PROMISES, *RECIPES])
def test_every_file_that_a_page_names_exists_and_a_page_leads_to_it(page: str) -> None:
    named = {name for name in NAMED.findall(read(page)) if not any(blank in name for blank in BLANKS)}
    assert named
    assert {name for name in named if not (PROJECT / name).exists()} == set()
    leading = (PROJECT / "README.md").read_text("utf-8") + (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
    assert f"docs/{page}.md" in leading


@pytest.mark.parametrize("page", PROMISES)
def test_every_line_of_a_table_names_a_test_or_says_that_there_is_none(page: str) -> None:
    cells, inside = [], False
    for line in read(page).splitlines():
        if not line.startswith("|"):
            inside = False
        elif line.rstrip("| ").endswith("| test"):
            inside = True
        elif inside and not line.startswith("|---"):
            cells.append(line.rstrip("| ").rpartition("|")[2].strip())
    assert len(cells) > 40
    for cell in cells:
        tests = re.findall(r"`([^`]+)`", cell)
        assert cell.startswith(BARE) or any((TESTS / name).exists() for name in tests), cell
        assert all(
            (TESTS / name).exists() for name in tests if re.fullmatch(r"(?:[a-z_]+/)*[a-z_]+\.py", name)
        ), cell


@pytest.mark.parametrize("page", RECIPES)
def test_the_steps_of_a_recipe_are_numbered_and_a_command_proves_them(page: str) -> None:
    steps = [int(number) for number in re.findall(r"^(\d+)\. ", read(page), re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= 4
    assert re.findall(r"^(?:\.venv/bin/|make )\S+", read(page).partition("\nProve it:\n")[2], re.MULTILINE)


def test_the_page_of_the_architecture_has_every_package_and_the_floors_of_the_import_contract() -> None:
    folders = {
        path.name for path in (PROJECT / "harness").iterdir() if path.is_dir() and path.name[0] not in "_."
    }
    rows = [line.split("`")[1].rstrip("/") for line in ARCHITECTURE.splitlines() if line.startswith("| `")]
    assert set(rows) >= folders
    modules = {path.name for path in (PROJECT / "harness").glob("*.py") if not path.name.startswith("__")}
    assert modules <= set(re.findall(r"`([a-z_]+\.py)`", ARCHITECTURE)) and len(modules) <= 9
    for name in set(re.findall(r"`([a-z_]+/(?:[a-z_]+/)*(?:[a-z_]+\.py)?)`", ARCHITECTURE)):
        assert any((PROJECT / base / name).exists() for base in ("", "harness", "harness/analysis")), name
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    layers = next(
        one["layers"] for one in pyproject["tool"]["importlinter"]["contracts"] if one["type"] == "layers"
    )
    block = ARCHITECTURE.partition("## What may import what")[2].split("```")[1].strip().splitlines()
    assert block == [layer.replace("(", "").replace(")", "") for layer in layers if layer != "__main__"]
