# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/add-a-*.md: numbered, ending with the command that proves the step, naming only what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.project import find_root
from harness.toolchains import WANTED

ROOT = find_root(Path(__file__).parent)
RECIPES = sorted((ROOT / "docs").glob("add-a-*.md"))
#: Written by whoever follows the recipe.
BLANKS = ("NAME", "NN-", "WORKLOAD")
TOP = ("data", "docs", "harness", "notebooks", "paper", "services", "setup")
NAMED = re.compile(rf"(?<![\w/.])((?:{'|'.join(TOP)})/[\w./-]*)")


def names_in(page: Path) -> set[str]:
    """Return the files and folders of the project that a page names, in prose and commands."""
    return {name.rstrip(".") for name in NAMED.findall(page.read_text("utf-8"))}


def test_there_is_a_recipe_for_each_kind_of_addition() -> None:
    assert {page.stem for page in RECIPES} == {
        f"add-a-{thing}" for thing in ("host", "load-tool", "question", "service", "statistic")
    }


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_every_file_that_a_recipe_names_exists(page: Path) -> None:
    named = {name for name in names_in(page) if not any(blank in name for blank in BLANKS)}
    assert len(named) >= 4
    assert {name for name in named if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_its_steps_are_numbered_and_a_command_proves_them(page: Path) -> None:
    text = page.read_text("utf-8")
    steps = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= 4
    _, _, proof = text.partition("\nProve it:\n")
    commands = re.findall(r"^(?:\.venv/bin/|make )\S+", proof, re.MULTILINE)
    assert commands, "a recipe ends with the command that proves it"


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_the_readme_leads_to_it(page: Path) -> None:
    assert f"docs/{page.name}" in (ROOT / "README.md").read_text("utf-8") + (
        ROOT / "CONTRIBUTING.md"
    ).read_text("utf-8")


def test_the_recipe_of_a_service_names_the_tools_that_it_does_not_need() -> None:
    text = (ROOT / "docs/add-a-service.md").read_text("utf-8")
    unneeded = text.partition("Not required:")[2].partition(".")[0].casefold()
    assert {"go", "maven", "jmeter", "docker", "latex"} <= {row.name for row in WANTED}
    for name in ("go", "jdk", "maven", "jmeter", "docker", "latex"):
        assert name in unneeded
