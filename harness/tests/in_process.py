# SPDX-License-Identifier: Apache-2.0
"""Notebooks without a kernel: quick enough to be run in every order of their cells."""

from __future__ import annotations

import json
from pathlib import Path


def execute_in_process(root: Path, notebook: str) -> dict[str, object]:
    """Run a notebook's code cells in this process, without a kernel, and return its namespace."""
    content = json.loads((root / "notebooks" / f"{notebook}.ipynb").read_text("utf-8"))
    namespace: dict[str, object] = {}
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), namespace)  # our own notebooks
    return namespace
