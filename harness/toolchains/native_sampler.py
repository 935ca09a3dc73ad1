# SPDX-License-Identifier: Apache-2.0
"""The library that takes the sampler's ticks: its source, and where set-up puts what it builds of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .catalogue import wanted
from .probe import as_tool
from .tool import Surroundings, Tool

GLANCES_SOURCE = Path(__file__).resolve().parents[1] / "sampling" / "native" / "ticks.c"
#: A warning is an error: nobody would read it in the middle of a set-up.
GLANCES_FLAGS = (
    *("-std=c11", "-O2", "-fPIC", "-shared"),
    *("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"),
)


def tick_library(tools: Path, source: Path = GLANCES_SOURCE) -> Path:
    """Where the library of this source for this kind of machine is, or is to be, below ``.tools``.

    Another source has another place, so what was built of an older one is never loaded.

    Raises:
        OSError: the source cannot be read.
    """
    digest = hashlib.sha256("\0".join((os.uname().machine, *GLANCES_FLAGS, "")).encode())
    digest.update(source.read_bytes())
    return tools / f"glances-{digest.hexdigest()[:16]}" / "glances.so"


def find_tick_library(around: Surroundings) -> Tool:
    """The library of the source that stands here; a package without its sources has none."""
    row = wanted("glances")
    try:
        library = tick_library(around.tools)
    except OSError:
        return as_tool(row, around, None, None, "missing")
    there = library.is_file()
    return as_tool(row, around, library if there else None, None, "ok" if there else "missing")
