# SPDX-License-Identifier: Apache-2.0
"""What files and folders hold: their hash, their size."""

from __future__ import annotations

import hashlib
from pathlib import Path

_CHUNK_BYTES = 1 << 20


def file_sha256(file: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        for chunk in iter(lambda: stream.read(_CHUNK_BYTES), b""):
            digest.update(chunk)
    return digest.hexdigest()


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below ``folder``; links count as nothing."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
