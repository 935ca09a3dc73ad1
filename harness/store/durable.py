# SPDX-License-Identifier: Apache-2.0
"""Bytes that are on the disk when a call returns, and one line with what to do when the disk will not."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import StoreError

#: Below this a trial is not begun: its files and its record must fit.
MIN_FREE_BYTES = 64 * 1024 * 1024


def replace(path: Path, content: bytes) -> None:
    """Give a file its content, whole or not at all.

    Raises:
        StoreError: it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.new")
    with explained(path):
        write_synced(fresh, content)
        fresh.rename(path)
        sync_folder(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def sync_file(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder with those above it, so that a loss of power does not take what is synced in it later.

    The two folders above are synced whoever made them: an earlier start may have been killed in between.
    """
    missing = [item for item in (folder, *folder.parents) if not item.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for above in {folder.parent, folder.parent.parent, *(item.parent for item in missing)}:
        sync_folder(above)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the system says about a full or read-only disk into one line with what to do."""
    try:
        yield
    except OSError as error:
        raise StoreError(_explain(path, error)) from error


def _explain(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return no_space(path, _free_bytes(path))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return (
            f"{path}: cannot be written ({error.strerror}); make data/raw writable for you, "
            "then give the same command again: finished trials are kept"
        )
    return f"{path}: {error.strerror or error}; finished trials are kept"


def _free_bytes(path: Path) -> int:
    """Free bytes where ``path`` will stand; its nearest folder that exists decides."""
    folder = next(parent for parent in (path, *path.parents) if parent.exists())
    return shutil.disk_usage(folder).free


def no_space(path: Path, free: int) -> str:
    return (
        f"{path}: no space left ({free / 2**20:.1f} MiB free, {MIN_FREE_BYTES >> 20} MiB required for a trial); "
        "free some, then run the same command again: finished trials are kept"
    )
