# SPDX-License-Identifier: Apache-2.0
"""Files and folders: their hashes, their size, and those that go with an agent."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

#: Below the agent's folder: a file per folder that stands elsewhere and goes with it, with its path.
SCRATCH = "scratch"


def remove_scratch(notes: Path) -> None:
    """Remove the folders that these notes name; a process that worked in one may take a moment to end."""
    for note in notes.glob("*"):
        folder = note.read_text()
        for _ in range(10):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                note.unlink()
                break
            time.sleep(0.1)


#: Below what malloc maps for itself and gives back: a larger buffer stays with each thread that ever had one.
CHUNK_BYTES = 1 << 16


def file_sha256(file: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with file.open("rb", buffering=0) as stream:
        while n := stream.readinto(buffer):
            digest.update(buffer[:n])
    return digest.hexdigest()


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below ``folder``; links count as nothing."""
    return sum(path.stat().st_size for path in files_below(folder))


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every plain file below a folder."""
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
