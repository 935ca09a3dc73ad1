# SPDX-License-Identifier: Apache-2.0
"""Files and folders, which the agent makes, reads, lists and removes."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import HostError

#: Below the agent's folder: a file per folder that stands elsewhere and goes with it, with its path.
SCRATCH = "scratch"


class FileHandlers:
    """The part of the orders that is about files. ``folder`` is the agent's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / SCRATCH).mkdir()
        (folder / "work").mkdir()

    def do_read(self, path: str, last_bytes: int | None) -> dict[str, Any]:
        with open(path, "rb") as stream:
            if last_bytes is not None:
                stream.seek(max(0, stream.seek(0, 2) - last_bytes))
            return {"content": base64.b64encode(stream.read()).decode()}

    def do_make_folder(self, name: str, wanted_bytes: int) -> dict[str, Any]:
        folder = self._folder / "work" / name
        free = shutil.disk_usage(str(self._folder)).free
        if free < wanted_bytes:
            raise HostError(
                f"{free / 2**20:.0f} MiB are left in {self._folder}, and a trial may need "
                f"{wanted_bytes / 2**20:.0f} MiB; make room, or set another folder in hosts.toml"
            )
        folder.mkdir(parents=True)
        return {"folder": str(folder)}

    def do_free_bytes(self) -> dict[str, Any]:
        """Return the bytes that may still be written where trials have their folders."""
        return {"bytes": shutil.disk_usage(str(self._folder)).free}

    def do_scratch(self, parent: str, owner: list[int] | None) -> dict[str, Any]:
        """Make a folder that another user may work in; it goes with this agent."""
        made = tempfile.mkdtemp(prefix="rematch-", dir=parent)
        (self._folder / SCRATCH / os.path.basename(made)).write_text(made)
        if owner is not None:
            os.chown(made, owner[0], owner[1])
        return {"folder": made}

    def do_inventory(self, folder: str) -> dict[str, Any]:
        """Return the hash of every file below, and whether it may be executed."""
        paths = files_below(Path(folder))
        return {str(path.relative_to(folder)): [file_sha256(path), path.stat().st_mode & 0o111] for path in paths}

    def do_adopt(self, part: str, folder: str) -> None:
        """Give a finished folder its name, unless another session was quicker."""
        try:
            os.rename(part, folder)
        except OSError:
            if not os.path.isdir(folder):
                raise
            shutil.rmtree(part, ignore_errors=True)

    def do_remove(self, folder: str) -> None:
        below = os.path.realpath(folder)
        base = os.path.realpath(str(self._folder.parent.parent))
        if not below.startswith(base + os.sep):
            raise HostError(f"{folder} is none of the agent's folders; it is left alone")
        shutil.rmtree(folder, ignore_errors=True)


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
