# SPDX-License-Identifier: Apache-2.0
"""Rows of text, one per request, to columns.

A block of delimited text is split into fields by Arrow where each record is one line, else line by line, so that one
odd row costs that row and no other. What a field says is decided in one place for both, once for each different text.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from harness.formats.arrays import BoolArray, FloatArray, Texts
from harness.formats.row_layout import LONGEST_S, Layout, Row, is_transaction, split_row, verdict_of
from harness.formats.source import Block
from harness.formats.table import RequestChunk, Unreadable
from harness.formats.values import error_kind

_EXCERPT = 100
#: Arrow takes a tenth of a second to load, in which 10,000 rows are read without it.
ARROWS_BYTES = 1 << 18


def read_block(
    block: Block, layout: Layout, columns: Sequence[int] = ()
) -> tuple[RequestChunk, tuple[Texts, ...]]:
    """Read a block of whole records.

    Args:
        columns: those of which the texts of every row that can be read are wanted, too.
    """
    wanted = sorted({*layout.columns_read, *columns})
    texts = _quickly(block, layout, wanted)
    if texts is not None:
        chunk, good = _chunk(texts, layout, block.n_lines)
        if good.all():
            return chunk, tuple(texts[column] for column in columns)
    records = _Records(block, layout)
    texts = records.texts(wanted)
    chunk, good = _chunk(texts, layout, len(records.fields))
    if not good.all():
        records.leave_out(~good)
        texts = records.texts(wanted)
        chunk, _ = _chunk(texts, layout, len(records.fields))
    return records.noted(chunk), tuple(texts[column] for column in columns)


def _quickly(block: Block, layout: Layout, wanted: Sequence[int]) -> dict[int, Texts] | None:
    """Split a block by Arrow; ``None``: a record is not one line, or it is too small to load Arrow for it."""
    small = len(block.data) < ARROWS_BYTES and "pyarrow" not in sys.modules
    if layout.row_prefix or small or not block.data.endswith(b"\n"):
        return None
    import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
    from pyarrow import csv as arrow_csv

    # A copy in memory that is Arrow's. Its threads let go of a block some time after its table is here; to let go of
    # the interpreter's memory they ask for its lock, and a thread that asks while the interpreter ends takes the whole
    # process with it (apache/arrow#34314).
    data = pa.allocate_buffer(len(block.data))
    memoryview(data).cast("B")[:] = block.data
    names = [f"c{index}" for index in range(layout.n_columns)]
    types = {names[index]: pa.dictionary(pa.int32(), pa.string()) for index in wanted}
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=len(block.data) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter, ignore_empty_lines=False),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(types), column_types=types, null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != block.n_lines:  # a record over several lines, or one that swallowed its successors
        return None
    results: dict[int, Texts] = {}
    for index in wanted:
        column = table.column(names[index]).unify_dictionaries().combine_chunks()
        codes = np.array(np.from_dlpack(column.indices), dtype=np.int32)
        results[index] = codes, tuple(column.dictionary.to_pylist())
    return results


class _Records:
    """The records of a block, split line by line: ``fields`` of each that has all, and those that are damaged."""

    def __init__(self, block: Block, layout: Layout) -> None:
        self._layout = layout
        self._first_line = block.first_line
        text = block.data.decode(errors="replace")
        self._is_cut = not text.endswith("\n")
        self._lines = text.removesuffix("\n").split("\n")
        #: Of each record the index of its first line, and of the line behind it.
        self._spans: list[tuple[int, int]] = []
        self._bad: list[tuple[int, int]] = []
        self.fields: list[list[str]] = []
        index = 0
        while index < len(self._lines):
            index = self._record(self._lines, index)

    def _record(self, lines: list[str], index: int) -> int:
        """Split the record that begins at ``index``; return where the next one begins."""
        text, layout = lines[index], self._layout
        heads = (layout.row_prefix, (layout.header or (layout.row_prefix,))[0])
        after = index + 1
        if not text.strip("\r \0") or not text.startswith(heads):
            return after
        is_open = text.count('"') % 2 == 1
        while is_open and after < len(lines) and not layout.begins_a_row(lines[after]):
            is_open = lines[after].count('"') % 2 == 0  # of this line alone: it may go on for megabytes
            after += 1
        last = after == len(lines) and self._is_cut
        whole = layout.whole(split_row("\n".join(lines[index:after]).rstrip("\r"), layout.delimiter))
        if whole is None or (last and (is_open or layout.end_may_be_cut)):
            self._bad.append((index, after))
            return after
        if last and layout.connect == layout.n_columns - 1:
            whole[-1] = ""  # its digits may be cut
        self._spans.append((index, after))
        self.fields.append(whole)
        return after

    def texts(self, wanted: Sequence[int]) -> dict[int, Texts]:
        """Return the texts of these columns."""
        return {index: _coded([fields[index] for fields in self.fields]) for index in wanted}

    def leave_out(self, damaged: BoolArray) -> None:
        """Take these records for damaged ones."""
        self._bad += [span for span, is_bad in zip(self._spans, damaged.tolist(), strict=True) if is_bad]
        self.fields = [
            fields for fields, is_bad in zip(self.fields, damaged.tolist(), strict=True) if not is_bad
        ]

    def noted(self, chunk: RequestChunk) -> RequestChunk:
        """Return a chunk with a note on the damaged records; a header that comes again belongs to another run."""
        bad, layout = Unreadable(), self._layout
        for index, after in sorted(self._bad):
            text, number = "\n".join(self._lines[index:after]), self._first_line + index
            fields = split_row(text.rstrip("\r"), layout.delimiter)
            names = tuple(field.strip(" \t\0\ufeff") for field in fields)
            if names != layout.header:
                bad = bad.plus(
                    Unreadable(
                        n=1, first_line=number, first_text=text[:_EXCERPT],
                        n_cut=int(self._is_cut and after == len(self._lines)),
                        other_header=number if layout.names_columns(names) else None,
                    )
                )  # fmt: skip
        return replace(chunk, unreadable=bad)


def _chunk(texts: Mapping[int, Texts], layout: Layout, n: int) -> tuple[RequestChunk, BoolArray]:
    """Return the requests of rows by the texts of their columns, and which of the rows can be read, shape (n,)."""

    def of(*columns: int | None) -> list[Texts | None]:
        return [None if column is None else texts[column] for column in columns]

    latency_s = _numbers(texts[layout.latency], layout.latency_of)
    good = np.isfinite(latency_s)
    start = np.full(n, np.nan)
    if layout.start is not None:
        start = _numbers(texts[layout.start], layout.start_of)
        good &= np.isfinite(start)
    evidence = of(layout.ok, layout.error_count, layout.failure, layout.code)
    if evidence[0] is not None and all(map(str.strip, evidence[0][1])):
        evidence[1:] = [None, None, None]  # the tool's own verdict decides, and combinations take time
    codes, combinations = _combined(evidence, n)
    verdicts = [verdict_of(*(item and item.strip() for item in each)) for each in combinations]
    good &= np.array([verdict is not None for verdict in verdicts], dtype=np.bool_)[codes]
    ok = np.array([bool(verdict) for verdict in verdicts], dtype=np.bool_)[codes]
    failed = np.flatnonzero(~ok)
    reasons = [item and (item[0][failed], item[1]) for item in of(*layout.kind_columns)]
    codes, combinations = _combined(reasons, len(failed))
    kind_codes, kinds = _coded([error_kind(*(item or "" for item in each)) for each in combinations])
    label: Texts = (np.zeros(n, dtype=np.int32), ("",)) if layout.label is None else texts[layout.label]
    transaction = np.array([name in layout.repeats for name in label[1]], dtype=np.bool_)[label[0]]
    if layout.message is not None:
        messages = texts[layout.message]
        transaction |= np.array(list(map(is_transaction, messages[1])), dtype=np.bool_)[messages[0]]
    return RequestChunk(
        start_epoch_s=start - latency_s if layout.stamp_is_end else start,
        latency_s=latency_s,
        ok=ok,
        label_codes=label[0],
        labels=label[1],
        transaction=transaction,
        unreadable=Unreadable(),
        connect_s=None if layout.connect is None else _numbers(texts[layout.connect], layout.latency_of),
        error_codes=kind_codes[codes],
        error_kinds=kinds,
    ), good


def _numbers(texts: Texts, parse: Callable[[str], float | None]) -> FloatArray:
    """Return the numbers that texts stand for; NaN: it is none."""
    numbers = [math.nan if (number := parse(text)) is None else number for text in texts[1]]
    return np.array(numbers, dtype=np.float64)[texts[0]]


def _combined(
    columns: Sequence[Texts | None], n: int
) -> tuple[npt.NDArray[np.intp], list[tuple[str | None, ...]]]:
    """Return which combination of texts each of ``n`` rows has, and the combinations; ``None``: no such column."""
    codes = np.zeros(n, dtype=np.intp)
    results: list[tuple[str | None, ...]] = [()] if n else []
    for column in columns:
        if column is None:
            results = [(*result, None) for result in results]
            continue
        width = len(column[1])
        pairs, codes = np.unique(codes * width + column[0], return_inverse=True)
        results = [(*results[pair // width], column[1][pair % width]) for pair in pairs.tolist()]
    return codes, results


def _coded(texts: Sequence[str]) -> Texts:
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.int32), tuple(codes)


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
    label_codes, labels = _coded([row.label for row in rows])
    error_codes, error_kinds = _coded([row.error_kind for row in rows if not row.ok])
    return RequestChunk(
        start_epoch_s=np.array([row.start_epoch_s for row in rows], dtype=np.float64),
        latency_s=np.array([row.latency_s for row in rows], dtype=np.float64),
        ok=np.array([row.ok for row in rows], dtype=np.bool_),
        label_codes=label_codes,
        labels=labels,
        transaction=np.zeros(len(rows), dtype=np.bool_),
        unreadable=bad,
        error_codes=error_codes,
        error_kinds=error_kinds,
    )
