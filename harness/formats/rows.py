# SPDX-License-Identifier: Apache-2.0
"""Rows of delimited text, one per request, to columns: quickly when a block is clean, patiently when not.

A clean block has one record per line and every value of its type; it goes through Arrow.
Any other block is read again line by line, so that one odd row costs that row and no other.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from harness.formats.arrays import Texts
from harness.formats.row_layout import LONGEST_S, Layout, Row, parse_row, split_row
from harness.formats.source import Block
from harness.formats.table import RequestChunk, Unreadable

_EXCERPT = 100
#: Arrow takes a tenth of a second to load, in which 10,000 rows are read without it.
ARROWS_BYTES = 1 << 18
#: Blocks that are read beside each other, and those that wait for one of them; each is there with its text.
_READERS, _WAITING = 2, 3


def read_chunks(blocks: Iterable[Block], layout: Layout) -> Iterator[RequestChunk]:
    """Turn blocks of whole records into columns, in their order.

    Several blocks at a time: most of the work is Arrow's, which needs no interpreter.
    """
    blocks = iter(blocks)
    first = list(islice(blocks, 2))
    if len(first) < 2 or layout.row_prefix:
        yield from (read_block(block, layout)[0] for block in chain(first, blocks))
        return
    from concurrent.futures import Future, ThreadPoolExecutor  # a short file is read before it is loaded

    under_way: deque[Future[RequestChunk]] = deque()
    with ThreadPoolExecutor(_READERS) as readers:
        for block in chain(first, blocks):
            under_way.append(readers.submit(lambda block: read_block(block, layout)[0], block))
            if len(under_way) > _WAITING:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def read_block(
    block: Block, layout: Layout, columns: Sequence[int] = ()
) -> tuple[RequestChunk, tuple[Texts, ...]]:
    """Read a block of whole records.

    Args:
        columns: those of which the texts of every row that can be read are wanted, too.
    """
    return _quickly(block, layout, columns) or _Patience(block=block, layout=layout, columns=columns).read()


def _quickly(
    block: Block, layout: Layout, columns: Sequence[int]
) -> tuple[RequestChunk, tuple[Texts, ...]] | None:
    """Read a block through Arrow; ``None``: it is not clean, or too small to load Arrow for it."""
    small = len(block.data) < ARROWS_BYTES and "pyarrow" not in sys.modules
    if layout.row_prefix or small:
        return None
    from harness.formats.arrow_rows import read_clean, read_clean_texts

    chunk = read_clean(block, layout)
    texts = read_clean_texts(block, layout, columns) if chunk is not None and columns else ()
    return None if chunk is None or texts is None else (chunk, tuple(texts))


@dataclass
class _Patience:
    """The line-by-line reading of one block."""

    block: Block
    layout: Layout
    columns: Sequence[int] = ()
    rows: list[Row] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)
    bad: Unreadable = field(default_factory=Unreadable)

    def read(self) -> tuple[RequestChunk, tuple[Texts, ...]]:
        text = self.block.data.decode(errors="replace")
        complete = text.endswith("\n")
        lines = text.removesuffix("\n").split("\n")
        index = 0
        while index < len(lines):
            index = self._record(lines, index, complete=complete)
        chunk = to_chunk(self.rows, self.bad, has_connect=self.layout.connect is not None)
        return chunk, tuple(_coded([texts[at] for texts in self.texts]) for at in range(len(self.columns)))

    def _record(self, lines: list[str], index: int, *, complete: bool) -> int:
        """Read the record that begins at ``index``; return where the next one begins."""
        text = lines[index]
        heads = (self.layout.row_prefix, (self.layout.header or (self.layout.row_prefix,))[0])
        if not text.strip("\r \0") or not text.startswith(heads):
            return index + 1
        after = index + 1
        is_open = text.count('"') % 2 == 1
        while is_open and after < len(lines) and not self.layout.begins_a_row(lines[after]):
            is_open = lines[after].count('"') % 2 == 0  # of this line alone: it may go on for megabytes
            after += 1
        text = "\n".join(lines[index:after])
        last = after == len(lines) and not complete
        cut = last and (is_open or self.layout.end_may_be_cut)
        fields = split_row(text.rstrip("\r"), self.layout.delimiter)
        whole = None if cut else self.layout.whole(fields)
        row = None if whole is None else parse_row(whole, self.layout)
        if whole is not None and row is not None:
            if last and self.layout.connect == self.layout.n_columns - 1:
                row = replace(row, connect_s=math.nan)  # its digits may be cut
            self.rows.append(row)
            if self.columns:
                self.texts.append([whole[column] for column in self.columns])
        elif (names := tuple(field.strip(" \t\0\ufeff") for field in fields)) != self.layout.header:
            # else a header in the middle: another run was appended
            number = self.block.first_line + index
            self.bad = self.bad.plus(
                Unreadable(
                    n=1, first_line=number, first_text=text[:_EXCERPT], n_cut=int(last),
                    other_header=number if self.layout.names_columns(names) else None,
                )
            )  # fmt: skip
        return after


def read_lines(
    block: Block, is_row: Callable[[bytes], bool], row_of: Callable[[bytes], Row | None]
) -> RequestChunk:
    """Read the lines of a block that are rows, each by itself.

    Args:
        row_of: returns the request of a line, ``None``: it is of something else; raises one of the errors below where
            the line is damaged.
    """
    rows: list[Row] = []
    bad = Unreadable()
    lines = block.data.split(b"\n")
    for number, line in enumerate(lines):
        try:
            row = row_of(line) if is_row(line) else None
            if row is not None and not 0 <= row.latency_s < LONGEST_S:
                raise ValueError("no latency")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            text = line.decode(errors="replace")[:_EXCERPT]
            n_cut = int(number == len(lines) - 1)  # a complete last line leaves an empty one behind it
            bad = bad.plus(
                Unreadable(n=1, first_line=block.first_line + number, first_text=text, n_cut=n_cut)
            )
        else:
            rows += [] if row is None else [row]
    return to_chunk(rows, bad)


def to_chunk(rows: list[Row], bad: Unreadable, *, has_connect: bool = False) -> RequestChunk:
    """Return rows that were read one by one as columns."""
    label_codes, labels = _coded([row.label for row in rows])
    error_codes, error_kinds = _coded([row.error_kind for row in rows if not row.ok])
    return RequestChunk(
        start_epoch_s=np.array([row.start_epoch_s for row in rows], dtype=np.float64),
        latency_s=np.array([row.latency_s for row in rows], dtype=np.float64),
        ok=np.array([row.ok for row in rows], dtype=np.bool_),
        label_codes=label_codes,
        labels=labels,
        transaction=np.array([row.transaction for row in rows], dtype=np.bool_),
        unreadable=bad,
        connect_s=np.array([row.connect_s for row in rows], dtype=np.float64) if has_connect else None,
        error_codes=error_codes,
        error_kinds=error_kinds,
    )


def _coded(texts: Sequence[str]) -> Texts:
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.int32), tuple(codes)
