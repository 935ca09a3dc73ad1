# SPDX-License-Identifier: Apache-2.0
"""Notebook files as the planner sees them: code cells, what they declare, and which modules they lean on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.import_closure import behind, closure, imports

FOLDER = Path("notebooks")
#: Notebooks from this number on analyse; the ones before check, measure and tidy.
FIRST_ANALYSIS = 29


@dataclass(frozen=True)
class NotebookFile:
    """One notebook of the project. ``metadata.rematch`` may declare ``experiments``, ``optional``, ``title``."""

    path: Path

    @property
    def name(self) -> str:
        """The name without its ending, such as ``30-strings``."""
        return self.path.stem

    @cached_property
    def content(self) -> dict[str, Any]:
        """The file's JSON.

        Raises:
            InputError: not a notebook.
        """
        try:
            content = json.loads(self.path.read_text("utf-8"))
            cells = content["cells"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a notebook ({error})", file=self.path) from None
        return {**content, "cells": cells}

    @property
    def code_cells(self) -> tuple[str, ...]:
        """The source of every code cell."""
        return tuple("".join(c["source"]) for c in self.content["cells"] if c["cell_type"] == "code")

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments without which this notebook has nothing to say."""
        return tuple(self._declared.get("experiments", ()))

    @property
    def optional(self) -> tuple[str, ...]:
        """The experiments it speaks of where they were chosen; without ``experiments`` it needs one of them."""
        return tuple(self._declared.get("optional", ()))

    @property
    def needs_none(self) -> bool:
        """Whether it has something to say without any experiment: its list of ``experiments`` is there and empty."""
        return self._declared.get("experiments") == []

    @property
    def _declared(self) -> dict[str, Any]:
        declared: dict[str, Any] = self.content.get("metadata", {}).get("rematch", {})
        return declared

    @property
    def code_sha256(self) -> str:
        """A hash of the code cells alone: prose may be mended without measuring anything again."""
        return hashlib.sha256("\0".join(self.code_cells).encode()).hexdigest()

    def imported(self, root: Path) -> tuple[str, ...]:
        """Return the modules of this project that the cells import, and all that those import in turn."""
        results: set[str] = set()
        for source in self.code_cells:
            for module, names in imports(source):
                results |= set(behind(root, module, names))
        return closure(root, results)


def analysis_notebooks(root: Path) -> tuple[NotebookFile, ...]:
    """Return the notebooks that analyse, in the order of their numbers. A new one needs no registration."""
    results = [
        NotebookFile(path)
        for path in sorted((root / FOLDER).glob("[0-9][0-9]-*.ipynb"))
        if int(path.name[:2]) >= FIRST_ANALYSIS
    ]
    return tuple(results)
