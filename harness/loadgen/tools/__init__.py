# SPDX-License-Identifier: Apache-2.0
"""One folder a load tool. Its ``adapter.py`` makes the adapter of what is installed: ``adapter(installed)``."""

from __future__ import annotations

from importlib import import_module

from harness.loadgen.base import Installed, LoadGenerator


def adapter_of(name: str, installed: Installed) -> LoadGenerator:
    """Return the adapter of a tool of ``harness.model.LOAD_TOOLS``; its module is loaded when it is asked for."""
    made: LoadGenerator = import_module(f"{__name__}.{name}.adapter").adapter(installed)
    return made
