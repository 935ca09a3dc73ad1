# SPDX-License-Identifier: Apache-2.0
"""The columns of JMeter's files that only checks need, of the first rows: which bounds time and memory.

Who sent a request (``threadName`` on ``Hostname``), how many users there were (``allThreads``), the two other times
of a row (``Latency``: to the first byte, ``Connect``), and which rows are parts or sums of other rows.

A thread does one thing at a time. So a row that lies inside another one of its thread is a part of it (a redirect, an
embedded resource: ``NAME-0``, ``NAME-1``), or the outer row is the sum of those inside (a transaction).
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np

from harness.formats.arrays import BoolArray, CodeArray, FloatArray, with_rows
from harness.formats.row_layout import Layout
from harness.formats.rows import read_block
from harness.formats.source import Block, SourceNotes, TextFile, without_lines
from harness.formats.table import SideColumns

#: Rows looked at: more would show nothing new, and cost time that grows with the file.
SIDE_ROWS = 20_000
#: Of the rows of one name, the share that must lie inside (or around) others, and how far off their times may be.
_MOST, _STEP_S = 0.9, 0.002
#: Fewer rows of a name may be so by chance.
_FEWEST = 3
#: The name of a part of another row.
NUMBERED = re.compile(r"(.+)-\d+")


def read_sides(file: TextFile, layout: Layout, n_rows: int = SIDE_ROWS) -> tuple[SideColumns | None, Layout]:
    """Read these columns of the first ``n_rows`` lines; return the layout with the names of parts and sums.

    ``None``: the file has none of the columns, or no start times. Raises InputError: the file cannot be read.
    """
    beside = (
        layout.thread, layout.host, layout.all_threads, layout.first_byte, layout.connect, layout.url, layout.label,
        layout.code,
    )  # fmt: skip
    wanted = [index for index in beside if index is not None]
    if layout.start is None or not set(wanted) - {layout.label, layout.code}:
        return None, layout
    data, is_whole_file = _first_lines(file, layout, n_rows)
    chunk, columns = read_block(Block(data=data, first_line=1), layout, wanted)
    texts = dict(zip(wanted, columns, strict=True))

    def numbers(index: int | None) -> FloatArray | None:
        if index is None:
            return None
        codes, values = texts[index]
        return np.array([_as_number(value) for value in values], dtype=np.float64)[codes]

    def codes(index: int | None) -> CodeArray | None:
        return None if index is None else texts[index][0]

    def names(index: int | None) -> list[str]:
        """Those of rows that could be read."""
        return [] if index is None else [texts[index][1][code] for code in np.unique(texts[index][0])]

    host, thread = codes(layout.host), codes(layout.thread)
    if thread is not None:
        own = np.zeros_like(thread) if host is None else host
        together = thread.astype(np.int64) * (int(own.max(initial=0)) + 1) + own
        thread = np.unique(together, return_inverse=True)[1].astype(np.int32)
    sides = SideColumns(
        start_s=chunk.start_epoch_s,
        latency_s=chunk.latency_s,
        thread=thread,
        host=host,
        all_threads=numbers(layout.all_threads),
        first_byte_ms=numbers(layout.first_byte),
        connect_ms=numbers(layout.connect),
        hosts=tuple(filter(None, names(layout.host))),
        services=frozenset(filter(None, map(_host_of_url, names(layout.url)))),
        is_whole_file=is_whole_file,
    )
    assert chunk.transaction is not None  # delimited rows have it
    keep = ~chunk.transaction
    if layout.label is not None and thread is not None:
        labels, known = texts[layout.label]
        statuses, values = texts[layout.code] if layout.code is not None else (np.zeros_like(labels), ("?",))
        without_code = np.array([not text.strip() for text in values], dtype=np.bool_)[statuses]
        repeats = _repeats(with_rows(sides, keep), labels[keep], known, without_code[keep])
        keep &= ~np.array([name in repeats for name in known], dtype=np.bool_)[labels]
        layout = replace(layout, repeats=repeats)
    return with_rows(sides, keep), layout


def _repeats(
    sides: SideColumns, label: CodeArray, names: tuple[str, ...], without_code: BoolArray
) -> frozenset[str]:
    """Names of requests whose rows are parts or sums of others of the same thread.

    ``label``: of each row, shape (n,), into ``names``. ``without_code``: the row has no status.
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
        numbered = NUMBERED.fullmatch(names[part])
        is_part = numbered is not None and numbered[1] == names[whole] and not empty[whole]
        if is_part and n_inside >= max(_FEWEST, _MOST * n_each[part]):
            results.add(names[part])
    for whole in np.flatnonzero(n_around >= np.maximum(_FEWEST, _MOST * n_each)).tolist():
        parts = {names[part] for part, outer in inside if outer == whole}
        if not parts <= results:
            results.add(names[whole])
    rest = np.array([name not in results for name in names], dtype=np.bool_)[of]
    if _n_overlaps(thread[rest], start[rest], end[rest]) > (1 - _MOST) * np.count_nonzero(rest):
        # threads of several generators bear the same names: what overlaps is not of one thread
        return frozenset()
    return frozenset(results)


def _n_overlaps(thread: CodeArray, start: FloatArray, end: FloatArray) -> int:
    """How many requests begin before the one above them has ended, by thread and start."""
    at_once = (start[1:] < end[:-1] - _STEP_S) | ((np.diff(start) == 0) & (end[:-1] > start[:-1]))
    return int(np.count_nonzero((np.diff(thread) == 0) & at_once))


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
