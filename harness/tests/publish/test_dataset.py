# SPDX-License-Identifier: Apache-2.0
"""The data package: every column has a meaning, and a package holds what its schema, metadata and checksums say."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.tables import schema
from harness.analysis.tables.schema import ALLOWED, MEANINGS, columns, page
from harness.errors import InputError
from harness.project import find_root
from harness.publish.dataset import write_package
from harness.publish.generated import GENERATED

ROOT = find_root(Path(__file__).parent)
EXPERIMENT = "aa"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one bundled session, made in a project of its own."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "data/raw/bundled" / EXPERIMENT, root / "data/raw/bundled" / EXPERIMENT)
    shutil.copytree(ROOT / "data/published", root / "data/published")
    rows = root / GENERATED / "rows"
    rows.mkdir(parents=True)
    for name, trial in (("31-a.a", "bundled/aa/s/0001-a"), ("32-b.b", "aa/quick-local-1/0001-a")):
        pd.DataFrame({"key": [f"{name}.mean"], "inputs": [[trial]]}).to_parquet(rows / f"{name}.parquet")
    write_package(root, root / "package")
    return root / "package"


def test_rows_of_bundled_sessions_are_in_it_and_those_of_own_ones_are_not(package: Path) -> None:
    assert [path.name for path in (package / "rows").iterdir()] == ["31-a.a.parquet"]


def test_every_column_has_a_meaning_and_nothing_else_has() -> None:
    assert set(MEANINGS) == set(schema.COLUMNS)
    assert set(ALLOWED) <= set(schema.COLUMNS)
    assert all(one.unit for one in columns() if one.type in ("integer", "number"))


def test_the_page_is_the_one_that_the_dictionary_writes() -> None:
    assert (ROOT / "docs/data-dictionary.md").read_text("utf-8") == page()


def test_a_written_package_holds_what_its_schema_and_checksums_say(package: Path) -> None:
    done = subprocess.run(["sha256sum", "-c", "--quiet", "checksums.sha256"], cwd=package, check=False)
    listed = {line.split("  ")[1] for line in (package / "checksums.sha256").read_text().splitlines()}
    present = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    assert done.returncode == 0 and listed == present - {"checksums.sha256"}
    for resource in json.loads((package / "datapackage.json").read_text("utf-8"))["resources"]:
        frame = pd.read_csv(package / resource["path"], comment="#", dtype=str, keep_default_na=False)
        assert list(frame.columns) == [field["name"] for field in resource["schema"]["fields"]]
        keys = resource["schema"].get("primaryKey", [])
        assert not keys or not frame.duplicated(keys).any()
        for field in resource["schema"]["fields"]:
            rules, cells = field.get("constraints", {}), frame[field["name"]]
            assert not rules.get("required") or (cells != "").all(), field
            cells = cells[cells != ""]
            if field["type"] in ("number", "integer"):
                assert (pd.to_numeric(cells) >= rules.get("minimum", float("-inf"))).all(), field
            allowed = ["true", "false"] if field["type"] == "boolean" else rules.get("enum", list(cells))
            assert cells.isin(allowed).all(), field


def test_the_same_sessions_give_the_same_package(package: Path, tmp_path: Path) -> None:
    write_package(package.parent, tmp_path / "again")
    for name in ("checksums.sha256", "datapackage.json"):
        assert (tmp_path / "again" / name).read_bytes() == (package / name).read_bytes()


def test_a_folder_with_something_else_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept\n")
    with pytest.raises(InputError, match="already exists"):
        write_package(ROOT, tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "kept\n"
