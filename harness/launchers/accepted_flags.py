# SPDX-License-Identifier: Apache-2.0
"""Flags that JVMs of this machine have started with, kept from one command to the next: asking takes a JVM each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FILE = Path(".cache") / "jvm-flags.json"


class AcceptedFlags:
    """Accepted flags by JVM, in a file below the project. A refusal is never kept: it is worth asking again.

    A JVM is its path with the size and time of its program, so one that is replaced is asked anew. A file that
    cannot be read or written costs time and nothing else.
    """

    def __init__(self, root: Path) -> None:
        self._file = root / FILE
        self._known: dict[str, list[str]] = {}
        with suppress(OSError, ValueError):
            self._known = dict(json.loads(self._file.read_text("utf-8")))

    def has(self, java: Path, flags: Sequence[str]) -> bool:
        return " ".join(flags) in self._known.get(_jvm(java), [])

    def add(self, java: Path, flags: Sequence[str]) -> None:
        self._known.setdefault(_jvm(java), []).append(" ".join(flags))
        with suppress(OSError):
            self._file.parent.mkdir(exist_ok=True)
            fresh = self._file.with_suffix(".new")
            fresh.write_text(json.dumps(self._known, indent=1), "utf-8")
            fresh.replace(self._file)


def _jvm(java: Path) -> str:
    with suppress(OSError):
        result = java.stat()
        return f"{java} {result.st_size} {result.st_mtime_ns}"
    return str(java)
