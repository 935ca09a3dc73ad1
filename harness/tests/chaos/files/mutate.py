# SPDX-License-Identifier: Apache-2.0
"""Files that a reader may meet: a recording changed at random, or one made to do harm.

Everything is drawn from one ``random.Random``, so that a seed gives the same files on every machine.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Sequence
from functools import cache

#: What takes the place of a byte, a word, a cell, a key or a value.
JUNK = (
    b"", b"\r", b"\n", b"\0", b'"', b",", b";", b"-1", b"0", b"9" * 30, b"9" * 5000, b"1e400", b"0.5", b"nan", b"inf",
    b"\xff\xfe", b"\xc3", b"{", b"}", b"[", b"]", b":", b"=", b".", b"1.2.3", b" ", b"\t", b"null", b"true", b"T", b"[]",
    b"{}", b"[[]]", b'""', b'{"": null}', b'"\\ud800"', b"'''", b"1979-05-27", b"0x7fffffffffffffffff", b"\x1b[2J",
    b"<script>", b"../../x", b"%s", "\N{SUPERSCRIPT TWO}".encode(), "\N{ARABIC-INDIC DIGIT THREE}".encode(),
)  # fmt: skip
#: Words, numbers, and texts in quotes: the cells of a table, keys and values of JSON and TOML.
_WORDS = re.compile(rb'("[^"\n]*"|[^\s,;:=\[\]{}"]+)')
#: What a bomb unpacks to; a reader must refuse it or read it in pieces.
BOMB_BYTES = 96 << 20
_DEEP, _LONG, _DIGITS = 100_000, 3 << 20, b"9" * 5000


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return a copy with a few changed bytes, words or lines, or with another wrapping."""
    kind = rng.random()
    if kind < 0.05:
        return _wrapped(data, rng)
    if kind < 0.4:
        units, joint = [data[i : i + 1] for i in range(len(data))], b""
    elif kind < 0.8:
        # words at odd places, what stands between them at even ones
        units, joint = _WORDS.split(data), b""
    else:
        units, joint = data.split(b"\n"), b"\n"
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        _change(units, rng)
    return joint.join(units)


def _change(units: list[bytes], rng: random.Random) -> None:
    """Replace, remove, repeat, exchange or cut one unit; half of the time near the beginning."""
    if not units:
        return
    at = rng.randrange(min(len(units), 400) if rng.random() < 0.5 else len(units))
    way = rng.randrange(6)
    if way < 2:
        units[at] = rng.choice(JUNK)
    elif way == 2:
        del units[at : at + rng.choice((1, 1, 2, 30))]
    elif way == 3:
        units[at:at] = units[at : at + rng.choice((1, 5, 40))] * rng.choice((1, 2, 50))
    elif way == 4:
        other = rng.randrange(len(units))
        units[at], units[other] = units[other], units[at]
    else:
        units[at] = units[at][: rng.randrange(len(units[at]) + 1)] + bytes(rng.sample(b"0123456789-.,eE:", 1))


def _wrapped(data: bytes, rng: random.Random) -> bytes:
    """Another encoding, gzip whole or damaged, nothing at all, or the file in itself."""
    packed = gzip.compress(data, 1, mtime=0)
    return rng.choice((
        b"", b"\n" * 1000, data.decode("utf-8", "replace").encode("utf-16"), b"\xef\xbb\xbf" + data, packed,
        packed[: rng.randrange(len(packed))], packed + packed, data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"),
        data * 3, rng.randbytes(500),
    ))  # fmt: skip


@cache
def hostile() -> Sequence[bytes]:
    """Return files made to do harm: by depth, length, digits and compression."""
    return (
        b"x" * _LONG, b"," * _LONG, b'"' * 99_999, b"\n" * _LONG, b"\0" * _LONG, _DIGITS, bomb(b"\n"), bomb(b"x"),
        b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><testResults>&b;</testResults>",
        b"[" * _DEEP, b'{"a":' * _DEEP, b"[" * _DEEP + b"]" * _DEEP, b'{"a":' + _DIGITS + b"}", b'{"a":1e999}',
        b'{"recording":{"events":' + b"[" * _DEEP + b"]" * _DEEP + b"}}", b'{"metrics":' + b"[" * _DEEP,
        b'{"type":"Point","metric":"http_req_duration","data":' + b"[" * _DEEP,
        b"a = " + b"[" * _DEEP, b"a = " + _DIGITS, b"a." * 20_000 + b"b = 1", b"[" + b"a." * 5_000 + b"b]",
        b"a = {" * 5_000, b"hosts = 3", b"[hosts]\na = 3", b"[[hosts]]", b"claims = 1", b'name = "\\uD800"',
    )  # fmt: skip


def bomb(byte: bytes) -> bytes:
    """Return gzip that unpacks to ``BOMB_BYTES``."""
    return gzip.compress(byte * BOMB_BYTES, 9, mtime=0)
