# SPDX-License-Identifier: Apache-2.0
"""From chunks of rows to tables: all of a file in one, or stretch after stretch in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.formats.arrays import CodeArray
from harness.formats.error_kinds import add_kinds
from harness.formats.row_layout import Layout
from harness.formats.rows import read_chunks
from harness.formats.source import SourceNotes, read_blocks, read_text_pieces, without_first_line
from harness.formats.table import RequestChunk, RequestTable, Unreadable
from harness.model.load_tools import FileSource

#: A file of fewer rows is one stretch: that is as much as a report takes within half a gigabyte.
WHOLE_ROWS = 1_500_000
#: Rows of a stretch of a longer file, which thus has three at least; of its last one up to twice as many.
STRETCH_ROWS = 500_000


@dataclass(frozen=True, kw_only=True)
class RequestStream:
    """A file of requests that was opened and recognised; it can be read once, whole or in stretches."""

    path: Path
    source: FileSource
    resolution_s: float
    layout: Layout
    chunks: Iterator[RequestChunk]
    said: tuple[str, ...] = field(default=())
    notes: SourceNotes

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
        for chunk in self.chunks:
            joiner.add(chunk)
            while n_rows is not None and joiner.n_waiting >= enough:
                enough = 2 * n_rows
                yield joiner.table(n_rows)
        yield joiner.table(None).with_notes(*self.said, *self.notes.notes)


def below_a_heading(
    path: Path, layout: Layout, *, source: FileSource, resolution_s: float, said: tuple[str, ...] = ()
) -> RequestStream:
    """Open a file of delimited rows whose first line names the columns."""
    notes = SourceNotes()
    rows = without_first_line(read_text_pieces(path, notes))
    blocks = read_blocks(rows, begins_record=layout.begins_a_row, first_line=2)
    return RequestStream(
        path=path, source=source, resolution_s=resolution_s, layout=layout, chunks=read_chunks(blocks, layout),
        said=said, notes=notes,
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
        if len(chunk.latency_s):
            self._parts.append(chunk)
            self.n_waiting += len(chunk.latency_s)
            self._some_read = True
            self._some_plain |= not chunk.transaction.all()

    def table(self, n_rows: int | None) -> RequestTable:
        """Join the first chunks that together have ``n_rows`` rows; ``None``: all that wait."""
        if n_rows is None and not self._some_read:
            self._refuse_when_nothing_was_read()
        parts = self._take(n_rows)
        keep, n_left_out = self._without_sums(parts)
        connects = [part.connect_s for part in parts if part.connect_s is not None]
        stream, layout, unreadable = self._stream, self._stream.layout, self._unreadable
        self._unreadable = Unreadable()
        return RequestTable(
            path=stream.path,
            source=stream.source,
            start_epoch_s=_join([part.start_epoch_s for part in parts], keep, np.float64),
            latency_s=_join([part.latency_s for part in parts], keep, np.float64),
            ok=_join([part.ok for part in parts], keep, np.bool_),
            label_codes=_join([self._codes(part) for part in parts], keep, np.int32),
            labels=tuple(self._labels),
            resolution_s=stream.resolution_s,
            unreadable=unreadable,
            n_transactions_left_out=n_left_out,
            has_start_times=layout.start is not None,
            ok_known=layout.ok is not None or layout.code is not None,
            connect_s=_join(connects, keep, np.float64) if layout.connect is not None else None,
            notes=(sums_left_out(n_left_out),) if n_left_out else (),
            errors_by_kind=_count_kinds(parts, leave_out_sums=keep is not None),
        )

    def _take(self, n_rows: int | None) -> list[RequestChunk]:
        taken: list[RequestChunk] = []
        n = 0
        while self._parts and (n_rows is None or n < n_rows):
            taken.append(self._parts.pop(0))
            n += len(taken[-1].latency_s)
        self.n_waiting -= n
        return taken

    def _codes(self, part: RequestChunk) -> CodeArray:
        known = [self._labels.setdefault(label, len(self._labels)) for label in part.labels]
        return np.asarray(known, dtype=np.int32)[part.label_codes]

    def _without_sums(self, parts: list[RequestChunk]) -> tuple[np.ndarray | None, int]:
        """Which rows to keep (None: all): a transaction's row repeats the time of the rows it sums up."""
        n_sums = sum(int(np.count_nonzero(part.transaction)) for part in parts)
        if n_sums == 0 or not self._some_plain:
            return None, 0
        return ~np.concatenate([part.transaction for part in parts]), n_sums

    def _refuse_when_nothing_was_read(self) -> None:
        bad, layout = self._unreadable, self._stream.layout
        if bad.n > bad.n_cut:
            raise InputError(
                "not one line could be read",
                file=self._stream.path,
                place=f"line {bad.first_line}",
                found=bad.first_text,
                allowed=f"{layout.n_columns} columns, separated by {layout.delimiter!r}"
                + (f": {layout.delimiter.join(layout.header)}" if layout.header else ""),
            )


def sums_left_out(n: int) -> str:
    """Return the note on the rows of transaction controllers that one table left out."""
    return f"{n} rows of transaction controllers left out"


def _count_kinds(parts: list[RequestChunk], *, leave_out_sums: bool) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in parts:
        codes = part.error_codes[~part.transaction[~part.ok]] if leave_out_sums else part.error_codes
        n_each = np.bincount(codes, minlength=len(part.error_kinds)).tolist()
        add_kinds(counts, {kind: n for kind, n in zip(part.error_kinds, n_each, strict=True) if n})
    return counts


def _join(arrays: list[np.ndarray], keep: np.ndarray | None, kind: type[np.generic]) -> np.ndarray:
    if not arrays:
        return np.zeros(0, dtype=kind)
    joined = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    return joined if keep is None else joined[keep]
