# SPDX-License-Identifier: Apache-2.0
"""Pages name only what exists, and the page of the architecture has every package and floor."""

from __future__ import annotations

import re
import tomllib

import pytest

from harness.tests.support.available import PROJECT

TESTS = PROJECT / "harness" / "tests"
ARCHITECTURE = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
RECIPES = sorted(path.stem for path in (PROJECT / "docs").glob("add-a-*.md"))
#: Files of the project, from its folder on; a page of the tests' own names those below ``harness/tests``.
NAMED = re.compile(r"(?<![\w/.])((?:data|docs|harness|notebooks|paper|services|setup)/[\w./-]*[\w/])")
OF_TESTS = re.compile(r"`((?:[a-z_]+/)+test_[a-z_]+\.py)`")
#: Written by whoever follows a recipe.
BLANKS = ("NAME", "NN-", "WORKLOAD")


@pytest.mark.parametrize("page", ["security", "platforms", *RECIPES])
def test_every_file_that_a_page_names_exists_and_a_page_leads_to_it(page: str) -> None:
    text = (PROJECT / "docs" / f"{page}.md").read_text("utf-8")
    named = {name for name in NAMED.findall(text) if not any(blank in name for blank in BLANKS)}
    assert named
    assert {name for name in named if not (PROJECT / name).exists()} == set()
    tests = set(OF_TESTS.findall(text)) - named
    assert {name for name in tests if not (TESTS / name).exists()} == set()
    leading = (PROJECT / "README.md").read_text("utf-8") + (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
    assert f"docs/{page}.md" in leading


def test_the_page_of_the_architecture_has_every_package_and_the_floors_of_the_import_contract() -> None:
    folders = {
        path.name for path in (PROJECT / "harness").iterdir() if path.is_dir() and path.name[0] not in "_."
    }
    rows = [line.split("`")[1].rstrip("/") for line in ARCHITECTURE.splitlines() if line.startswith("| `")]
    assert set(rows) >= folders
    modules = {path.name for path in (PROJECT / "harness").glob("*.py") if not path.name.startswith("__")}
    assert modules <= set(re.findall(r"`([a-z_]+\.py)`", ARCHITECTURE))
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    layers = next(
        item["layers"] for item in pyproject["tool"]["importlinter"]["contracts"] if item["type"] == "layers"
    )
    block = ARCHITECTURE.partition("## What may import what")[2].split("```")[1].strip().splitlines()
    assert block == [layer.replace("(", "").replace(")", "") for layer in layers if layer != "__main__"]
