# SPDX-License-Identifier: Apache-2.0
"""Files of the kernel that are read again and again: opened once, because to open one costs more than to read it."""

from __future__ import annotations

import os
from pathlib import Path

#: More than ``/proc/stat`` of a large machine, and little enough to come from memory that is there already.
_MOST_BYTES = 1 << 16


class HeldFile:
    """One such file. What is not there, or not for us, says nothing: an old kernel, or a group that is gone."""

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(str(path), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def read(self) -> str:
        """Return what it says now; nothing when it cannot be read."""
        if self._descriptor < 0:
            return ""
        try:
            return os.pread(self._descriptor, _MOST_BYTES, 0).decode("ascii", "replace")
        except OSError:
            return ""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


__all__ = ["HeldFile"]
