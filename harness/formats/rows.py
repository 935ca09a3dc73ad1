# SPDX-License-Identifier: Apache-2.0
"""Rows of delimited text, one per request, to columns: quickly when a block is clean, patiently when not.

A clean block has one record per line and every value of its type; it goes through Arrow.
Any other block is read again line by line, so that one odd row costs that row and no other.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # pyarrow ships no types
from pyarrow import csv as arrow_csv

from harness.formats.source import Block
from harness.formats.table import BoolArray, CodeArray, FloatArray, RequestChunk, Unreadable

EPOCH_MS = "epoch_ms"
EPOCH_S = "epoch_s"
EPOCH_NS = "epoch_ns"
#: What JMeter writes as the message of a transaction controller's row, which sums up other rows.
TRANSACTION = "Number of samples in transaction :"

_PER_S = {EPOCH_MS: 1e3, EPOCH_S: 1.0, EPOCH_NS: 1e9}
_TRUE = {"true": True, "false": False}
_GOOD_CODE = re.compile(r"[23]\d\d")
_EXCERPT = 100


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Which column holds what. Indexes count from 0; ``None``: the file does not have it.

    ``time``: ``EPOCH_MS``, ``EPOCH_S``, ``EPOCH_NS`` or a strptime format (read as UTC when it has no zone).
    ``whole_ms``: latencies are integers (a fraction makes the row unreadable).
    ``latency_units_per_s``: 1000 when latencies are in ms, 1e9 when in ns.
    """

    delimiter: str
    n_columns: int
    latency: int
    start: int | None = None
    ok: int | None = None
    code: int | None = None
    label: int | None = None
    message: int | None = None
    time: str = EPOCH_MS
    whole_ms: bool = True
    latency_units_per_s: float = 1000.0
    header: tuple[str, ...] | None = None

    @property
    def end_may_be_cut(self) -> bool:
        """A last line without line end could be cut inside a value we use, and nothing would show it."""
        return self.n_columns - 1 in {self.latency, self.start, self.label, self.code}

    def begins_a_row(self, line: str | bytes) -> bool:
        """This line surely begins a row, even where the quotes before it say it continues another."""
        if self.start is None:
            return False
        text = line if isinstance(line, str) else line.decode(errors="replace")
        fields = text.split(self.delimiter)
        if len(fields) <= max(self.start, self.latency):
            return False
        good_start = parse_start(fields[self.start], self.time) is not None
        return good_start and self.latency_s(fields) is not None

    def latency_s(self, fields: Sequence[str]) -> float | None:
        """The latency of a row's fields, or None when it cannot be read."""
        return parse_latency(
            fields[self.latency], whole_ms=self.whole_ms, units_per_s=self.latency_units_per_s
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """One request."""

    start_epoch_s: float
    latency_s: float
    ok: bool
    label: str
    transaction: bool


def read_chunks(blocks: Iterable[Block], layout: Layout) -> Iterator[RequestChunk]:
    """Turn blocks of whole records into columns."""
    for block in blocks:
        yield _read_clean(block, layout) or _read_patiently(block, layout)


def _read_clean(block: Block, layout: Layout) -> RequestChunk | None:
    """Read through Arrow; None when anything about the block is not plain."""
    n_lines = block.data.count(b"\n")
    if not block.data.endswith(b"\n"):
        return None
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(block.data),
            read_options=arrow_csv.ReadOptions(column_names=[f"c{i}" for i in range(layout.n_columns)]),
            parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter, ignore_empty_lines=False),
            convert_options=_convert_options(layout),
        )
    except pa.ArrowInvalid:
        return None
    # A record over several lines, or one that swallowed its successors, shows in the count.
    if table.num_rows != n_lines or any(column.null_count for column in table.columns):
        return None
    latency_s = _numbers(table.column(f"c{layout.latency}")) / layout.latency_units_per_s
    start = _clean_start(table, layout)
    if start is None or not np.isfinite(latency_s).all() or (latency_s < 0).any():
        return None
    label_codes, labels = _clean_label(table, layout)
    return RequestChunk(
        start_epoch_s=start,
        latency_s=latency_s,
        ok=_clean_ok(table, layout),
        label_codes=label_codes,
        labels=labels,
        transaction=_clean_transaction(table, layout),
        unreadable=Unreadable(),
    )


