# SPDX-License-Identifier: Apache-2.0
"""Notebooks without a kernel, which is quick."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

from harness.publish.generated import GENERATED, PUBLISHING


def execute_in_process(
    root: Path, notebook: str, *, publishing: bool = True, **parameters: object
) -> dict[str, object]:
    """Run a notebook's code cells in this process, without a kernel, and return its namespace."""
    content = json.loads((root / "notebooks" / f"{notebook}.ipynb").read_text("utf-8"))
    namespace: dict[str, object] = {}
    with patch.dict(os.environ, {PUBLISHING: str(root / GENERATED) if publishing else ""}):
        for cell in content["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), namespace)  # our own notebooks
                if "parameters" in cell["metadata"].get("tags", ()):
                    namespace |= parameters
    return namespace


class Shell:
    """A notebook in an IPython shell of this process: its cells, displayed as a kernel displays them."""

    def __init__(self, root: Path, notebook: str, **parameters: object) -> None:
        content = json.loads((root / "notebooks" / f"{notebook}.ipynb").read_text("utf-8"))
        self.cells: list[dict[str, Any]] = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        #: Number of a cell that was executed -> what it displayed the last time.
        self.displayed: dict[int, str] = {}
        self._root, self._parameters = root, parameters

    def __enter__(self) -> Shell:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        quiet = Config({"HistoryManager": {"enabled": False}})
        self._shell = InteractiveShell.instance(
            config=quiet, ipython_dir=str(self._root / ".ipython"), user_ns={}
        )
        return self

    def __exit__(self, *_: object) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        InteractiveShell.clear_instance()

    def execute(self) -> None:
        """Execute the cells in their order."""
        from IPython.core.displayhook import CapturingDisplayHook
        from IPython.utils.capture import capture_output

        for number, cell in enumerate(self.cells):
            results: list[dict[str, Any]] = []
            self._shell.display_trap.hook = CapturingDisplayHook(  # type: ignore[no-untyped-call]  # IPython has no types
                shell=self._shell, outputs=results
            )
            with patch.dict(os.environ, {PUBLISHING: str(self._root / GENERATED)}), capture_output() as said:
                ended = self._shell.run_cell("".join(cell["source"]))  # type: ignore[no-untyped-call]  # nor has this
                ended.raise_error()
            if "parameters" in cell["metadata"].get("tags", ()):
                self._shell.user_ns.update(self._parameters)
            shown = (
                data.get("text/plain", "")
                for data in (*(output.data for output in said.outputs), *(one["data"] for one in results))
            )
            self.displayed[number] = "\n".join(filter(None, (said.stdout, *shown)))
