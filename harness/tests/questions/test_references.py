# SPDX-License-Identifier: Apache-2.0
"""Evidence knows what its ratios are over; nothing that takes evidence is told the reference a second time."""

from __future__ import annotations

import ast
from pathlib import Path

from harness.project import find_root

#: What has a reference of its own.
OWNERS = ("Evidence", "Warm", "Case", "Sweep", "AsPublished", "Comparison", "PowerCurve")
PACKAGES = ("questions", "evidence", "figures", "publish")


def told_twice(path: Path) -> list[str]:
    """The functions of a file with a parameter ``reference`` beside one that has a reference."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        parameters = [*node.args.args, *node.args.kwonlyargs]
        types = [ast.unparse(one.annotation) for one in parameters if one.annotation is not None]
        owner = any(name in words for words in types for name in OWNERS)
        if owner and any(one.arg == "reference" for one in parameters):
            found.append(f"{path.name}: {node.name}")
    return found


def test_no_function_of_evidence_takes_a_reference_beside_it() -> None:
    files = [path for name in PACKAGES for path in sorted((find_root() / "harness" / name).rglob("*.py"))]
    assert len(files) > 40
    assert [line for path in files for line in told_twice(path)] == []
