# SPDX-License-Identifier: Apache-2.0
"""Tables of text as columns, as blocks of archives up to version 4 of their list have them: read, no longer written.

Layout, integers being little-endian::

    uint32      size of the head
    head        JSON: the tables (rows of equally many cells), and of each column how it is written
    rows        one byte a row: the number of its table
    columns     of each table, of each column: one byte a cell, its kind; the planes of its numbers; its other cells

Kinds 0 to 9 are numbers with that many decimals; ``_OTHER`` is a cell of the list of other cells. A number is the
integer without its point, minus the prediction from the cells ``lag`` and ``2 * lag`` before (``order`` 1 and 2).
With ``by`` the numbers were first sorted by the cells of that earlier column, rows with equal cells in their order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from harness.model.base import Frozen

Integers = NDArray[np.int64]

_OTHER = 255
#: The bytes of columns are at most so many times those of their text.
MOST_TIMES = 2
_HEAD = struct.Struct("<I")
_Count = Annotated[int, Field(ge=0)]


class BadColumns(ValueError):
    """Bytes that are not columns of text."""


class _Column(Frozen):
    """How a column is written; ``by``: the number of the earlier column that its numbers are sorted by."""

    by: _Count | None = None
    lag: Annotated[int, Field(ge=1, le=6)]
    order: Annotated[int, Field(ge=0, le=2)]
    planes: Annotated[int, Field(ge=0, le=8)]
    numbers: _Count
    other_bytes: _Count


class _Table(Frozen):
    rows: _Count
    columns: tuple[_Column, ...] = Field(min_length=1)


class _Head(Frozen):
    tables: tuple[_Table, ...] = Field(max_length=250)


class _Source:
    """Bytes that are taken piece by piece."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise BadColumns("columns: they are cut")
        self._at += size
        return self._data[self._at - size : self._at]


def from_columns(data: bytes, most_bytes: int) -> bytes:
    """Return the text whose form in columns ``data`` is.

    Raises:
        BadColumns: it is none, or of more than ``most_bytes``.
    """
    source = _Source(data)
    try:
        head = _Head.model_validate_json(source.take(_HEAD.unpack(source.take(_HEAD.size))[0]))
    except ValidationError as error:
        raise BadColumns(f"columns: {error.errors(include_url=False)[0]['msg']}") from None
    if sum(table.rows * len(table.columns) for table in head.tables) > most_bytes:
        raise BadColumns(f"columns: more cells than {most_bytes} bytes have")
    rows = source.take(sum(table.rows for table in head.tables))
    for number, table in enumerate(head.tables):
        if rows.count(number) != table.rows:
            raise BadColumns("columns: rows are not those of their tables")
    tables = [_lines(table, source) for table in head.tables]
    if source.left:
        raise BadColumns("columns: something follows the last one")
    if sum(sum(map(len, lines)) + len(lines) for lines in tables) > most_bytes:
        raise BadColumns(f"columns: of more than {most_bytes} bytes")
    following = [iter(lines) for lines in tables]
    return b"\n".join([*map(next, map(following.__getitem__, rows)), b""])


def _lines(table: _Table, source: _Source) -> list[bytes]:
    columns: list[list[bytes]] = []
    for column in table.columns:
        if column.by is not None and column.by >= len(columns):
            raise BadColumns("columns: sorted by a column that does not come before")
        columns.append(_cells(table.rows, column, source, None if column.by is None else columns[column.by]))
    return [b",".join(cells) for cells in zip(*columns, strict=True)]


def _cells(rows: int, column: _Column, source: _Source, by: Sequence[bytes] | None) -> list[bytes]:
    """Return the cells of a column; ``by``: those of the column that its numbers are sorted by."""
    kinds = source.take(rows)
    if rows - kinds.count(_OTHER) != column.numbers:
        raise BadColumns("columns: numbers are not those of their kinds")
    planes = np.zeros((column.numbers, 8), np.uint8)
    for plane in range(column.planes):
        planes[:, plane] = np.frombuffer(source.take(column.numbers), np.uint8)
    written = planes.view("<u8").reshape(-1).astype(np.uint64)
    values = (written >> np.uint64(1)).view(np.int64) ^ -(written & np.uint64(1)).view(np.int64)
    for _ in range(column.order):
        for start in range(column.lag):
            values[start :: column.lag] = np.cumsum(values[start :: column.lag])
    by_cell = np.frombuffer(kinds, np.uint8)
    if by is not None:
        numbers: dict[bytes, int] = {}
        places = np.array([numbers.setdefault(cell, len(numbers)) for cell in by], np.int64)
        values[np.argsort(places[by_cell != _OTHER], kind="stable")] = values.copy()
    other_cells = source.take(column.other_bytes).split(b"\n")
    if other_cells.pop() != b"" or len(other_cells) != rows - column.numbers:
        raise BadColumns("columns: other cells are not those of their kinds")
    if any(kind > 9 for kind in set(kinds) - {_OTHER}):
        raise BadColumns("columns: cells of an unknown kind")
    of_numbers = by_cell[by_cell != _OTHER]
    following: dict[int, Iterator[bytes]] = {
        kind: iter(_written(values[of_numbers == kind], kind)) for kind in set(of_numbers.tolist())
    }
    following[_OTHER] = iter(other_cells)
    # without a loop in Python: there are millions of cells
    return list(map(next, map(following.__getitem__, kinds)))


def _written(values: Integers, decimals: int) -> list[bytes]:
    """Return numbers of so many decimals as text."""
    if not decimals:
        return [b"%d" % value for value in values.tolist()]
    form = b"%%d.%%0%dd" % decimals
    whole, part = (column.tolist() for column in np.divmod(np.abs(values), 10**decimals))
    written = [form % pair for pair in zip(whole, part, strict=True)]
    for below_zero in np.flatnonzero(values < 0).tolist():
        written[below_zero] = b"-" + written[below_zero]
    return written
