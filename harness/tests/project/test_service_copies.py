# SPDX-License-Identifier: Apache-2.0
"""Files that several implementations of a workload share are equal, byte for byte, and named as such."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from harness.tests.support.available import PROJECT

#: Folders that building fills.
BUILT = {"target", "node_modules", "bin", ".gradle", "build"}
SUFFIXES = {".go", ".java", ".js", ".ts", ".py", ".rs", ".properties", ".xml", ".sql", ".toml"}
#: Written by a package manager from what an implementation asks for.
GENERATED = {"go.sum"}
WORKLOADS = sorted(path for path in (PROJECT / "services").iterdir() if path.is_dir())


def named_groups(workload: Path) -> set[frozenset[str]]:
    """Return each group of files that the list of a workload says are equal, as paths below its folder."""
    path = workload / "copies.toml"
    blocks = tomllib.loads(path.read_text("utf-8"))["copies"] if path.exists() else []
    return {
        frozenset(f"{folder}/{file}" for folder in block["folders"]) for block in blocks for file in block["files"]
    }


def equal_groups(workload: Path) -> set[frozenset[str]]:
    """Return each group of equal source files of the implementations of a workload, without what building made."""
    by_content: dict[bytes, set[str]] = defaultdict(set)
    for path in workload.glob("*/**/*"):
        parts = path.relative_to(workload).parts
        is_source = path.name not in GENERATED and (path.suffix in SUFFIXES or path.name == "Dockerfile")
        if is_source and parts[0] != "contract" and BUILT.isdisjoint(parts) and path.is_file():
            by_content[path.read_bytes()].add("/".join(parts))
    return {frozenset(group) for content, group in by_content.items() if content and len(group) > 1}


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.name)
def test_equal_files_of_two_implementations_and_no_others_are_named_as_copies(workload: Path) -> None:
    assert equal_groups(workload) == named_groups(workload), f"{workload}/copies.toml"
