# SPDX-License-Identifier: Apache-2.0
"""What files and folders hold: their hash, their size."""

from __future__ import annotations

import hashlib
from pathlib import Path


def file_sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below ``folder``; links count as nothing."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
