# SPDX-License-Identifier: Apache-2.0
"""From chunks of rows to tables: all of a file in one, or stretch after stretch in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.formats.arrays import CodeArray
from harness.formats.row_layout import Layout, Row
from harness.formats.rows import read_block, read_lines
from harness.formats.sides import SideColumns
from harness.formats.source import SourceNotes, TextFile, read_blocks, without_lines
from harness.formats.table import RequestChunk, RequestTable, Unreadable, repeats_left_out
from harness.formats.values import add_kinds
from harness.model.load_tools import FileSource

#: A file of fewer rows is one stretch: that is as much as a report takes within half a gigabyte.
WHOLE_ROWS = 1_500_000
#: Rows of a stretch of a longer file, which thus has three at least; of its last one up to twice as many.
STRETCH_ROWS = 500_000


@dataclass(frozen=True, kw_only=True)
class RequestStream:
    """A file of requests that was opened and recognised; it can be read once, whole or in stretches.

    ``sides``: the columns of its first rows that only checks need; ``None``: the tool writes no such columns.
    ``from_zero``: its times are since the tool's own start. ``most_rows``: the tool writes no more of them.
    ``metric``: that of the rows which are requests, in a file that has rows of others.
    """

    path: Path
    source: FileSource
    resolution_s: float
    layout: Layout
    chunks: Iterator[RequestChunk]
    remarks: tuple[str, ...] = field(default=())
    notes: SourceNotes
    sides: SideColumns | None = None
    from_zero: bool = False
    most_rows: int | None = None
    metric: str | None = None

    def collect(self) -> RequestTable:
        """Read everything; memory is about 21 bytes a row, 29 with times to connect.

        Raises:
            InputError: there are whole lines, and not one of them could be read.
        """
        (table,) = self.stretches(None)
        return table

    def stretches(
        self, n_rows: int | None = STRETCH_ROWS, *, whole_rows: int = WHOLE_ROWS
    ) -> Iterator[RequestTable]:
        """Yield tables of ``n_rows`` to twice as many rows in the file's order; one with all of a file that has
        fewer than ``whole_rows``, or with ``n_rows`` ``None``.

        There is at least one, of no rows if need be; what is to be said about the file stands in the last one.
        Rows of transaction controllers are left out where rows that they can sum up stand before or beside them.

        Raises:
            InputError: as ``collect``.
        """
        joiner = _Joiner(self)
        enough = whole_rows
        n_read = 0
        for chunk in self.chunks:
            joiner.add(chunk)
            n_read += len(chunk.latency_s)
            while n_rows is not None and joiner.n_waiting >= enough:
                enough = 2 * n_rows
                yield joiner.table(n_rows)
        text = list(self.remarks)
        if self.most_rows is not None and n_read >= self.most_rows:
            text.append(
                f"{self.source} writes no more than {self.most_rows:,} rows: there may have been more requests"
            )
        yield joiner.table(None).with_notes(*text, *self.notes.notes)


def row_stream(
    file: TextFile,
    layout: Layout,
    *,
    source: FileSource,
    resolution_s: float,
    remarks: tuple[str, ...] = (),
    sides: SideColumns | None = None,
    from_zero: bool = False,
    most_rows: int | None = None,
    metric: str | None = None,
) -> RequestStream:
    """Open a file of delimited rows, below the line that names the columns where the layout has one."""
    notes = SourceNotes()
    n_heads = int(layout.header is not None)
    pieces = without_lines(file.pieces(notes), n_heads)
    blocks = read_blocks(pieces, begins_record=layout.begins_a_row, first_line=file.first_line + n_heads)
    return RequestStream(
        path=file.path, source=source, resolution_s=resolution_s, layout=layout,
        chunks=(read_block(block, layout)[0] for block in blocks), remarks=(*remarks, *file.remarks), notes=notes,
        sides=sides, from_zero=from_zero and layout.start is not None, most_rows=most_rows, metric=metric,
    )  # fmt: skip


def line_stream(
    file: TextFile,
    layout: Layout,
    *,
    source: FileSource,
    resolution_s: float,
    begins_record: Callable[[bytes], bool],
    is_row: Callable[[bytes], bool],
    row_of: Callable[[bytes], Row | None],
    remarks: tuple[str, ...] = (),
    metric: str | None = None,
) -> RequestStream:
    """Open a file of lines that are no delimited rows; see :func:`harness.formats.rows.read_lines`."""
    notes = SourceNotes()
    blocks = read_blocks(file.pieces(notes), begins_record=begins_record, first_line=file.first_line)
    return RequestStream(
        path=file.path, source=source, resolution_s=resolution_s, layout=layout,
        chunks=(read_lines(block, is_row, row_of) for block in blocks), remarks=(*remarks, *file.remarks), notes=notes,
        metric=metric,
    )  # fmt: skip


class _Joiner:
    """Chunks that wait to become a table."""

    def __init__(self, stream: RequestStream) -> None:
        self._stream = stream
        self._parts: list[RequestChunk] = []
        self._labels: dict[str, int] = {}
        self._unreadable = Unreadable()
        self._some_read = self._some_plain = False
        self.n_waiting = 0

    def add(self, chunk: RequestChunk) -> None:
        self._unreadable = self._unreadable.plus(chunk.unreadable)
        if self._unreadable.other_header is not None:
            raise InputError(
                "holds runs with different columns, so that one header is not that of all rows",
                file=self._stream.path,
                place=f"line {self._unreadable.other_header}",
                found="another header",
                allowed="runs with the columns of the first line: split the file there",
            )
        if len(chunk.latency_s):
            self._parts.append(chunk)
            self.n_waiting += len(chunk.latency_s)
            self._some_read = True
            self._some_plain |= not chunk.transaction.all()

    def table(self, n_rows: int | None) -> RequestTable:
        """Join the first chunks that together have ``n_rows`` rows; ``None``: all that wait."""
        if n_rows is None and not self._some_read:
            self._refuse_when_nothing_was_read()
        parts: list[RequestChunk] = []
        while self._parts and (n_rows is None or sum(len(part.latency_s) for part in parts) < n_rows):
            parts.append(self._parts.pop(0))
        self.n_waiting -= sum(len(part.latency_s) for part in parts)
        # A transaction's row repeats the time of the rows it sums up.
        n_sums = sum(int(np.count_nonzero(part.transaction)) for part in parts) if self._some_plain else 0
        if n_sums:
            parts = [part.rows(~part.transaction) for part in parts]
        connects = [part.connect_s for part in parts if part.connect_s is not None]
        kinds: dict[str, int] = {}
        for part in parts:
            n_each = np.bincount(part.error_codes, minlength=len(part.error_kinds)).tolist()
            for kind, n in zip(part.error_kinds, n_each, strict=True):
                add_kinds(kinds, {kind: n} if n else {})
        stream, layout, unreadable = self._stream, self._stream.layout, self._unreadable
        self._unreadable = Unreadable()
        return RequestTable(
            path=stream.path,
            source=stream.source,
            start_epoch_s=_join([part.start_epoch_s for part in parts], np.float64),
            latency_s=_join([part.latency_s for part in parts], np.float64),
            ok=_join([part.ok for part in parts], np.bool_),
            label_codes=_join([self._codes(part) for part in parts], np.int32),
            labels=tuple(self._labels),
            resolution_s=stream.resolution_s,
            unreadable=unreadable,
            n_transactions_left_out=n_sums,
            repeats=layout.repeats,
            has_start_times=layout.start is not None,
            ok_known=layout.tells_failures,
            connect_s=_join(connects, np.float64) if layout.connect is not None else None,
            from_zero=stream.from_zero,
            sides=stream.sides,
            notes=(repeats_left_out(n_sums, layout.repeats),) if n_sums else (),
            errors_by_kind=kinds,
        )

    def _codes(self, part: RequestChunk) -> CodeArray:
        known = [self._labels.setdefault(label, len(self._labels)) for label in part.labels]
        return np.asarray(known, dtype=np.int32)[part.label_codes]

    def _refuse_when_nothing_was_read(self) -> None:
        bad, layout = self._unreadable, self._stream.layout
        if self._stream.metric is not None and bad.n == 0:
            raise InputError(
                f"has no request: there is no {self._stream.metric} in it",
                file=self._stream.path,
                allowed="the output of a test that sends HTTP requests",
            )
        if bad.n > bad.n_cut:
            raise InputError(
                "not one line could be read",
                file=self._stream.path,
                place=f"line {bad.first_line}",
                found=bad.first_text,
                allowed=f"{layout.n_columns} columns, separated by {layout.delimiter!r}"
                + (f": {layout.delimiter.join(layout.header)}" if layout.header else ""),
            )


def _join(arrays: list[np.ndarray], kind: type[np.generic]) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=kind)
