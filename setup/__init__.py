# SPDX-License-Identifier: Apache-2.0
"""Set-up: from nothing but git, make, Python and the package registries to a machine that can measure.

Standard library only. `import harness` would import dependencies that set-up has yet to install; so the parts that it
needs are loaded from their files, each under a name of its own.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

PROJECT = Path(__file__).resolve().parent.parent


def _load(name: str, file: Path) -> ModuleType:
    """Load a module, or a package by its ``__init__.py``, as ``name``."""
    folder = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folder)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# before any module is imported that Windows lacks
_load("rematch_platforms", PROJECT / "harness" / "agent" / "platforms.py").refuse_windows()

if TYPE_CHECKING:
    from harness import toolchains
else:
    toolchains = _load("rematch_toolchains", PROJECT / "harness" / "toolchains" / "__init__.py")

__all__ = ["PROJECT", "toolchains"]
