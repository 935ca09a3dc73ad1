# SPDX-License-Identifier: Apache-2.0
"""Names below ``data/raw`` that reading and writing share, and the one way in which its files are compressed.

The bytes of gzip depend on the library: zlib, zlib-ng and Apple's zlib compress the same text to different bytes.
Records hold hashes of compressed files, and archives hold contents (``harness/store/blocks.py``), so a file that
is compressed again on another machine may differ from its record although nothing is lost. ``probe_sha256`` tells
one library from another.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Protocol

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


class Sink(Protocol):
    """What compressed bytes are written to."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


def write_gzip(pieces: Iterable[bytes], target: Sink) -> None:
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
