# SPDX-License-Identifier: Apache-2.0
"""Parts of the harness that run on a bare Python, loaded from their files.

`import harness` would import the harness's dependencies, which set-up has yet to
install; so such a part is loaded under a name of its own.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PROJECT = Path(__file__).resolve().parent.parent


def load(name: str, file: Path) -> ModuleType:
    """Load a module, or a package by its ``__init__.py``, as ``name``.

    Raises:
        ImportError: it is not there.
    """
    folder = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folder)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
