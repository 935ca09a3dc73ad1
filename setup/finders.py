# SPDX-License-Identifier: Apache-2.0
"""The finders of ``harness/toolchains``, loaded from their folder.

`import harness` would import the harness's dependencies, which set-up has yet to
install; so the package is loaded under a name of its own.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["PROJECT", "toolchains"]

PROJECT = Path(__file__).resolve().parent.parent


def _load(name: str, folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is not a Python package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from harness import toolchains
else:
    toolchains = _load("rematch_toolchains", PROJECT / "harness" / "toolchains")
