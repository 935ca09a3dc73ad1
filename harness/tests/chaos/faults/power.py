# SPDX-License-Identifier: Apache-2.0
"""What a disk may hold after a loss of power: what was synced, and of everything later any part.

While a session runs, each of its calls of ``os.fsync`` is recorded: of a file its content, of a folder its entries.
When it was killed, the folder is made again from these records. Every folder has the entries of its last sync, or, by
the toss of a coin, those that it had in the end; every file has the content of its last sync, or that of the end, or a
first part of that. So names and contents that were written without a sync are lost, kept or torn, in any order.

This is stricter than journaling file systems, which sync more than they are asked to. It shows what the harness's own
process asked for; it does not show that the kernel or the disk obeys, and files that other programs write (services,
load tools) only count from the moment at which the harness syncs them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
from pathlib import Path

_FILES, _FOLDERS = "files", "folders"


def record_syncs(below: Path, record: Path) -> None:
    """Record, from now on, what this process syncs below a folder. What is there already counts as synced."""
    for name in (_FILES, _FOLDERS):
        (record / name).mkdir(parents=True, exist_ok=True)
    for folder, _, names in os.walk(below):
        _note(Path(folder), record)
        for name in names:
            _note(Path(folder, name), record)
    sync, start = os.fsync, f"{below}{os.sep}"

    def recorded(descriptor: int) -> None:
        sync(descriptor)
        link = Path(f"/proc/self/fd/{descriptor}")
        place = os.readlink(link)
        if place == str(below) or place.startswith(start):
            _note(link, record)

    os.fsync = recorded  # type: ignore[assignment]  # it takes what the harness gives it: a number


def lose_power(below: Path, record: Path, rng: random.Random) -> None:
    """Make a folder what a disk may hold of it: see above. Whoever wrote into it has ended."""
    left = record / "left"
    shutil.rmtree(left, ignore_errors=True)
    now = {path.stat().st_ino: path for path in (below, *below.rglob("*"))}
    _make(below.stat().st_ino, left, now, record, rng)
    for path in below.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in left.iterdir():
        shutil.move(path, below / path.name)


def _note(path: Path, record: Path) -> None:
    """Keep what a file or folder holds now, under the number of its inode."""
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        kept, content = record / _FOLDERS / str(about.st_ino), json.dumps(_entries(path)).encode()
    else:
        kept, content = record / _FILES / str(about.st_ino), path.read_bytes()
    fresh = kept.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(kept)


def _entries(folder: Path) -> dict[str, tuple[int, bool]]:
    """Name -> inode, and whether it is a folder."""
    with os.scandir(folder) as found:
        return {entry.name: (entry.inode(), entry.is_dir(follow_symlinks=False)) for entry in found}


def _make(inode: int, into: Path, now: dict[int, Path], record: Path, rng: random.Random) -> None:
    into.mkdir(parents=True)
    kept, here = record / _FOLDERS / str(inode), now.get(inode)
    entries = json.loads(kept.read_bytes()) if kept.is_file() else {}
    if here is not None and here.is_dir() and rng.random() < 0.5:
        entries = _entries(here)
    for name, (number, is_folder) in sorted(entries.items()):
        if is_folder:
            _make(number, into / name, now, record, rng)
        else:
            (into / name).write_bytes(_content(number, now, record, rng))


def _content(inode: int, now: dict[int, Path], record: Path, rng: random.Random) -> bytes:
    kept, here = record / _FILES / str(inode), now.get(inode)
    synced = kept.read_bytes() if kept.is_file() else b""
    written = here.read_bytes() if here is not None and here.is_file() else synced
    if written == synced:
        return synced
    torn = written[: rng.randrange(len(synced), len(written) + 1)] if len(written) > len(synced) else written
    return rng.choice((synced, written, torn))
