# SPDX-License-Identifier: Apache-2.0
"""Blocks of an archive that lie, grow or lead elsewhere are refused in one line; those in columns give back their text."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import random
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.project import find_root
from harness.store import Archive, Store, archive_of, blocks, layout
from harness.store.blocks import Block, Damaged, pieces_of_block
from harness.tests.support.packed_sessions import listed as contents_of_archive
from harness.tests.support.packed_sessions import seal

#: What the bombs here unpack to; a list and a block may not be so large.
BOMB_BYTES = 96 << 20
_ENTRY = f"{blocks.FOLDER}0001.txt.xz"
_TEXT = b"1,2,3\n" * 1000
_PACKED = zipfile.ZIP_DEFLATED
_SHA256 = hashlib.sha256(_TEXT).hexdigest()
#: In an xz stream with one filter: where its block's header begins, and in that, the size of the dictionary.
_HEADER, _DICTIONARY = 12, 4


@cache
def _probe() -> str:
    return layout.probe_sha256()


def with_blocks(
    original: bytes, contents: object, streams: dict[str, bytes], *, method: int = zipfile.ZIP_STORED
) -> bytes:
    """Return an archive with a list of contents (bytes are taken as they are, ``None``: none) and these entries."""
    made = io.BytesIO(original)
    with warnings.catch_warnings(), zipfile.ZipFile(made, "a") as archive:
        warnings.simplefilter("ignore", UserWarning)  # of an archive that has blocks already
        for name, data in streams.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
        if contents is not None:
            data = contents if isinstance(contents, bytes) else xz(json.dumps(contents).encode())
            archive.writestr(zipfile.ZipInfo(blocks.CONTENTS), data, compress_type=method)
    return made.getvalue()


def xz(data: bytes) -> bytes:
    """Return data as one xz stream."""
    return lzma.compress(data, preset=1)


def listed(*files: dict[str, Any], **block: Any) -> dict[str, Any]:
    """Return a list of one block: sound of its own, with what is given in place of what would be there."""
    there = files or ({"name": "0001-x/a.txt", "bytes": len(_TEXT)},)
    one = {"entry": _ENTRY, "bytes": sum(file["bytes"] for file in there), "sha256": _SHA256, "files": there}
    return {"version": blocks.VERSION, "gzip_probe": _probe(), "blocks": [one | block]}


def _sound(contents: object, stream: bytes | None = None) -> Callable[[bytes], bytes]:
    """An archive that is sound but for its list or its stream."""
    return lambda original: with_blocks(original, contents, {_ENTRY: xz(_TEXT) if stream is None else stream})


def _named(name: str, **more: Any) -> Callable[[bytes], bytes]:
    return _sound(listed({"name": name, "bytes": len(_TEXT)} | more))


def _columns(n_rows: int) -> bytes:
    """The form in columns of so many lines of ``0.000000000``, twelve bytes each."""
    column = {"lag": 1, "order": 0, "planes": 0, "numbers": n_rows, "other_bytes": 0}
    head = json.dumps({"tables": [{"rows": n_rows, "columns": [column]}]}).encode()
    return struct.pack("<I", len(head)) + head + b"\0" * n_rows + b"\x09" * n_rows


@cache
def _zeros() -> bytes:
    return xz(b" " * BOMB_BYTES)


@cache
def _many_files() -> bytes:
    files = ({"name": f"a/{n}", "bytes": 0} for n in range(blocks.MAX_FILES + 1))
    return xz(json.dumps(listed(*files)).encode())


def _large_dictionary() -> bytes:
    """A small stream that asks its reader for 4 GiB."""
    data = bytearray(xz(_TEXT))
    end = _HEADER + 4 * data[_HEADER]  # the header's size in words, its checksum not among them
    data[_HEADER + _DICTIONARY] = 40
    data[end : end + 4] = zlib.crc32(data[_HEADER:end]).to_bytes(4, "little")
    return bytes(data)


Hostile = dict[str, tuple[Callable[[bytes], bytes], str]]
#: What is wrong -> an archive made of another one, in which it is, and what its refusal says. These are refused before
#: a file is written.
LISTS: Hostile = {
    "another version": (_sound({"version": blocks.VERSION + 1, "blocks": "in another way"}), "list of packed contents: version: Input should be less than or equal to 4"),
    "deep": (_sound(xz(b"[" * 100_000)), "list of packed contents"),
    "an unknown key": (_sound(listed(method="zstd")), "list of packed contents: blocks.0.method: Extra inputs are not permitted"),
    "no list": (_sound(None), "no list of packed contents"),
    "no xz": (_sound(b"no xz at all" * 9), "xz: Input format not supported by decoder"),
    "a list that grows": (lambda original: with_blocks(original, _zeros(), {_ENTRY: xz(_TEXT)}), "more than 33554432 bytes when decompressed"),
    "too many files": (lambda original: with_blocks(original, _many_files(), {_ENTRY: xz(_TEXT)}), "more than 100000 files"),
    "a block that is not there": (lambda original: with_blocks(original, listed(), {}), "the blocks are not those of the list"),
    "a block twice": (_sound(listed() | {"blocks": listed()["blocks"] * 2}), "the blocks are not those of the list"),
    "a block that is an entry": (_sound(listed(entry="session.json")), "the blocks are not those of the list"),
    "a packed block": (lambda original: with_blocks(original, listed(), {_ENTRY: xz(_TEXT)}, method=_PACKED), "packed by a method that no session is"),
    "a name outside": (_named("../outside"), "not the name of a file below the session's folder"),
    "a name of archives": (_named(f"{blocks.FOLDER}a"), "a name that archives use themselves"),
    "a name of an entry": (_named("session.json"), "a file that is there twice"),
    "a name twice": (_sound(listed(*[{"name": "a/b", "bytes": 0}] * 2)), "a file that is there twice"),
    "gzip without a hash": (_named("a/b.gz"), "without the hash of its compressed bytes"),
    "a hash without gzip": (_named("a/b", gzip={"bytes": 1, "sha256": _SHA256}), "without the hash of its compressed bytes"),
    "sizes that do not add up": (_sound(listed(bytes=1)), "sizes of files do not add up to the block's"),
    "a large block of several files": (_sound(listed(*({"name": f"a/{n}", "bytes": 9 << 20} for n in "bc"))), "more than 16777216 bytes"),
    "a large file": (_sound(listed({"name": "a/b", "bytes": 1 << 40})), "too large when unpacked"),
    "a large compressed file": (_named("a/b.gz", gzip={"bytes": 1 << 40, "sha256": _SHA256}), "too large when unpacked"),
    "columns of a large block": (_sound(listed({"name": "a/b", "bytes": 9 << 20}, columns=True)), "more than 4194304 bytes"),
}  # fmt: skip
#: These are refused when the block is read; nothing of it is given out.
STREAMS: Hostile = {
    "a stream that grows": (lambda original: with_blocks(original, listed(), {_ENTRY: _zeros()}), "more than 6000 bytes when decompressed"),
    "a large dictionary": (_sound(listed(), _large_dictionary()), "xz: Memory usage limit exceeded"),
    "a cut stream": (_sound(listed(), xz(_TEXT)[:-9]), "the xz stream is cut"),
    "an empty stream": (_sound(listed(), b""), "the xz stream is cut"),
    "two streams": (_sound(listed(), xz(_TEXT) * 2), "something follows the xz stream"),
    "too few bytes": (_sound(listed(), xz(_TEXT[:-1])), "its contents are not those of the list"),
    "other contents": (_sound(listed(), xz(_TEXT[::-1])), "its contents are not those of the list"),
    "no columns": (_sound(listed(columns=True), xz(_TEXT)), "columns that cannot be read"),
    "columns of other contents": (_sound(listed(columns=True), xz(_columns(500))), "its contents are not those of the list"),
    "columns of too much": (_sound(listed(columns=True), xz(_columns(1000))), "its contents are not those of the list"),
}  # fmt: skip


def sealed(path: Path, data: bytes) -> Archive:
    path.write_bytes(data)
    seal(path)
    return Archive(path)


def small() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("session.json", "{}")
    return made.getvalue()


@pytest.mark.parametrize("what", sorted(LISTS))
def test_a_list_that_lies_refuses_the_whole_archive(tmp_path: Path, what: str) -> None:
    make, message = LISTS[what]
    archive = sealed(tmp_path / "bad.zip", make(small()))
    with pytest.raises(InputError) as refused:
        archive.unpack(tmp_path / "out")
    assert "bad.zip" in str(refused.value) and message in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"bad.zip", "bad.zip.sha256"}


@pytest.mark.parametrize("what", sorted(STREAMS))
def test_a_block_that_is_not_as_listed_gives_no_file(tmp_path: Path, what: str) -> None:
    make, message = STREAMS[what]
    archive = sealed(tmp_path / "bad.zip", make(small()))
    assert archive.read("session.json") == b"{}"
    for read in (archive.read, archive.extracted, archive.open_content):
        with pytest.raises(InputError) as refused:
            read("0001-x/a.txt")
        assert f"bad.zip: 0001-x/a.txt: damaged: {message}" in str(refused.value)
    with pytest.raises(InputError):
        archive.unpack(tmp_path / "out")
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"bad.zip", "bad.zip.sha256", "session.json"}


def test_a_sound_list_beside_them_is_read(tmp_path: Path) -> None:
    archive = sealed(tmp_path / "good.zip", _sound(listed())(small()))
    assert archive.sizes == {"session.json": 2, "0001-x/a.txt": len(_TEXT)}
    assert archive.read("0001-x/a.txt") == _TEXT


@pytest.fixture(scope="module")
def columns() -> tuple[Block, bytes]:
    """A bundled block in columns, one of them sorted by another, and its decompressed entry."""
    (session,) = Store(find_root(Path(__file__).parent)).sessions("aa", bundled=True)
    (block,) = (block for block in contents_of_archive(session)["blocks"] if block.get("columns"))
    with zipfile.ZipFile(archive_of(session.folder)) as archive:
        data = lzma.decompress(archive.read(block["entry"]))
    assert b'"by":1' in data
    return Block.model_validate_json(json.dumps(block)), data


def text_of(block: Block, data: bytes) -> bytes:
    return b"".join(pieces_of_block(block, BytesIO(lzma.compress(data, preset=0))))


def test_columns_give_back_the_text_of_their_hash(columns: tuple[Block, bytes]) -> None:
    assert len(text_of(*columns)) == columns[0].bytes


@pytest.mark.parametrize("seed", range(20))
def test_damaged_columns_are_refused(columns: tuple[Block, bytes], seed: int) -> None:
    draw, (block, data) = random.Random(seed), columns
    bad = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        bad[draw.randrange(2000)] ^= draw.randrange(1, 256)
    with pytest.raises(Damaged):
        text_of(block, bytes(bad)[: draw.choice([len(bad), draw.randrange(len(bad))])])
