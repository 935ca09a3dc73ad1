# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md names every package, and nothing that is not there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from harness.project import find_root

ROOT = find_root(Path(__file__).parent)
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`([a-z_]+/(?:[a-z_]+/)*(?:[a-z_]+\.py)?)`", PAGE)))


def test_every_package_of_the_harness_has_a_row() -> None:
    there = {
        path.name for path in (ROOT / "harness").iterdir() if path.is_dir() and not path.name.startswith("_")
    }
    assert {line.split("`")[1].rstrip("/") for line in PAGE.splitlines() if line.startswith("| `")} >= there


def test_few_modules_stand_beside_the_packages_and_each_is_named() -> None:
    single = {path.name for path in (ROOT / "harness").glob("*.py") if not path.name.startswith("__")}
    assert single <= set(re.findall(r"`([a-z_]+\.py)`", PAGE)) and len(single) <= 9


@pytest.mark.parametrize("name", NAMED)
def test_every_path_that_the_page_names_exists(name: str) -> None:
    places = (ROOT / name, ROOT / "harness" / name, ROOT / "harness" / "analysis" / name)
    assert any(place.exists() for place in places)


def test_the_floors_are_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    block = PAGE.partition("## What may import what")[2].split("```")[1].strip().splitlines()
    assert block == [layer.replace("(", "").replace(")", "") for layer in layers if layer != "__main__"]
