# SPDX-License-Identifier: Apache-2.0
"""Tables of text as columns: a form in which rows of samples and requests take half the bytes when compressed.

A row of samples is mostly a moment and a few counters, and what is new in them is how much they grew. As text the
digits of every total come again in each row; here each column holds the differences between its numbers, by planes
of their bytes, so that the compression that follows sees what is alike beside each other. The form is exact: a
number is taken apart only where the same digits come out again, and any other cell is kept as it is written.

Layout, integers being little-endian::

    uint32      size of the head
    head        JSON: the tables (rows of equally many cells), and of each column how it is written
    rows        one byte a row: the number of its table
    columns     of each table, of each column: one byte a cell, its kind; the planes of its numbers; its other cells

Kinds 0 to 9 are numbers with that many decimals; ``_OTHER`` is a cell of the list of other cells. A number is the
integer without its point, minus the prediction from the cells ``lag`` and ``2 * lag`` before (``order`` 1 and 2):
rows of several processes in turn are predicted by those of the same one. With ``by`` the numbers are first sorted by
the cells of that earlier column, rows with equal cells in their order: what a process used up is predicted by its own
rows, however they alternate with those of others, while the moments are predicted best by the row before.
"""

from __future__ import annotations

import lzma
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from harness.model.base import Frozen

Integers = NDArray[np.int64]

