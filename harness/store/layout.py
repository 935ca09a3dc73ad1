# SPDX-License-Identifier: Apache-2.0
"""Names below ``data/raw`` that reading and writing share, the one way in which its files are compressed, and bytes
that are on the disk when a call returns.

The bytes of gzip depend on the library: zlib, zlib-ng and Apple's zlib compress the same text to different bytes.
Records hold hashes of compressed files, and archives hold contents (``harness/store/blocks.py``), so a file that
is compressed again on another machine may differ from its record although nothing is lost. ``probe_sha256`` tells
one library from another.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.errors import StoreError

RAW = Path("data") / "raw"
BUNDLED = "bundled"
HEADER = "session.json"
BUILDS = "builds.json"
ECHO = "echo.json"
CALIBRATION = "calibration.json"
MEMORY = "memory.json"
EVENTS = "events.jsonl"
RECORD = "record.json"
LOCK = ".lock"
PARTIAL = ".partial-"
INTERRUPTED = ".interrupted"

#: Endings of files that are compressed already.
COMPRESSED = (".gz", ".jfr", ".zip", ".xz", ".zst")
#: Pieces of this size are given to the library wherever a file is compressed: some libraries' bytes depend on it.
PIECE_BYTES = 1 << 20
_LEVEL = 6
#: Below this a trial is not begun: its files and its record must fit.
MIN_FREE_BYTES = 64 * 1024 * 1024


def write_gzip(pieces: Iterable[bytes], target: IO[bytes]) -> None:
    """Compress pieces as one file. mtime 0 and no name inside: the same content gives the same file."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=_LEVEL, mtime=0) as stream:
        waiting = bytearray()
        for piece in pieces:
            waiting += piece
            while len(waiting) >= PIECE_BYTES:
                stream.write(bytes(waiting[:PIECE_BYTES]))
                del waiting[:PIECE_BYTES]
        stream.write(bytes(waiting))


def pieces_of(source: IO[bytes]) -> Iterator[bytes]:
    """Yield what is left of a stream, ``PIECE_BYTES`` at a time."""
    return iter(lambda: source.read(PIECE_BYTES), b"")


def probe_sha256() -> str:
    """Return the SHA-256 of half a megabyte of columns of numbers as the library here compresses it."""
    text = b"".join(b"%d,%d,%d\n" % (n, n * n % 9973, n * 7919 % 89) for n in range(40_000))
    result = io.BytesIO()
    write_gzip([text], result)
    return hashlib.sha256(result.getvalue()).hexdigest()


def replace(path: Path, content: bytes) -> None:
    """Give a file its content, whole or not at all.

    Raises:
        StoreError: it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.new")
    with explained(path):
        write_synced(fresh, content)
        fresh.rename(path)
        sync(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def sync(path: Path) -> None:
    """Put a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
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
        sync(above)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the system says about a full or read-only disk into one line with what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise no_space(path) from error
        problem = error.strerror or error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            problem = f"cannot be written ({problem}); make data/raw writable for you, then give the same command again"
        raise StoreError(f"{path}: {problem}; finished trials are kept") from error


def free_bytes(path: Path) -> int:
    """Return the free bytes where ``path`` will stand; its nearest folder that exists decides."""
    folder = next(parent for parent in (path, *path.parents) if parent.exists())
    return shutil.disk_usage(folder).free


def no_space(path: Path) -> StoreError:
    """Return the error of a disk that has no room for a trial."""
    return StoreError(
        f"{path}: no space left ({free_bytes(path) / 2**20:.1f} MiB free, {MIN_FREE_BYTES >> 20} MiB required for a "
        "trial); free some, then run the same command again: finished trials are kept"
    )
