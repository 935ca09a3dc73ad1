# SPDX-License-Identifier: Apache-2.0
"""The gzip of the store: one way to compress a file, and what to do where another library gives other bytes.

The bytes of gzip depend on the library: zlib, zlib-ng and Apple's zlib compress the same text to different bytes.
Records hold hashes of compressed files, and archives hold contents (``harness/store/blocks.py``), so a file that
is compressed again on another machine may differ from its record although nothing is lost. ``probe_sha256`` tells
one library from another; ``OtherBytes`` says of files that were unpacked with another one what their records name.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Protocol

from harness.model.base import Frozen

#: Endings of files that are compressed already.
COMPRESSED = (".gz", ".jfr", ".zip", ".xz", ".zst")
_LEVEL = 6
#: Pieces of this size are given to the library wherever a file is compressed: some libraries' bytes depend on it.
PIECE_BYTES = 1 << 20
_PROBE_LINES = 40_000


class Source(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes: ...


class Sink(Protocol):
    """What compressed bytes are written to."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


class Recompressed(Frozen):
    """A file that was compressed again to other bytes than its record names; ``recorded_*`` are the record's."""

    sha256: str
    bytes: int
    recorded_sha256: str
    recorded_bytes: int


class OtherBytes(Frozen):
    """``recompressed.json`` of an unpacked session: the library, and by name the files that it compressed otherwise."""

    library: str
    files: dict[str, Recompressed]


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


def pieces_of(source: Source) -> Iterator[bytes]:
    """Yield what is left of a stream, ``PIECE_BYTES`` at a time."""
    return iter(lambda: source.read(PIECE_BYTES), b"")


def library() -> str:
    """Return the version that the loaded zlib gives itself, such as ``1.2.13`` or ``1.3.1.zlib-ng``."""
    return zlib.ZLIB_RUNTIME_VERSION


def probe_sha256() -> str:
    """Return the SHA-256 of a fixed text of half a megabyte as the library here compresses it.

    It is the same for libraries that compress alike, and differs for those that search matches differently.
    """
    made = io.BytesIO()
    write_gzip([_probe()], made)
    return hashlib.sha256(made.getvalue()).hexdigest()


@cache
def _probe() -> bytes:
    """Numbers in columns, as in samples, with repeats at many distances."""
    return b"".join(b"%d,%d,%d\n" % (n, n * n % 9973, n * 7919 % 89) for n in range(_PROBE_LINES))
