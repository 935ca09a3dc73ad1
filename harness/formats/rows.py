# SPDX-License-Identifier: Apache-2.0
"""Rows of text, one per request, to columns.

A block of delimited text is split into fields by Arrow where each record is one line, else line by line, so that one
odd row costs that row and no other. What a field says is decided in one place for both, once for each different text.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import InputError
from harness.formats.arrays import BoolArray, FloatArray, Texts, with_rows
from harness.formats.row_layout import LONGEST_S, Layout, error_kind, is_transaction, split_row, verdict_of
from harness.formats.source import Block, SourceNotes, TextFile, read_blocks, without_lines
from harness.formats.table import RequestTable, Rows, SideColumns, Unreadable, join_rows
from harness.model.load_tools import FileSource

_EXCERPT = 100
#: Arrow takes a tenth of a second to load, in which 10,000 rows are read without it.
ARROWS_BYTES = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Row:
    """One request of a line that is no delimited row; ``error_kind``: of one that failed, in words."""

    start_epoch_s: float
    latency_s: float
    ok: bool
    label: str
    error_kind: str = ""


@dataclass(frozen=True, kw_only=True)
class RequestStream:
    """A file of requests that was opened and recognised; its rows are read once, when they are asked for.

    ``sides``: the columns of its first rows that only checks need; ``None``: the tool writes no such columns.
    ``from_zero``: its times are since the tool's own start. ``most_rows``: the tool writes no more of them.
    ``metric``: that of the rows which are requests, in a file that has rows of others.
    """

    path: Path
    source: FileSource
    resolution_s: float
    layout: Layout
    parts: Iterator[Rows]
    notes: SourceNotes
    remarks: tuple[str, ...] = ()
    sides: SideColumns | None = None
    from_zero: bool = False
    most_rows: int | None = None
    metric: str | None = None

    def collect(self) -> RequestTable:
        """Read everything; memory is about 25 bytes a row, 33 with times to connect.

        Rows of transaction controllers are left out where there are others: they repeat the time of the rows that
        they sum up. Raises InputError: not one of the lines could be read; or runs with different columns.
        """
        layout, rows = self.layout, join_rows(list(self.parts))
        self._refuse(rows.unreadable, n_rows=len(rows.latency_s))
        n, notes = len(rows.latency_s), list(self.remarks)
        sums: Rows | None = None
        if self.most_rows is not None and n >= self.most_rows:
            notes.append(
                f"{self.source} writes no more than {self.most_rows:,} rows: there may have been more requests"
            )
        if rows.transaction is not None and rows.transaction.any() and not rows.transaction.all():
            sums, rows = with_rows(rows, rows.transaction), with_rows(rows, ~rows.transaction)
            names = ", ".join(sorted(layout.repeats))
            which = "left out that are sums or parts of other rows of their thread: " + names
            which = which if names else "of transaction controllers left out"
            notes.insert(0, f"{len(sums.latency_s)} rows {which}")
        return RequestTable(
            **vars(replace(rows, transaction=None)),
            path=self.path,
            source=self.source,
            resolution_s=self.resolution_s,
            sums=sums,
            has_start_times=layout.start is not None,
            ok_known=layout.tells_failures,
            from_zero=self.from_zero and layout.start is not None,
            notes=(*notes, *self.notes.notes),
            sides=self.sides,
            latency_column=layout.header[layout.latency] if layout.header else "elapsed",
            latency_units_per_s=layout.latency_units_per_s,
        )

    def _refuse(self, bad: Unreadable, n_rows: int) -> None:
        layout = self.layout
        if bad.other_header is not None:
            raise InputError(
                "holds runs with different columns, so that one header is not that of all rows",
                file=self.path,
                place=f"line {bad.other_header}",
                found="another header",
                allowed="runs with the columns of the first line: split the file there",
            )
        if not n_rows and self.metric is not None and bad.n == 0:
            raise InputError(
                f"has no request: there is no {self.metric} in it",
                file=self.path,
                allowed="the output of a test that sends HTTP requests",
            )
        if not n_rows and bad.n > bad.n_cut:
            raise InputError(
                "not one line could be read",
                file=self.path,
                place=f"line {bad.first_line}",
                found=bad.first_text,
                allowed=f"{layout.n_columns} columns, separated by {layout.delimiter!r}"
                + (f": {layout.delimiter.join(layout.header)}" if layout.header else ""),
            )


def row_stream(
    file: TextFile,
    layout: Layout,
    *,
    read: Callable[[Block], Rows] | None = None,
    begins_record: Callable[[bytes], bool] | None = None,
    remarks: tuple[str, ...] = (),
    **facts: Any,
) -> RequestStream:
    """Open a file of rows, delimited ones below the line that names the columns where the layout has one.

    ``read`` and ``begins_record``: of lines that are no delimited rows (:func:`read_lines`). ``facts``: the other
    fields of the stream.
    """
    notes = SourceNotes()
    n_heads = int(layout.header is not None and read is None)
    blocks = read_blocks(
        without_lines(file.pieces(notes), n_heads),
        begins_record=begins_record or layout.begins_a_row,
        first_line=file.first_line + n_heads,
    )
    parts = map(read or (lambda block: read_block(block, layout)[0]), blocks)
    remarks = (*remarks, *file.remarks)
    return RequestStream(path=file.path, layout=layout, parts=parts, notes=notes, remarks=remarks, **facts)


def read_block(block: Block, layout: Layout, columns: Sequence[int] = ()) -> tuple[Rows, tuple[Texts, ...]]:
    """Read a block of whole records.

    ``columns``: those of which the texts of every row that can be read are wanted, too.
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
    chunk = replace(with_rows(chunk, good), unreadable=records.unreadable(~good))
    return chunk, tuple((texts[column][0][good], texts[column][1]) for column in columns)


