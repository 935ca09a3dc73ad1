# SPDX-License-Identifier: Apache-2.0
"""Change a recorded file at random: its bytes, its lines, its cells, its JSON tree, or its wrapping.

Everything is drawn from one ``random.Random``, so that a seed gives the same files on every machine.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

Format = Literal["lines", "csv", "json", "toml", "bytes"]
#: Of a long recording a part is used: a reader's faults are in kinds of lines, not in their number.
LONGEST = 3000
JUNK = (
    b"\r", b"\n", b"\0", b'"', b",", b";", b"-1", b"9" * 30, b"1e400", b"nan", b"inf", b"\xff\xfe", b"\xc3", b"{", b"}",
    b"[", b"]", b":", b".", b"1.2.3", b" ", b"null", b"true", "\N{SUPERSCRIPT TWO}".encode(), b"e", b"T", b"[]", b"{}",
    b"9" * 5000, "\N{ARABIC-INDIC DIGIT THREE}".encode(), b"\x1b[2J", b"<script>", b"../", b"%s", b"=", b"\t",
)  # fmt: skip
#: What takes the place of a value of JSON.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, 10**30, 0.5, -0.0, float("inf"), float("nan"), "", "x", "\0", "1e9", "1970", [],
    {},
    [[]], {"": None}, "9" * 5000, "\ud800", "../../x",
)  # fmt: skip
TOML_VALUES = (
    "1", "-1", "0", "nan", "inf", "9" * 5000, "true", '""', '"x"', "[]", "{}", "[1, 'a']", "1979-05-27", "07:32:00",
    '{ a = 1 }', "'''", "[[[[", "0x7fffffffffffffffff", '"\\u0000"', '"../../x"', "1e400",
)  # fmt: skip


def mutated(original: bytes, form: Format, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """Return a changed copy. ``others``: recordings of the same reader, parts of which may be put in."""
    data = _part(original, form, rng)
    kind = rng.random()
    if kind < 0.45:
        data = of_bytes(data, rng)
    elif kind < 0.9:
        data = _STRUCTURED[form](data, rng)
    elif kind < 0.95 and others:
        other = rng.choice(others)
        cut, at = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
        data = data[:cut] + other[at : at + LONGEST]
    else:
        data = of_wrapping(data, rng)
    return data


def _part(original: bytes, form: Format, rng: random.Random) -> bytes:
    """The first part; of JSON and binary files all of it, since a cut is a change of its own."""
    if form in ("json", "bytes", "toml") or len(original) <= LONGEST:
        return original
    return original[: rng.choice([LONGEST // 2, LONGEST])]


def of_bytes(original: bytes, rng: random.Random) -> bytes:
    """Change, insert, remove or repeat bytes in a few places; half of them near the beginning."""
    data = bytearray(original)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(min(len(data), 400) if rng.random() < 0.5 else len(data)) if data else 0
        what = rng.randrange(6)
        if what == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif what == 1:
            data[at:at] = rng.choice(JUNK)
        elif what == 2:
            del data[at : at + rng.choice([1, 1, 2, 5, 30])]
        elif what == 3:
            data[at : at + rng.choice([1, 2, 8])] = rng.choice(JUNK)
        elif what == 4:
            data[at:at] = data[at : at + rng.choice([1, 5, 40, 200])]
        else:
            digits = [i for i in range(at, min(len(data), at + 300)) if chr(data[i]).isdecimal()]
            if digits:
                data[rng.choice(digits)] = rng.choice(b"0123456789-.,eE:")
    return bytes(data)


def of_lines(data: bytes, rng: random.Random) -> bytes:
    """Swap, drop, repeat, cut or join lines."""
    lines = data.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        what = rng.randrange(6)
        if what == 0:
            lines[at], lines[other] = lines[other], lines[at]
        elif what == 1 and len(lines) > 1:
            del lines[at]
        elif what == 2:
            lines[at:at] = [lines[other]] * rng.choice([1, 3, 200])
        elif what == 3:
            lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
        elif what == 4:
            lines[at] += lines[other]
        else:
            words = lines[at].split(b" ")
            words[rng.randrange(len(words))] = rng.choice(JUNK)
            lines[at] = b" ".join(words)
    return b"\n".join(lines)


def of_cells(data: bytes, rng: random.Random) -> bytes:
    """Change cells of a table, or drop, repeat and swap its columns."""
    sign = b";" if data[:400].count(b";") > data[:400].count(b",") else b","
    rows = [line.split(sign) for line in data.split(b"\n")]
    column = rng.randrange(max(map(len, rows)))
    what = rng.randrange(5)
    for row in rows if what < 3 else [rng.choice(rows) for _ in range(rng.choice([1, 3]))]:
        if column >= len(row):
            continue
        if what == 0:
            del row[column]
        elif what == 1:
            row.insert(column, row[column])
        elif what == 2:
            other = rng.randrange(len(row))
            row[column], row[other] = row[other], row[column]
        else:
            row[column] = rng.choice(JUNK) if what == 3 else row[column] * rng.choice([2, 300])
    return b"\n".join(sign.join(row) for row in rows)


def of_json(data: bytes, rng: random.Random) -> bytes:
    """Put other values into a JSON tree, or rename and remove keys; of JSON lines into one line."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        lines = data.split(b"\n")
        at = rng.randrange(len(lines))
        try:
            lines[at] = _dumped(_changed(json.loads(lines[at]), rng))
        except (ValueError, RecursionError):
            return of_lines(data, rng)
        return b"\n".join(lines)
    for _ in range(rng.choice([1, 1, 2, 4])):
        tree = _changed(tree, rng)
    return _dumped(tree)


