# SPDX-License-Identifier: Apache-2.0
"""A used copy of a folder made like the original again: only what differs is written.

A database's data folder has more than a thousand files, and a short trial changes some thirty of them.
Making the files anew costs seconds on a busy disk, and their writing back would fall into the next
measurement. Whatever was written to has a new time of change, so size and time tell what differs;
the copy must have been made with its times (``cp -a``).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def restore(original: Path, copy: Path) -> int:
    """Make ``copy`` equal to ``original``; return how many files were written.

    Whatever is in the copy alone is removed. New files get the owner of the copy's folder.

    Raises:
        OSError: it could not be done; the copy is then of no use.
    """
    owner = copy.stat()
    written = 0
    with os.scandir(copy) as entries:
        extra = {entry.name for entry in entries}
    with os.scandir(original) as entries:
        for entry in entries:
            extra.discard(entry.name)
            target = copy / entry.name
            if entry.is_dir(follow_symlinks=False):
                if not target.is_dir():
                    target.mkdir(mode=entry.stat().st_mode & 0o777)
                    os.chown(target, owner.st_uid, owner.st_gid)
                written += restore(Path(entry.path), target)
            elif _differs(entry, target):
                shutil.copyfile(entry.path, target)
                os.chown(target, owner.st_uid, owner.st_gid)
                shutil.copystat(entry.path, target)
                written += 1
    for name in extra:
        gone = copy / name
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone)
        else:
            gone.unlink()
    return written


def _differs(entry: os.DirEntry[str], target: Path) -> bool:
    then = entry.stat()
    try:
        now = target.stat()
    except FileNotFoundError:
        return True
    return (then.st_size, then.st_mtime_ns) != (now.st_size, now.st_mtime_ns)
