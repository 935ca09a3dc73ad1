# SPDX-License-Identifier: Apache-2.0
"""Files that several implementations of a workload share are equal, byte for byte, and named as such."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from harness.project import find_root

SERVICES = find_root(Path(__file__).parent) / "services"
#: Folders that building fills.
BUILT = {"target", "node_modules", "bin", ".gradle", "build"}
SUFFIXES = {".go", ".java", ".js", ".ts", ".py", ".rs", ".properties", ".xml", ".sql", ".toml"}
#: Written by a package manager from what an implementation asks for.
GENERATED = {"go.sum"}

LISTS = sorted(SERVICES.glob("*/copies.toml"))


def named_groups(path: Path) -> list[frozenset[str]]:
    """Return each group of files that a list says are equal, as paths below the workload's folder."""
    blocks = tomllib.loads(path.read_text("utf-8"))["copies"]
    return [
        frozenset(f"{folder}/{file}" for folder in block["folders"])
        for block in blocks
        for file in block["files"]
    ]


def sources(workload: Path) -> list[Path]:
    """Return the source files of all implementations of a workload, without what building made."""
    found = [path for path in workload.glob("*/**/*") if path.is_file() and path.stat().st_size]
    return [
        path
        for path in found
        if (parts := path.relative_to(workload).parts)[0] != "contract"
        and BUILT.isdisjoint(parts)
        and path.name not in GENERATED
        and (path.suffix in SUFFIXES or path.name == "Dockerfile")
    ]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.parent.name)
def test_files_named_as_copies_are_equal(path: Path) -> None:
    groups = named_groups(path)
    assert groups
    for group in groups:
        assert len(group) > 1, f"{path}: {sorted(group)} is one file"
        contents = {name: (path.parent / name).read_bytes() for name in sorted(group)}
        different = [name for name, content in contents.items() if content != contents[min(group)]]
        assert not different, f"{path}: {', '.join(different)} differ from {min(group)}"


@pytest.mark.parametrize(
    "workload", sorted(p for p in SERVICES.iterdir() if p.is_dir()), ids=lambda p: p.name
)
def test_equal_files_of_two_implementations_are_named_as_copies(workload: Path) -> None:
    by_content: dict[bytes, set[str]] = defaultdict(set)
    for path in sources(workload):
        by_content[path.read_bytes()].add(path.relative_to(workload).as_posix())
    equal = {frozenset(group) for group in by_content.values() if len(group) > 1}
    listed = workload / "copies.toml"
    assert equal == set(named_groups(listed) if listed.exists() else []), f"name them in {listed}"