def _dumped(tree: object) -> bytes:
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _value(rng: random.Random) -> Any:
    """A value of its own: one that stands in two trees would be changed in both."""
    return copy.deepcopy(rng.choice(VALUES))


def _changed(tree: Any, rng: random.Random) -> Any:
    """Walk down at random; change what is there."""
    holder: Any = None
    key: Any = None
    node = tree
    while isinstance(node, dict | list) and node and rng.random() < 0.85:
        holder, key = node, rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node = node[key]
    if holder is None:
        return _value(rng)
    what = rng.randrange(5)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[f"{key}x"] = holder.pop(key)
    elif what == 2 and isinstance(holder, list):
        holder.extend([node] * rng.choice([1, 50]))
    else:
        holder[key] = _value(rng)
    return tree


def of_toml(data: bytes, rng: random.Random) -> bytes:
    """Put other values behind keys, or rename and repeat keys and headings."""
    text = data.decode("utf-8", "replace")
    places = list(re.finditer(r"(?m)^(?P<key>[\w.\"-]+)\s*=\s*(?P<value>.*)$|^\[(?P<head>[^]]*)\]", text))
    if not places:
        return of_lines(data, rng)
    for _ in range(rng.choice([1, 1, 2])):
        found = rng.choice(places)
        group = rng.choice([name for name, value in found.groupdict().items() if value is not None])
        put = (
            rng.choice(TOML_VALUES)
            if group == "value"
            else rng.choice(["x", "", "name", "a.b.c", found[group] * 2])
        )
        changed = text[: found.start(group)] + put + text[found.end(group) :]
        if rng.random() < 0.3:
            changed += "\n" + found[0]
        text, places = changed, [found] if changed.startswith(text[: found.end()]) else places[:1]
        if text[found.start() : found.end()] != found[0]:
            break  # places behind it have moved
    return text.encode("utf-8")


def of_wrapping(data: bytes, rng: random.Random) -> bytes:
    """Another encoding, gzip whole or damaged, nothing at all, or the file in itself."""
    packed = gzip.compress(data, 1, mtime=0)
    choices: tuple[Callable[[], bytes], ...] = (
        lambda: b"",
        lambda: b"\n" * rng.choice([1, 1000]),
        lambda: data.decode("utf-8", "replace").encode("utf-16"),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: packed,
        lambda: packed[: rng.randrange(len(packed))],
        lambda: of_bytes(packed, rng),
        lambda: packed + packed,
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: data * 3,
        lambda: bytes(rng.randrange(256) for _ in range(rng.choice([1, 16, 500]))),
    )
    return rng.choice(choices)()


_STRUCTURED: dict[Format, Callable[[bytes, random.Random], bytes]] = {
    "lines": of_lines,
    "csv": of_cells,
    "json": of_json,
    "toml": of_toml,
    "bytes": of_bytes,
}
