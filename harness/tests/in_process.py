# SPDX-License-Identifier: Apache-2.0
"""Notebooks without a kernel: quick enough to be run in every order of their cells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def execute_in_process(
    root: Path, notebook: str, changes: Mapping[str, str] | None = None, **parameters: object
) -> dict[str, object]:
    """Run a notebook's code cells in this process, without a kernel, and return its namespace.

    Args:
        changes: text in a cell -> what stands there instead, as a reader of an exercise changes it.
        parameters: values that replace those of the parameters cell.

    Raises:
        AssertionError: a text to be changed stands in no cell.
    """
    content = json.loads((root / "notebooks" / f"{notebook}.ipynb").read_text("utf-8"))
    namespace: dict[str, object] = {}
    todo = dict(changes or {})
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            for old in [old for old in todo if old in source]:
                source = source.replace(old, todo.pop(old))
            exec(source, namespace)  # our own notebooks
            if "parameters" in cell["metadata"].get("tags", ()):
                namespace |= parameters
    assert not todo, f"not in {notebook}: {', '.join(todo)}"
    return namespace
