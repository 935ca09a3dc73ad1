# SPDX-License-Identifier: Apache-2.0
"""Notebooks without a kernel: quick enough to be run in every order of their cells."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from harness.publish.generated import PUBLISHING


def execute_in_process(
    root: Path,
    notebook: str,
    changes: Mapping[str, str] | None = None,
    *,
    publishing: bool = True,
    **parameters: object,
) -> dict[str, object]:
    """Run a notebook's code cells in this process, without a kernel, and return its namespace.

    Args:
        publishing: as ``run_all`` runs it; false: as a notebook that a reader opened, which writes nothing.
        changes: text in a cell -> what stands there instead, as a reader of an exercise changes it.
        parameters: values that replace those of the parameters cell.

    Raises:
        AssertionError: a text to be changed stands in no cell.
    """
    content = json.loads((root / "notebooks" / f"{notebook}.ipynb").read_text("utf-8"))
    namespace: dict[str, object] = {}
    todo = dict(changes or {})
    with patch.dict(os.environ, {PUBLISHING: "1" if publishing else "0"}):
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
