# SPDX-License-Identifier: Apache-2.0
"""What set-up compiles of this project's own C: the load generator that never sleeps.

What is built stands in a folder that is named after its source, so what was built of an older one is never used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .catalogue import as_tool, wanted
from .tool import Surroundings, Tool

#: A warning is an error: nobody would read it in the middle of a set-up.
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
_HARNESS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True, slots=True)
class NativeSource:
    """One C file: the flags and libraries that it is compiled with, and the file that comes of it."""

    name: str
    title: str
    source: Path
    flags: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    file: str

    def built(self, tools: Path, source: Path | None = None) -> Path:
        """Return where what is built of a source for this kind of machine is, or is to be, below ``.tools``.

        Raises OSError: the source cannot be read.
        """
        digest = hashlib.sha256("\0".join((os.uname().machine, *self.flags, "")).encode())
        digest.update((source or self.source).read_bytes())
        return tools / f"{self.name}-{digest.hexdigest()[:16]}" / self.file


METRONOME = NativeSource(
    name="metronome",
    title="the load generator metronome",
    source=_HARNESS / "loadgen" / "tools" / "metronome.c",
    flags=("-std=c11", "-O2", *STRICT),
    libraries=("-lm",),
    file="metronome",
)
NATIVE: Mapping[str, NativeSource] = {METRONOME.name: METRONOME}


def find_native(name: str, around: Surroundings) -> Tool:
    """What is built of the source that stands here; a package without its sources has none.

    Its version is the name of its source.
    """
    row = wanted(name)
    try:
        built = NATIVE[name].built(around.tools)
    except OSError:
        return as_tool(row, around, None, None, "missing")
    if not built.is_file():
        return as_tool(row, around, None, None, "missing")
    return as_tool(row, around, built, built.parent.name.rpartition("-")[2], "ok")
