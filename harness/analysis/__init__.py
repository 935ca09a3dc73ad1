# SPDX-License-Identifier: Apache-2.0
"""What the trials say: tables, estimates, comparisons. Sees the store and the model, never the measuring side.

The public names are listed in ``__init__.pyi``. Each is loaded when it is first used: a report on one file needs no
table of laws, no plots.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


@cache
def _homes() -> dict[str, str]:
    """Return public name -> the module that it is imported from in the stub file."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_homes())
    if name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})