def _convert_options(layout: Layout) -> arrow_csv.ConvertOptions:
    text = pa.dictionary(pa.int32(), pa.string())
    number = pa.int64() if layout.whole_ms else pa.float64()
    types: dict[str, pa.DataType] = {f"c{layout.latency}": number}
    if layout.start is not None:
        times = {EPOCH_MS: pa.int64(), EPOCH_NS: pa.int64(), EPOCH_S: pa.float64()}
        types[f"c{layout.start}"] = times.get(layout.time, pa.string())
    if layout.ok is not None:
        types[f"c{layout.ok}"] = pa.bool_()
    for index in (layout.label, layout.message, layout.code if layout.ok is None else None):
        if index is not None:
            types[f"c{index}"] = text
    return arrow_csv.ConvertOptions(
        include_columns=list(types),
        column_types=types,
        true_values=["true", "True", "TRUE"],
        false_values=["false", "False", "FALSE"],
        null_values=[],
        strings_can_be_null=False,
    )


def _clean_start(table: pa.Table, layout: Layout) -> FloatArray | None:
    if layout.start is None:
        return np.full(table.num_rows, np.nan)
    column = table.column(f"c{layout.start}")
    if layout.time not in _PER_S:
        import pandas as pd  # half a second to load, for files with written dates only

        dates = pd.to_datetime(column.to_pandas(), format=layout.time, errors="coerce", utc=True)
        if dates.isna().any():
            return None
        micros = dates.to_numpy(dtype="datetime64[us]").astype(np.int64)
        return np.asarray(micros / 1e6, dtype=np.float64)
    start = _numbers(column)
    if not np.isfinite(start).all() or (start < 0).any():
        return None
    return start / _PER_S[layout.time]


def _clean_ok(table: pa.Table, layout: Layout) -> BoolArray:
    if layout.ok is not None:
        return _numbers(pc.cast(table.column(f"c{layout.ok}"), pa.int8())).astype(np.bool_)
    if layout.code is not None:
        return _where(table.column(f"c{layout.code}"), lambda code: _GOOD_CODE.fullmatch(code) is not None)
    return np.ones(table.num_rows, dtype=np.bool_)


def _clean_label(table: pa.Table, layout: Layout) -> tuple[CodeArray, tuple[str, ...]]:
    if layout.label is None:
        return np.zeros(table.num_rows, dtype=np.int32), ("",)
    column = table.column(f"c{layout.label}").unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # combining none gives none
        return np.zeros(0, dtype=np.int32), ()
    codes = np.array(np.from_dlpack(column.indices), dtype=np.int32)
    return codes, tuple(column.dictionary.to_pylist())


def _clean_transaction(table: pa.Table, layout: Layout) -> BoolArray:
    if layout.message is None:
        return np.zeros(table.num_rows, dtype=np.bool_)
    return _where(table.column(f"c{layout.message}"), lambda message: message.startswith(TRANSACTION))


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    """Return a column without nulls as floats. Arrow's own ``to_numpy`` would load pandas, for nothing."""
    parts = [np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)]
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def _where(column: pa.ChunkedArray, test: Callable[[str], bool]) -> BoolArray:
    """Apply a test of text to a dictionary column: once per distinct value, not once per row."""
    parts = [
        np.array([test(value) for value in chunk.dictionary.to_pylist()], dtype=np.bool_)[
            np.from_dlpack(chunk.indices)
        ]
        for chunk in column.chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)


