# SPDX-License-Identifier: Apache-2.0
"""One module a load tool, which makes the adapter of what is installed: ``adapter(installed)``."""

from __future__ import annotations

from importlib import import_module

from harness.loadgen.base import Installed, LoadGenerator


def adapter_of(name: str, installed: Installed) -> LoadGenerator:
    """Return the adapter of a tool of ``harness.model.LOAD_TOOLS``; its module is loaded when it is asked for."""
    made: LoadGenerator = import_module(f"{__name__}.{name}").adapter(installed)
    return made
