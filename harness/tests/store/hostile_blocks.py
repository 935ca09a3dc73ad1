# SPDX-License-Identifier: Apache-2.0
"""Archives whose blocks of contents do harm: lists that lie, streams that grow, names that lead elsewhere."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

from harness.store import blocks, layout

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


#: What is wrong -> an archive made of another one, in which it is.
HOSTILE_BLOCKS: dict[str, Callable[[bytes], bytes]] = {
    "another version": _sound({"version": blocks.VERSION + 1, "blocks": "in another way"}),
    "no version": _sound([]),
    "deep": _sound(xz(b"[" * 100_000)),
    "an unknown key": _sound(listed(method="zstd")),
    "a negative size": _sound(listed({"name": "a", "bytes": -1})),
    "no hash": _sound(listed(sha256="none")),
    "no list": _sound(None),
    "no xz": _sound(b"no xz at all" * 9),
    "a list that grows": lambda original: with_blocks(original, _zeros(), {_ENTRY: xz(_TEXT)}),
    "too many files": lambda original: with_blocks(original, _many_files(), {_ENTRY: xz(_TEXT)}),
    "a block that is not there": lambda original: with_blocks(original, listed(), {}),
    "a block twice": _sound(listed() | {"blocks": listed()["blocks"] * 2}),
    "a block that is an entry": _sound(listed(entry="session.json")),
    "a packed block": lambda original: with_blocks(original, listed(), {_ENTRY: xz(_TEXT)}, method=_PACKED),
    "a name outside": _named("../outside"),
    "an absolute name": _named("/tmp/rematch-fuzz-outside"),
    "no name": _named(""),
    "the folder's own name": _named("."),
    "a name in another spelling": _named("a//b"),
    "a name of archives": _named(f"{blocks.FOLDER}a"),
    "a name of an entry": _named("session.json"),
    "a name twice": _sound(listed(*[{"name": "a/b", "bytes": 0}] * 2)),
    "gzip without a hash": _named("a/b.gz"),
    "a hash without gzip": _named("a/b", gzip={"bytes": 1, "sha256": _SHA256}),
    "sizes that do not add up": _sound(listed(bytes=1)),
    "a large block of several files": _sound(listed(*({"name": f"a/{n}", "bytes": 9 << 20} for n in "bc"))),
    "a large file": _sound(listed({"name": "a/b", "bytes": 1 << 40})),
    "a large compressed file": _named("a/b.gz", gzip={"bytes": 1 << 40, "sha256": _SHA256}),
    "a stream that grows": lambda original: with_blocks(original, listed(), {_ENTRY: _zeros()}),
    "a large dictionary": _sound(listed(), _large_dictionary()),
    "a cut stream": _sound(listed(), xz(_TEXT)[:-9]),
    "an empty stream": _sound(listed(), b""),
    "two streams": _sound(listed(), xz(_TEXT) * 2),
    "too few bytes": _sound(listed(), xz(_TEXT[:-1])),
    "other contents": _sound(listed(), xz(_TEXT[::-1])),
    "no columns": _sound(listed(columns=True), xz(_TEXT)),
    "columns of other contents": _sound(listed(columns=True), xz(_columns(500))),
    "columns of too much": _sound(listed(columns=True), xz(_columns(1000))),
    "columns of a large block": _sound(listed({"name": "a/b", "bytes": 9 << 20}, columns=True)),
}  # fmt: skip
