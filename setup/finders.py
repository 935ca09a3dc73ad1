# SPDX-License-Identifier: Apache-2.0
"""The finders of ``harness/toolchains`` and what it says of platforms, loaded from their files.

`import harness` would import the harness's dependencies, which set-up has yet to
install; so they are loaded under names of their own.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["PROJECT", "platforms", "toolchains"]

PROJECT = Path(__file__).resolve().parent.parent


def _load(name: str, file: Path) -> ModuleType:
    folder = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folder)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from harness import toolchains
    from harness.agent import platforms
else:
    platforms = _load("rematch_platforms", PROJECT / "harness" / "agent" / "platforms.py")
    toolchains = _load("rematch_toolchains", PROJECT / "harness" / "toolchains" / "__init__.py")
