# SPDX-License-Identifier: Apache-2.0
"""Columns of a JMeter file that no figure comes from, but that figures can be held against.

Who sent a request (``threadName``), how many users there were (``allThreads``), and the two other
times of a row (``Latency``: to the first byte, ``Connect``): of the first rows only, which bounds
time and memory whatever the file's size.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.formats.arrays import CodeArray, FloatArray
from harness.formats.row_layout import Layout, parse_row
from harness.formats.rows import ARROWS_BYTES
from harness.formats.source import Block, SourceNotes, read_text_pieces, without_first_line

#: Rows looked at: more would show nothing new, and cost time that grows with the file.
SIDE_ROWS = 20_000
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class JtlSides:
    """The first requests of a file in its order, shapes (n,); rows that sum up other rows are left out.

    ``thread``: a code for each thread's name. ``None``: the file has no such column.
    ``first_byte_ms``, ``connect_ms``: as written, in JMeter's milliseconds, whatever ``elapsed`` is in.
    """

    start_s: FloatArray
    latency_s: FloatArray
    thread: CodeArray | None
    all_threads: FloatArray | None
    first_byte_ms: FloatArray | None
    connect_ms: FloatArray | None
    is_whole_file: bool

    @property
    def n_requests(self) -> int:
        """Rows that could be read."""
        return len(self.latency_s)


def read_sides(path: Path, layout: Layout, n_rows: int = SIDE_ROWS) -> JtlSides | None:
    """Read these columns of the first ``n_rows`` lines; ``None``: the file has no such column, or no start times.

    Raises:
        InputError: the file cannot be read.
    """
    wanted = (layout.thread, layout.all_threads, layout.first_byte, layout.connect)
    if layout.start is None or all(index is None for index in wanted):
        return None
    quick = _quickly(path, layout, n_rows)
    if quick is not None:
        return quick
    rows = _Rows(layout)
    n_lines = 0
    for fields in _fields(path, layout):
        n_lines += 1
        if n_lines > n_rows:
            break
        rows.add(fields)
    return rows.sides(is_whole_file=n_lines <= n_rows)


def _quickly(path: Path, layout: Layout, n_rows: int) -> JtlSides | None:
    """Read through Arrow; ``None``: the rows are not plain, or too few to load Arrow for them."""
    data, is_whole_file = _first_lines(path, layout, n_rows)
    if len(data) < ARROWS_BYTES or b'"' in data or b"\0" in data:
        return None
    from harness.formats.arrow_rows import read_clean, read_clean_texts

    block = Block(data=data, first_line=1)
    chunk = read_clean(block, layout)
    beside = (layout.thread, layout.all_threads, layout.first_byte, layout.connect)
    there = [index for index in beside if index is not None]
    texts = None if chunk is None else read_clean_texts(block, layout, there)
    if chunk is None or texts is None:
        return None
    keep = ~chunk.transaction
    by_column = dict(zip(there, texts, strict=True))

    def numbers(index: int | None) -> FloatArray | None:
        if index is None:
            return None
        codes, values = by_column[index]
        return np.array([_as_number(value) for value in values], dtype=np.float64)[codes[keep]]

    thread = None if layout.thread is None else by_column[layout.thread][0][keep]
    return JtlSides(
        start_s=chunk.start_epoch_s[keep],
        latency_s=chunk.latency_s[keep],
        thread=thread,
        all_threads=numbers(layout.all_threads),
        first_byte_ms=numbers(layout.first_byte),
        connect_ms=numbers(layout.connect),
        is_whole_file=is_whole_file,
    )


def _first_lines(path: Path, layout: Layout, n_rows: int) -> tuple[bytes, bool]:
    """The first whole lines below the header, and whether the file has no other."""
    pieces = read_text_pieces(path, SourceNotes())
    if layout.header is not None:
        pieces = without_first_line(pieces)
    read, n = [], 0
    for piece in pieces:
        read.append(piece)
        n += piece.count(b"\n")
        if n > n_rows:
            break
    data = b"".join(read)
    lines = data.split(b"\n", n_rows)
    is_whole_file = len(lines) <= n_rows or not lines[n_rows]
    return (data if is_whole_file else data[: len(data) - len(lines[n_rows])]), is_whole_file


@dataclass
class _Rows:
    layout: Layout
    start: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    numbers: list[tuple[float, float, float]] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)

    def add(self, fields: list[str]) -> None:
        row = parse_row(fields, self.layout)
        if row is None or row.transaction:
            return
        layout = self.layout
        numbers = (
            _number(fields, layout.all_threads),
            _number(fields, layout.first_byte),
            _number(fields, layout.connect),
        )
        self.start.append(row.start_epoch_s)
        self.latency.append(row.latency_s)
        self.numbers.append(numbers)
        if layout.thread is not None:
            self.thread.append(self.codes.setdefault(fields[layout.thread], len(self.codes)))

    def sides(self, *, is_whole_file: bool) -> JtlSides:
        layout = self.layout
        numbers = np.array(self.numbers, dtype=np.float64).reshape(-1, 3)
        return JtlSides(
            start_s=np.array(self.start, dtype=np.float64),
            latency_s=np.array(self.latency, dtype=np.float64),
            thread=None if layout.thread is None else np.array(self.thread, dtype=np.int32),
            all_threads=None if layout.all_threads is None else numbers[:, 0],
            first_byte_ms=None if layout.first_byte is None else numbers[:, 1],
            connect_ms=None if layout.connect is None else numbers[:, 2],
            is_whole_file=is_whole_file,
        )


def _fields(path: Path, layout: Layout) -> Iterator[list[str]]:
    pieces = read_text_pieces(path, SourceNotes())
    if layout.header is not None:
        pieces = without_first_line(pieces)
    reader = csv.reader(_lines(pieces), delimiter=layout.delimiter)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:  # a NUL or an endless quote: what is to be said of it, the reader of rows says
            continue


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").rstrip("\r") + "\n"
        if len(rest) > _LONGEST_LINE:
            return
    if rest:
        yield rest.decode(errors="replace")


def _number(fields: list[str], index: int | None) -> float:
    """A field as a number; NaN when it is none."""
    return float("nan") if index is None else _as_number(fields[index])


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def read_texts(
    path: Path, layout: Layout, names: Sequence[str], n_rows: int = SIDE_ROWS
) -> dict[str, set[str]]:
    """Return what stands in columns of the first ``n_rows`` lines: name of the column -> its different values.

    Columns that the file does not have, and empty values, are left out.

    Raises:
        InputError: the file cannot be read.
    """
    header = layout.header or ()
    places = {name: header.index(name) for name in names if name in header}
    found: dict[str, set[str]] = {}
    if not places:
        return found
    for n, fields in enumerate(_fields(path, layout)):
        if n >= n_rows:
            break
        if parse_row(fields, layout) is None:
            continue
        for name, place in places.items():
            if fields[place]:
                found.setdefault(name, set()).add(fields[place])
    return found