_OTHER = 255
#: Written the one way in which ``_written`` writes it; at most 18 digits, so that sums of three fit 64 bits.
_NUMBER = re.compile(rb"(-?)(0|[1-9][0-9]{0,8})(?:\.([0-9]{1,9}))?")
_LAGS = (1, 2, 3, 4, 6)
_ORDERS = (0, 1, 2)
_MOST_TABLES = 250
#: Earlier columns that numbers may be sorted by: of cells that are no numbers, so many different ones at most.
_MOST_WORDS = 64
_MOST_SORTINGS = 2
#: Predictions that leave more than so many times the fewest bits are not tried.
_WORTH_TRYING = 3
_TRIAL = {"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 4, "lp": 0, "pb": 0}
#: Of the bytes of the text, so that a reader knows how much it may decompress.
MOST_TIMES = 2
_HEAD = struct.Struct("<I")
_Count = Annotated[int, Field(ge=0)]


class BadColumns(ValueError):
    """Bytes that are not columns of text."""


class _Column(Frozen):
    """How a column is written; ``by``: the number of the earlier column that its numbers are sorted by."""

    by: _Count | None = None
    lag: Annotated[int, Field(ge=1, le=max(_LAGS))]
    order: Annotated[int, Field(ge=0, le=max(_ORDERS))]
    planes: Annotated[int, Field(ge=0, le=8)]
    numbers: _Count
    other_bytes: _Count


class _Written(NamedTuple):
    """A prediction, and what it leaves as the planes of its bytes."""

    by: int | None
    lag: int
    order: int
    n_planes: int
    planes: bytes


class _Table(Frozen):
    rows: _Count
    columns: tuple[_Column, ...] = Field(min_length=1)


class _Head(Frozen):
    tables: tuple[_Table, ...] = Field(max_length=_MOST_TABLES)


def to_columns(text: bytes) -> bytes | None:
    """Return the form in columns of lines of cells.

    ``None``: it is no such text, or would take more than ``MOST_TIMES`` its bytes before it is compressed.
    """
    lines = text.split(b"\n")
    if lines.pop() != b"" or not lines:
        return None
    tables: dict[int, list[list[bytes]]] = {}
    numbers: dict[int, int] = {}
    rows = bytearray()
    for line in lines:
        cells = line.split(b",")
        if len(cells) not in tables:
            numbers[len(cells)] = len(tables)
            tables[len(cells)] = []
        tables[len(cells)].append(cells)
        if len(tables) > _MOST_TABLES:
            return None
        rows.append(numbers[len(cells)])
    heads: list[_Table] = []
    body: list[bytes] = [bytes(rows)]
    for table in tables.values():
        columns = _columns(list(zip(*table, strict=True)))
        heads.append(_Table(rows=len(table), columns=tuple(column for column, _ in columns)))
        body += [data for _, data in columns]
    head = _Head(tables=tuple(heads)).model_dump_json(exclude_none=True).encode()
    made = b"".join((_HEAD.pack(len(head)), head, *body))
    return made if len(made) <= MOST_TIMES * len(text) else None


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


def _columns(table: Sequence[Sequence[bytes]]) -> list[tuple[_Column, bytes]]:
    """Return how each column of a table is written, and its bytes."""
    made: list[tuple[_Column, bytes]] = []
    sortings: dict[int, Integers] = {}
    for number, cells in enumerate(table):
        column, data = _column(cells, sortings)
        made.append((column, data))
        if not column.numbers and len(sortings) < _MOST_SORTINGS and 1 < len(set(cells)) <= _MOST_WORDS:
            sortings[number] = _places(cells)
    return made


def _column(cells: Sequence[bytes], sortings: Mapping[int, Integers]) -> tuple[_Column, bytes]:
    kinds = bytearray()
    values: list[int] = []
    other_cells: list[bytes] = []
    for cell in cells:
        match = _NUMBER.fullmatch(cell)
        if match is None or (match[1] and not int(match[2] + (match[3] or b""))):
            kinds.append(_OTHER)
            other_cells.append(cell)
        else:
            kinds.append(len(match[3] or b""))
            values.append(int(match[1] + match[2] + (match[3] or b"")))
    other_text = b"\n".join(other_cells) + b"\n" if other_cells else b""
    best = _best(np.array(values, np.int64), np.frombuffer(kinds, np.uint8) != _OTHER, sortings)
    column = _Column(
        by=best.by, lag=best.lag, order=best.order, planes=best.n_planes, numbers=len(values),
        other_bytes=len(other_text),
    )  # fmt: skip
    return column, bytes(kinds) + best.planes + other_text


def _places(cells: Sequence[bytes]) -> Integers:
    """Return for each cell the number of the different ones that come first."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(cell, len(numbers)) for cell in cells], np.int64)


def _best(values: Integers, is_number: NDArray[np.bool_], sortings: Mapping[int, Integers]) -> _Written:
    """Return the numbers by the prediction that takes the fewest bytes when compressed.

    Bits alone do not tell: first differences of moments are large, but most of their bytes are the same.
    """
    orders: dict[int | None, Integers] = {None: np.arange(len(values))}
    orders |= {by: np.argsort(places[is_number], kind="stable") for by, places in sortings.items()}
    tried: list[tuple[float, int | None, int, int, Integers]] = []
    for by, order_of in orders.items():
        ordered = values[order_of]
        for order in _ORDERS:
            left = [(lag, _unpredicted(ordered, lag, order)) for lag in (_LAGS if order else _LAGS[:1])]
            lag, fewest = min(left, key=lambda each: _bits(each[1]))
            tried.append((_bits(fewest), by, lag, order, fewest))
    most_bits = _WORTH_TRYING * min(bits for bits, *_ in tried)
    written = [_planes(by, lag, order, left) for bits, by, lag, order, left in tried if bits <= most_bits]
    return written[0] if len(written) == 1 else min(written, key=_compressed_bytes)


def _bits(left: Integers) -> float:
    return float(np.log2(np.abs(left.astype(np.float64)) * 2 + 1).sum())


def _planes(by: int | None, lag: int, order: int, left: Integers) -> _Written:
    written = (left.view(np.uint64) << np.uint64(1)) ^ (left >> 63).view(np.uint64)
    n_planes = (int(written.max()).bit_length() + 7) // 8 if len(left) else 0
    by_byte = written.astype("<u8").view(np.uint8).reshape(-1, 8).T[:n_planes]
    return _Written(by, lag, order, n_planes, by_byte.tobytes())


def _compressed_bytes(written: _Written) -> int:
    # a dictionary of the preset's size would take longer to make than most columns to compress
    sized = _TRIAL | {"dict_size": max(4096, len(written.planes))}
    return len(lzma.compress(written.planes, format=lzma.FORMAT_RAW, filters=[sized]))


def _unpredicted(values: Integers, lag: int, order: int) -> Integers:
    for _ in range(order):
        before = np.zeros_like(values)
        before[lag:] = values[:-lag]
        values = values - before
    return values


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
        order_of = np.argsort(_places(by)[by_cell != _OTHER], kind="stable")
        values[order_of] = values.copy()
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
    """Return numbers of so many decimals as text, the one way in which ``_NUMBER`` takes them."""
    if not decimals:
        return [b"%d" % value for value in values.tolist()]
    form = b"%%d.%%0%dd" % decimals
    whole, part = (column.tolist() for column in np.divmod(np.abs(values), 10**decimals))
    written = [form % pair for pair in zip(whole, part, strict=True)]
    for below_zero in np.flatnonzero(values < 0).tolist():
        written[below_zero] = b"-" + written[below_zero]
    return written
