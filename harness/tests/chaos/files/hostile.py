# SPDX-License-Identifier: Apache-2.0
"""Files made to do harm: depth, length, digits, compression, and archives with names that lead elsewhere."""

from __future__ import annotations

import gzip
import io
import random
import stat
import warnings
import zipfile
from collections.abc import Sequence
from functools import cache
from typing import get_args

from harness.tests.chaos.files.hostile_blocks import HOSTILE_BLOCKS
from harness.tests.chaos.files.mutate import Format

#: What a bomb unpacks to; a reader must refuse it or read it in pieces.
BOMB_BYTES = 96 << 20
_DEEP, _LONG, _DIGITS = 100_000, 3 << 20, 5000
_GZIP = b"\x1f\x8b"
#: So often comes a hostile file for each time that one of megabytes comes.
OFTEN = 10


def hostile(form: Format, rng: random.Random) -> bytes:
    """Return one hostile file of a form."""
    files = _of_form(form)
    return rng.choices(files, _weights(form))[0]


@cache
def _weights(form: Format) -> tuple[int, ...]:
    """Files that cost up to a second are seldom among a million: each is the same every time."""
    return tuple(1 if len(data) >= _LONG or data[:2] == _GZIP else OFTEN for data in _of_form(form))


def prepare(archives: Sequence[bytes]) -> None:
    """Make the large files and archives, so that processes that are forked later have them."""
    for form in get_args(Format):
        _of_form(form)
    for original in archives:
        for name in BOMBS:
            _with_bomb(original, name)


@cache
def _of_form(form: Format) -> tuple[bytes, ...]:
    digits = b"9" * _DIGITS
    general = (
        b"x" * _LONG, b"," * _LONG, b'"' * 99_999, b"\n" * _LONG, b"\0" * _LONG, digits, bomb(b"\n"), bomb(b"x"),
        b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><testResults>&b;</testResults>",
    )  # fmt: skip
    deep_json = (
        b"[" * _DEEP, b'{"a":' * _DEEP, b"[" * _DEEP + b"]" * _DEEP, b'{"a":' + digits + b"}", b'{"a":1e999}',
        b'{"recording":{"events":' + b"[" * _DEEP + b"]" * _DEEP + b"}}", b'{"metrics":' + b"[" * _DEEP,
        b'{"type":"Point","metric":"http_req_duration","data":' + b"[" * _DEEP,
    )  # fmt: skip
    deep_toml = (
        b"a = " + b"[" * _DEEP, b"a = " + digits, b"a." * 20_000 + b"b = 1", b"[" + b"a." * 5_000 + b"b]",
        b"a = {" * 5_000,
        b"hosts = 3", b"hosts = [1]", b"[hosts]\na = 3", b"[[hosts]]", b"claims = 1", b'name = "\\uD800"',
    )  # fmt: skip
    return {"json": (*general, *deep_json), "toml": (*general, *deep_toml)}.get(
        form, (*general, *deep_json[:3])
    )


@cache
def bomb(byte: bytes) -> bytes:
    """gzip that unpacks to ``BOMB_BYTES``."""
    return gzip.compress(byte * BOMB_BYTES, 9, mtime=0)


#: Names of entries that unpack to more than an archive may.
BOMBS = ("bomb.txt", "notes.jsonl")
#: Names of entries that must never be written.
NAMES = (
    "../outside", "../../outside", "/tmp/rematch-fuzz-outside", "a/../../outside", "..\\outside", "C:\\outside", "a//b",
    "./session.json", "a/./b", "session.json/", "", ".", "..", "a\0b", "~/outside", "-rf", "con",
    "session.json\n", "\u202e",
)  # fmt: skip


def hostile_archive(original: bytes, rng: random.Random) -> bytes:
    """Return a session's archive with a hostile entry: a name, a link, a bomb, a method, a block, a copy, or changed
    bytes."""
    what = rng.randrange(8)
    if what in (0, 7):
        return (
            _with_blocks(original, rng.choice(list(HOSTILE_BLOCKS)))
            if what
            else _with_name(original, rng.choice(NAMES))
        )
    if what == 1:
        return _with_link(
            original,
            rng.choice(["link", "session.json", "0001/record.json"]),
            rng.choice([stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR, stat.S_IFSOCK]),
            rng.choice([b"/etc/passwd", b"../../..", b""]),
        )
    if what == 2:
        return _with_bomb(original, rng.choice(BOMBS))
    if what == 3:
        return _with_method(original, rng.choice([zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    if what == 4:
        return _lying(original, rng)
    data = bytearray(original)
    end = len(data) - rng.choice([200, 2000, len(data) - 1])  # the directory is at the end
    for _ in range(rng.choice([1, 2, 8])):
        data[rng.randrange(max(end, 0), len(data))] = rng.randrange(256)
    return bytes(data[: rng.randrange(len(data))]) if what == 5 else bytes(data)


@cache
def _with_blocks(original: bytes, name: str) -> bytes:
    return HOSTILE_BLOCKS[name](original)


@cache
def _with_name(original: bytes, name: str) -> bytes:
    """With an entry of a name that the library would not write: put into the bytes, where a stand-in was."""
    raw = name.encode("utf-8")
    stand_in = b"q" * len(raw)
    made = _with_entry(original, zipfile.ZipInfo(stand_in.decode() or "x"), b"outside")
    return made.replace(stand_in, raw) if len(raw) > 1 else made


@cache
def _with_link(original: bytes, name: str, kind: int, target: bytes) -> bytes:
    link = zipfile.ZipInfo(name)
    link.create_system, link.external_attr = 3, (kind | 0o777) << 16
    return _with_entry(original, link, target)


@cache
def _with_method(original: bytes, method: int) -> bytes:
    entry = zipfile.ZipInfo("packed")
    entry.compress_type = method
    return _with_entry(original, entry, b"x" * 1000)


@cache
def _with_bomb(original: bytes, name: str) -> bytes:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return _with_entry(original, entry, b"\0" * (2 * BOMB_BYTES))


def _with_entry(original: bytes, entry: zipfile.ZipInfo, data: bytes) -> bytes:
    made = io.BytesIO(original)
    with warnings.catch_warnings(), zipfile.ZipFile(made, "a") as archive:
        warnings.simplefilter("ignore", UserWarning)  # a name that occurs twice is the purpose
        archive.writestr(entry, data)
    return made.getvalue()


def _lying(original: bytes, rng: random.Random) -> bytes:
    """Sizes in the directory that are not those of the data."""
    data = bytearray(original)
    at = data.rfind(b"PK\x01\x02", 0, rng.randrange(1, len(data)))
    if at >= 0:
        for place in rng.sample(range(10, 46), 3):
            data[at + place] = rng.choice([0, 1, 255, rng.randrange(256)])
    return bytes(data)
