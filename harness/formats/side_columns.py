# SPDX-License-Identifier: Apache-2.0
"""The columns of JMeter's files that only checks need, of the first rows: which bounds time and memory.

Who sent a request (``threadName`` on ``Hostname``), how many users there were (``allThreads``), the two other times
of a row (``Latency``: to the first byte, ``Connect``), and which rows are parts or sums of other rows.

A thread does one thing at a time. So a row that lies inside another one of its thread is a part of it (a redirect, an
embedded resource: ``NAME-0``, ``NAME-1``), or the outer row is the sum of those inside (a transaction).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import numpy as np

from harness.formats.arrays import BoolArray, CodeArray, FloatArray
from harness.formats.row_layout import Layout, Row, parse_row
from harness.formats.rows import ARROWS_BYTES
from harness.formats.sides import SideColumns
from harness.formats.source import Block, SourceNotes, TextFile, without_lines
from harness.formats.table import RequestChunk

#: Rows looked at: more would show nothing new, and cost time that grows with the file.
SIDE_ROWS = 20_000
_LONGEST_LINE = 1 << 20
#: Of the rows of one name, the share that must lie inside (or around) others, and how far off their times may be.
_MOST, _STEP_S = 0.9, 0.002
#: Fewer rows of a name may be so by chance.
_FEWEST = 3
_NUMBERED = re.compile(r"(.+)-\d+")

Texts = tuple[CodeArray, tuple[str, ...]]


def read_sides(file: TextFile, layout: Layout, n_rows: int = SIDE_ROWS) -> tuple[SideColumns | None, Layout]:
    """Read these columns of the first ``n_rows`` lines; return the layout with the names of parts and sums.

    ``None``: the file has none of the columns, or no start times.

    Raises:
        InputError: the file cannot be read.
    """
    beside = (
        layout.thread, layout.host, layout.all_threads, layout.first_byte, layout.connect, layout.url, layout.label,
        layout.code,
    )  # fmt: skip
    wanted = [index for index in beside if index is not None]
    if layout.start is None or not set(wanted) - {layout.label, layout.code}:
        return None, layout
    data, is_whole_file = _first_lines(file, layout, n_rows)
    read = _quickly(data, layout, wanted) or _patiently(data, layout, wanted)
    texts = dict(zip(wanted, read.texts, strict=True))

    def numbers(index: int | None) -> FloatArray | None:
        if index is None:
            return None
        codes, values = texts[index]
        return np.array([_as_number(value) for value in values], dtype=np.float64)[codes]

    def codes(index: int | None) -> CodeArray | None:
        return None if index is None else texts[index][0]

    host, thread = codes(layout.host), codes(layout.thread)
    if thread is not None and host is not None:
        together = thread.astype(np.int64) * (int(host.max(initial=0)) + 1) + host
        thread = np.unique(together, return_inverse=True)[1].astype(np.int32)
    urls = () if layout.url is None else texts[layout.url][1]
    sides = SideColumns(
        start_s=read.start_s,
        latency_s=read.latency_s,
        thread=thread,
        host=host,
        all_threads=numbers(layout.all_threads),
        first_byte_ms=numbers(layout.first_byte),
        connect_ms=numbers(layout.connect),
        hosts=() if layout.host is None else tuple(filter(None, texts[layout.host][1])),
        services=frozenset(name for name in map(_host_of_url, urls) if name),
        is_whole_file=is_whole_file,
    )
    keep = ~read.repeats
    if layout.label is not None and thread is not None:
        labels, names = texts[layout.label]
        without_code = np.zeros(len(labels), dtype=np.bool_)
        if layout.code is not None:
            without_code = np.array([not text.strip() for text in texts[layout.code][1]], dtype=np.bool_)[
                texts[layout.code][0]
            ]
        repeats = _repeats(sides.rows(keep), labels[keep], names, without_code[keep])
        keep &= ~np.array([name in repeats for name in names], dtype=np.bool_)[labels]
        layout = replace(layout, repeats=repeats)
    return sides.rows(keep), layout


def _repeats(
    sides: SideColumns, label: CodeArray, names: tuple[str, ...], without_code: BoolArray
) -> frozenset[str]:
    """Names of requests whose rows are parts or sums of others of the same thread.

    Args:
        label: of each row, shape (n,), into ``names``. without_code: the row has no status.
    """
    assert sides.thread is not None  # asked by the caller
    n = sides.n_requests
    # Of two that last alike the later row of the file is the outer one: sums are written when they end.
    order = np.lexsort((-np.arange(n), -sides.latency_s, sides.start_s, sides.thread))
    thread, start = sides.thread[order], sides.start_s[order]
    end, of = start + sides.latency_s[order], label[order]
    if _n_overlaps(thread, start, end) < _FEWEST or len(names) < 2:
        return frozenset()
    inside: dict[tuple[int, int], int] = {}
    n_around = np.zeros(len(names), dtype=np.int64)
    stack: list[int] = []
    around: set[int] = set()
    for i in range(n):
        while stack and (thread[stack[-1]] != thread[i] or end[stack[-1]] < start[i] + _STEP_S / 2):
            stack.pop()
        outer = next((j for j in reversed(stack) if of[j] != of[i] and end[i] <= end[j] + _STEP_S / 2), None)
        if outer is not None and end[i] - start[i] > _STEP_S:  # a shorter one may lie there by rounding
            inside[int(of[i]), int(of[outer])] = inside.get((int(of[i]), int(of[outer])), 0) + 1
            if outer not in around and (
                start[i] - start[outer] <= _STEP_S or abs(end[outer] - end[i]) <= _STEP_S
            ):
                around.add(outer)
                n_around[of[outer]] += 1
        stack.append(i)
    n_each = np.bincount(label, minlength=len(names))
    empty = np.bincount(label[without_code], minlength=len(names)) == n_each
    results: set[str] = set()
    for (part, whole), n_inside in inside.items():
        numbered = _NUMBERED.fullmatch(names[part])
        is_part = numbered is not None and numbered[1] == names[whole] and not empty[whole]
        if is_part and n_inside >= max(_FEWEST, _MOST * n_each[part]):
            results.add(names[part])
    for whole in np.flatnonzero(n_around >= np.maximum(_FEWEST, _MOST * n_each)).tolist():
        parts = {names[part] for part, outer in inside if outer == whole}
        if not parts <= results:
            results.add(names[whole])
    rest = np.array([name not in results for name in names], dtype=np.bool_)[of]
    if _n_overlaps(thread[rest], start[rest], end[rest]) > (1 - _MOST) * np.count_nonzero(rest):
        return (
            frozenset()
        )  # threads of several generators bear the same names: what overlaps is not of one thread
    return frozenset(results)


def _n_overlaps(thread: CodeArray, start: FloatArray, end: FloatArray) -> int:
    """How many requests begin before the one above them has ended, by thread and start."""
    at_once = (start[1:] < end[:-1] - _STEP_S) | ((np.diff(start) == 0) & (end[:-1] > start[:-1]))
    return int(np.count_nonzero((np.diff(thread) == 0) & at_once))


@dataclass(frozen=True, kw_only=True)
class _Read:
    """Rows that could be read, and for each column that was asked for its code in each of them."""

    start_s: FloatArray
    latency_s: FloatArray
    repeats: BoolArray
    texts: list[Texts]


def _quickly(data: bytes, layout: Layout, columns: list[int]) -> _Read | None:
    """Read through Arrow; ``None``: the rows are not plain, or too few to load Arrow for them."""
    if len(data) < ARROWS_BYTES or b'"' in data or b"\0" in data:
        return None
    from harness.formats.arrow_rows import read_clean, read_clean_texts

    block = Block(data=data, first_line=1)
    chunk: RequestChunk | None = read_clean(block, layout)
    texts = None if chunk is None else read_clean_texts(block, layout, columns)
    if chunk is None or texts is None:
        return None
    return _Read(
        start_s=chunk.start_epoch_s, latency_s=chunk.latency_s, repeats=chunk.transaction, texts=texts
    )


def _patiently(data: bytes, layout: Layout, columns: list[int]) -> _Read:
    rows: list[Row] = []
    coded: list[dict[str, int]] = [{} for _ in columns]
    codes: list[list[int]] = [[] for _ in columns]
    for fields_ in _fields(data, layout):
        whole = fields_ if len(fields_) == layout.n_columns else layout.mended(fields_)
        row = None if whole is None else parse_row(whole, layout)
        if row is None or whole is None:
            continue
        rows.append(row)
        for index, known, each in zip(columns, coded, codes, strict=True):
            each.append(known.setdefault(whole[index], len(known)))
    return _Read(
        start_s=np.array([row.start_epoch_s for row in rows], dtype=np.float64),
        latency_s=np.array([row.latency_s for row in rows], dtype=np.float64),
        repeats=np.array([row.transaction for row in rows], dtype=np.bool_),
        texts=[
            (np.array(each, dtype=np.int32), tuple(known)) for known, each in zip(coded, codes, strict=True)
        ],
    )


def _first_lines(file: TextFile, layout: Layout, n_rows: int) -> tuple[bytes, bool]:
    """The first whole lines below the header, and whether the file has no other."""
    read, n = [], 0
    for piece in without_lines(file.pieces(SourceNotes()), int(layout.header is not None)):
        read.append(piece)
        n += piece.count(b"\n")
        if n > n_rows:
            break
    data = b"".join(read)
    lines = data.split(b"\n", n_rows)
    is_whole_file = len(lines) <= n_rows or not lines[n_rows]
    return (data if is_whole_file else data[: len(data) - len(lines[n_rows])]), is_whole_file


def _fields(data: bytes, layout: Layout) -> Iterator[list[str]]:
    lines = (line.decode(errors="replace") + "\n" for line in data.split(b"\n") if len(line) <= _LONGEST_LINE)
    reader = csv.reader(lines, delimiter=layout.delimiter)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:  # a NUL or an endless quote: what is to be said of it, the reader of rows says
            continue


def _as_number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")


def _host_of_url(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # damaged
        return None