def _quickly(block: Block, layout: Layout, wanted: Sequence[int]) -> dict[int, Texts] | None:
    """Split a block by Arrow; ``None``: a record is not one line, it is too small for Arrow, or Arrow is not there."""
    small = len(block.data) < ARROWS_BYTES and "pyarrow" not in sys.modules
    if layout.row_prefix or small or not block.data.endswith(b"\n"):
        return None
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
        from pyarrow import csv as arrow_csv
    except ModuleNotFoundError:  # `pip install .` does without its 165 MB
        return None

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

    def unreadable(self, damaged: BoolArray) -> Unreadable:
        """Return a note on damaged records; a header that comes again belongs to another run."""
        bad, layout = Unreadable(), self._layout
        spans = [span for span, is_bad in zip(self._spans, damaged.tolist(), strict=True) if is_bad]
        for index, after in sorted([*self._bad, *spans]):
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
        return bad


def _chunk(texts: Mapping[int, Texts], layout: Layout, n: int) -> tuple[Rows, BoolArray]:
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
    of_failed, combinations = _combined(reasons, len(failed))
    kind_codes, kinds = _coded(["", *(error_kind(*(item or "" for item in each)) for each in combinations)])
    error_codes = np.zeros(n, dtype=np.int32)
    error_codes[failed] = kind_codes[1:][of_failed]
    label: Texts = (np.zeros(n, dtype=np.int32), ("",)) if layout.label is None else texts[layout.label]
    transaction = np.array([name in layout.repeats for name in label[1]], dtype=np.bool_)[label[0]]
    if layout.message is not None:
        messages = texts[layout.message]
        transaction |= np.array(list(map(is_transaction, messages[1])), dtype=np.bool_)[messages[0]]
    return Rows(
        start_epoch_s=start - latency_s if layout.stamp_is_end else start,
        latency_s=latency_s,
        ok=ok,
        label_codes=label[0],
        labels=label[1],
        error_codes=error_codes,
        error_kinds=kinds,
        connect_s=None if layout.connect is None else _numbers(texts[layout.connect], layout.latency_of),
        transaction=transaction,
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


def read_lines(block: Block, is_row: Callable[[bytes], bool], row_of: Callable[[bytes], Row | None]) -> Rows:
    """Read the lines of a block that are rows, each by itself.

    ``row_of``: returns the request of a line, ``None``: it is of something else; raises one of the errors below where
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
    error_codes, error_kinds = _coded([row.error_kind for row in rows])
    return Rows(
        start_epoch_s=np.array([row.start_epoch_s for row in rows], dtype=np.float64),
        latency_s=np.array([row.latency_s for row in rows], dtype=np.float64),
        ok=np.array([row.ok for row in rows], dtype=np.bool_),
        label_codes=label_codes,
        labels=labels,
        error_codes=error_codes,
        error_kinds=error_kinds,
        unreadable=bad,
    )