@dataclass
class _Patience:
    """The line-by-line reading of one block."""

    block: Block
    layout: Layout
    rows: list[Row] = field(default_factory=list)
    bad: Unreadable = field(default_factory=Unreadable)

    def read(self) -> RequestChunk:
        text = self.block.data.decode(errors="replace")
        complete = text.endswith("\n")
        lines = text.removesuffix("\n").split("\n")
        index = 0
        while index < len(lines):
            index = self._record(lines, index, complete=complete)
        return _to_chunk(self.rows, self.bad)

    def _record(self, lines: list[str], index: int, *, complete: bool) -> int:
        """Read the record that begins at ``index``; return where the next one begins."""
        text = lines[index]
        if not text.strip("\r \0"):
            return index + 1
        after = index + 1
        is_open = text.count('"') % 2 == 1
        while is_open and after < len(lines) and not self.layout.begins_a_row(lines[after]):
            text += "\n" + lines[after]
            is_open = text.count('"') % 2 == 1
            after += 1
        last = after == len(lines) and not complete
        cut = last and (is_open or self.layout.end_may_be_cut)
        fields = _split(text.rstrip("\r"), self.layout.delimiter)
        row = None if cut else parse_row(fields, self.layout)
        if row is not None:
            self.rows.append(row)
        elif tuple(fields) != self.layout.header:  # a header in the middle: another run was appended
            here = self.block.first_line + index
            self.bad = self.bad.plus(
                Unreadable(n=1, first_line=here, first_text=text[:_EXCERPT], n_cut=int(last))
            )
        return after


def _read_patiently(block: Block, layout: Layout) -> RequestChunk:
    return _Patience(block=block, layout=layout).read()


def _split(text: str, delimiter: str) -> list[str]:
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a NUL or a field beyond csv's limit: not a row
        return []


def parse_row(fields: list[str], layout: Layout) -> Row | None:
    """Return the request of one row, or None when it cannot be read."""
    if len(fields) != layout.n_columns:
        return None
    latency_s = layout.latency_s(fields)
    start = math.nan if layout.start is None else parse_start(fields[layout.start], layout.time)
    ok: bool | None = True
    if layout.ok is not None:
        ok = _TRUE.get(fields[layout.ok].strip().lower())
    elif layout.code is not None:
        ok = _GOOD_CODE.fullmatch(fields[layout.code]) is not None
    if latency_s is None or start is None or ok is None:
        return None
    return Row(
        start_epoch_s=start,
        latency_s=latency_s,
        ok=ok,
        label="" if layout.label is None else fields[layout.label],
        transaction=layout.message is not None and fields[layout.message].startswith(TRANSACTION),
    )


def parse_latency(text: str, *, whole_ms: bool, units_per_s: float = 1000.0) -> float | None:
    """A latency to seconds; None when it is no number, negative or (``whole_ms``) not whole."""
    number = _whole(text) if whole_ms else _number(text)
    return None if number is None else number / units_per_s


def parse_start(text: str, time: str) -> float | None:
    """A time stamp to seconds since the epoch; None when it is not one."""
    if time in _PER_S:
        number = _number(text) if time == EPOCH_S else _whole(text, digits=19 if time == EPOCH_NS else 15)
        return None if number is None else number / _PER_S[time]
    try:
        date = datetime.strptime(text, time)
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _whole(text: str, *, digits: int = 15) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _to_chunk(rows: list[Row], bad: Unreadable) -> RequestChunk:
    codes: dict[str, int] = {}
    return RequestChunk(
        start_epoch_s=np.array([row.start_epoch_s for row in rows], dtype=np.float64),
        latency_s=np.array([row.latency_s for row in rows], dtype=np.float64),
        ok=np.array([row.ok for row in rows], dtype=np.bool_),
        label_codes=np.array([codes.setdefault(row.label, len(codes)) for row in rows], dtype=np.int32),
        labels=tuple(codes),
        transaction=np.array([row.transaction for row in rows], dtype=np.bool_),
        unreadable=bad,
    )
