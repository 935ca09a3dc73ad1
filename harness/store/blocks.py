# SPDX-License-Identifier: Apache-2.0
"""How an archive packs the contents of many files together: blocks of xz, and a list of what they hold.

Files of one kind are alike from trial to trial, so that they are compressed best one after the other. A block is
the contents of such files, concatenated and compressed as one xz stream; it is an entry of the archive below
``.packed/``, beside ``.packed/contents.json.xz``, which says of each block the files, in order, with their sizes.
Of a file whose name ends in ``.gz`` the block has the decompressed content, and the list has size and SHA-256 of the
compressed file: packing made sure that ``write_gzip`` gives these very bytes.

Earlier versions of this program left out hashes that the record of the trial has, and wrote a block of tables
(``.csv``, ``.jtl``) as columns where that made it smaller (``harness/store/columns.py``): both are read.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterable, Iterator
from typing import IO, Annotated, Literal

from pydantic import Field, ValidationError

from harness.model.base import Frozen
from harness.store.columns import MOST_TIMES, from_columns
from harness.store.layout import PIECE_BYTES, pieces_of

#: Where blocks and their list lie in an archive; no file of a session has a name below it.
FOLDER = ".packed/"
CONTENTS = FOLDER + "contents.json.xz"
VERSION = 4
#: Files are added to a block up to this size of their contents; a larger file has a block of its own.
BLOCK_BYTES = 4 << 20
#: No block of several files is larger, so that it can be held in memory.
MAX_SHARED_BYTES = 16 << 20
#: A list of so many files is smaller than the bytes that it is given.
MAX_FILES = 100_000
MAX_CONTENTS_BYTES = 32 << 20
_DICTIONARY_BYTES = 8 << 20
#: What decompressing may take: the dictionary, and something for the decoder itself.
_DECODER_BYTES = _DICTIONARY_BYTES + (4 << 20)
_Size = Annotated[int, Field(ge=0)]
_Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Damaged(ValueError):
    """Packed contents that are not what their list says, or ask for what no session does."""


class Gzip(Frozen):
    """A compressed file as it lay in the session's folder; ``sha256`` is ``None`` where its trial's record has it."""

    bytes: _Size
    sha256: _Sha256 | None = None


class PackedFile(Frozen):
    """A file of a block: its name in the session, and the size of its content."""

    name: str
    bytes: _Size
    gzip: Gzip | None = None

    @property
    def stored_bytes(self) -> int:
        """The size of the file in the session's folder."""
        return self.bytes if self.gzip is None else self.gzip.bytes


class Block(Frozen):
    """One block: the name of its entry, size and SHA-256 of its contents, and the files in their order."""

    entry: str
    bytes: _Size
    sha256: _Sha256
    columns: Literal[True] | None = None
    files: tuple[PackedFile, ...]


class Contents(Frozen):
    """The list of all blocks. ``gzip_probe`` tells the library that compressed the ``.gz`` files."""

    version: Annotated[int, Field(ge=1, le=VERSION)]
    gzip_probe: _Sha256
    blocks: tuple[Block, ...]


def read_contents(data: bytes) -> Contents:
    """Return the list of an archive's blocks.

    Raises:
        Damaged: it is none, or one of a later version of this program.
    """
    try:
        contents = Contents.model_validate_json(b"".join(decompressed([data], MAX_CONTENTS_BYTES)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        parts = ("list of packed contents", ".".join(map(str, first["loc"])), first["msg"])
        raise Damaged(": ".join(filter(None, parts))) from None
    if sum(len(block.files) for block in contents.blocks) > MAX_FILES:
        raise Damaged(f"list of packed contents: more than {MAX_FILES} files")
    for block in contents.blocks:
        most = BLOCK_BYTES if block.columns else MAX_SHARED_BYTES
        if sum(file.bytes for file in block.files) != block.bytes:
            raise Damaged(
                f"list of packed contents: {block.entry}: sizes of files do not add up to the block's"
            )
        if (block.columns or len(block.files) > 1) and block.bytes > most:
            raise Damaged(f"list of packed contents: {block.entry}: more than {most} bytes")
    return contents


def compressed(data: bytes) -> bytes:
    """Return data as one xz stream.

    Literals are told apart by the four high bits of the byte before, and positions are not: that is best for text.
    """
    return lzma.compress(data, lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=[{
        "id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0,
        "dict_size": min(max(len(data), 4096), _DICTIONARY_BYTES),
    }])  # fmt: skip


def decompressed(pieces: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    """Yield what one xz stream holds, in pieces of at most ``PIECE_BYTES``.

    Raises:
        Damaged: it is no xz stream, is cut or followed by something, asks for more memory than a block does,
            or holds more than ``most_bytes``; what exceeds them is not decompressed.
    """
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_DECODER_BYTES)
    source = iter(pieces)
    left = most_bytes
    while not decoder.eof:
        data = next(source, None) if decoder.needs_input else b""
        if data is None:
            raise Damaged("the xz stream is cut")
        try:
            piece = decoder.decompress(data, max_length=min(left + 1, PIECE_BYTES))
        except lzma.LZMAError as error:
            raise Damaged(f"xz: {error}") from None
        left -= len(piece)
        if left < 0:
            raise Damaged(f"more than {most_bytes} bytes when decompressed")
        if piece:
            yield piece
    if decoder.unused_data or next(source, b""):
        raise Damaged("something follows the xz stream")


def pieces_of_block(block: Block, source: IO[bytes]) -> Iterator[bytes]:
    """Yield the contents of a block in pieces; the last one only when all are those of the list.

    Raises:
        Damaged: as ``decompressed``, or its size or its SHA-256 is not that of the list.
    """
    digest = hashlib.sha256()
    size, waiting = 0, b""
    pieces = decompressed(pieces_of(source), block.bytes * (MOST_TIMES if block.columns else 1))
    if block.columns:
        data = b"".join(pieces)
        try:
            pieces = iter([from_columns(data, block.bytes)])
        except (ValueError, LookupError, ArithmeticError):
            raise Damaged("columns that cannot be read") from None
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        if waiting:
            yield waiting
        waiting = piece
    if size != block.bytes or digest.hexdigest() != block.sha256:
        raise Damaged("its contents are not those of the list")
    yield waiting
