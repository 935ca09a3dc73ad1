# SPDX-License-Identifier: Apache-2.0
"""What files and folders hold: their hash, their size."""

from __future__ import annotations

import hashlib
from pathlib import Path

#: Below what malloc maps for itself and gives back: a larger buffer stays with each thread that ever had one.
CHUNK_BYTES = 1 << 16


def file_sha256(file: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with file.open("rb", buffering=0) as stream:
        while True:
            n = stream.readinto(buffer)
            if not n:
                break
            digest.update(buffer[:n])
    return digest.hexdigest()


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below ``folder``; links count as nothing."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
