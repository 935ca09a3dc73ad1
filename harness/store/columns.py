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

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from harness.model.base import Frozen

_OTHER = 255
#: The bytes of columns are at most so many times those of their text.
MOST_TIMES = 2
_Count = Annotated[int, Field(ge=0)]


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


def from_columns(data: bytes, most_cells: int) -> bytes:
    """Return the text whose form in columns ``data`` is; of damaged columns another text, if any.

    Raises:
        ValueError, LookupError, ArithmeticError: it is none, or of more than ``most_cells``.
    """
    source = BytesIO(data)
    head = _Head.model_validate_json(source.read(int.from_bytes(source.read(4), "little")))
    if sum(table.rows * len(table.columns) for table in head.tables) > most_cells:
        raise ValueError("more cells than text")
    rows = source.read(sum(table.rows for table in head.tables))
    following = [iter(_lines(table, source)) for table in head.tables]
    return b"\n".join([*map(next, map(following.__getitem__, rows)), b""])


def _lines(table: _Table, source: BytesIO) -> list[bytes]:
    columns: list[list[bytes]] = []
    for column in table.columns:
        columns.append(_cells(table.rows, column, source, None if column.by is None else columns[column.by]))
    return [b",".join(cells) for cells in zip(*columns, strict=True)]


def _cells(rows: int, column: _Column, source: BytesIO, by: Sequence[bytes] | None) -> list[bytes]:
    """Return the cells of a column; ``by``: those of the column that its numbers are sorted by."""
    kinds = source.read(rows)
    if len(kinds) - kinds.count(_OTHER) != column.numbers:
        raise ValueError("numbers are not those of their kinds")
    planes = np.zeros((column.numbers, 8), np.uint8)
    for plane in range(column.planes):
        planes[:, plane] = np.frombuffer(source.read(column.numbers), np.uint8)
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
    of_numbers = by_cell[by_cell != _OTHER]
    following: dict[int, Iterator[bytes]] = {
        kind: iter(_written(values[of_numbers == kind], kind)) for kind in set(of_numbers.tolist())
    }
    following[_OTHER] = iter(source.read(column.other_bytes).split(b"\n"))
    # without a loop in Python: there are millions of cells
    return list(map(next, map(following.__getitem__, kinds)))


def _written(values: NDArray[np.int64], decimals: int) -> list[bytes]:
    """Return numbers of so many decimals as text."""
    if not decimals:
        return [b"%d" % value for value in values.tolist()]
    form = b"%%d.%%0%dd" % decimals
    whole, part = (column.tolist() for column in np.divmod(np.abs(values), 10**decimals))
    written = [form % pair for pair in zip(whole, part, strict=True)]
    for below_zero in np.flatnonzero(values < 0).tolist():
        written[below_zero] = b"-" + written[below_zero]
    return written
