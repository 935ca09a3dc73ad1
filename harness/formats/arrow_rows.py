# SPDX-License-Identifier: Apache-2.0
"""Clean blocks of rows to columns, quickly: one record per line and every value of its type, through Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
from pyarrow import csv as arrow_csv

from harness.formats.arrays import BoolArray, CodeArray, FloatArray
from harness.formats.error_kinds import error_kind
from harness.formats.row_layout import (
    EPOCH_MS,
    EPOCH_NS,
    EPOCH_S,
    EPOCH_US,
    PER_S,
    Layout,
    is_good_code,
    is_transaction,
    verdict_of,
)
from harness.formats.source import Block
from harness.formats.table import RequestChunk, Unreadable

_TEXT = pa.dictionary(pa.int32(), pa.string())


def read_clean(block: Block, layout: Layout) -> RequestChunk | None:
    """Read through Arrow; None when anything about the block is not plain."""
    table = _table(block, layout, _types(layout))
    if table is None:
        return None
    latency_s = _numbers(table.column(f"c{layout.latency}")) / layout.latency_units_per_s
    start = _clean_start(table, layout)
    if start is None or not np.isfinite(latency_s).all() or (latency_s < 0).any():
        return None
    ok = _clean_ok(table, layout)
    if ok is None:
        return None
    kinds = _clean_kinds(block, layout, np.flatnonzero(~ok))
    if kinds is None:
        return None
    label_codes, labels = _clean_label(table, layout)
    if layout.stamp_is_end:
        start = start - latency_s
    return RequestChunk(
        start_epoch_s=start,
        latency_s=latency_s,
        ok=ok,
        label_codes=label_codes,
        labels=labels,
        transaction=_clean_transaction(table, layout),
        unreadable=Unreadable(),
        connect_s=_clean_connect(table, layout),
        error_codes=kinds[0],
        error_kinds=kinds[1],
    )


def read_clean_texts(
    block: Block, layout: Layout, columns: Sequence[int]
) -> list[tuple[CodeArray, tuple[str, ...]]] | None:
    """Return of each of these columns the code of every row, shape (n,), and the texts that the codes stand for.

    ``None``: the block is not plain.
    """
    table = _table(block, layout, dict.fromkeys((f"c{i}" for i in columns), _TEXT))
    return None if table is None else [_texts(table, index) for index in columns]


def _table(block: Block, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table | None:
    """The columns of these types; ``None``: a record is not one line, or a value is not of its type."""
    if not block.data.endswith(b"\n"):
        return None
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(_arrows_own(block.data)),
            read_options=arrow_csv.ReadOptions(
                column_names=[f"c{i}" for i in range(layout.n_columns)],
                use_threads=False,  # whole blocks are read beside each other
                block_size=len(block.data) + 1,
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter, ignore_empty_lines=False),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=[],
                strings_can_be_null=False,
                decimal_point=layout.decimal,
            ),
        )
    except pa.ArrowInvalid:
        return None
    # A record over several lines, or one that swallowed its successors, shows in the count.
    if table.num_rows != block.n_lines or any(column.null_count for column in table.columns):
        return None
    return table


def _arrows_own(data: bytes) -> pa.Buffer:
    """Return a copy in memory that is Arrow's and not the interpreter's.

    Arrow's threads let go of a block some time after its table is here. To let go of the interpreter's memory
    they ask for its lock, and a thread that asks while the interpreter ends takes the whole process with it
    ("terminate called without an active exception", apache/arrow#34314): rare, seen on a busy machine.
    """
    buffer = pa.allocate_buffer(len(data))
    memoryview(buffer).cast("B")[:] = data
    return buffer


def _types(layout: Layout) -> dict[str, pa.DataType]:
    number = pa.int64() if layout.whole_ms else pa.float64()
    types: dict[str, pa.DataType] = {f"c{layout.latency}": number}
    if layout.start is not None:
        times = {EPOCH_MS: pa.int64(), EPOCH_US: pa.int64(), EPOCH_NS: pa.int64(), EPOCH_S: pa.float64()}
        types[f"c{layout.start}"] = times.get(layout.time, pa.string())
    if layout.connect is not None:
        types[f"c{layout.connect}"] = number  # in the unit of the latencies
    # What failed rows say of themselves is read of these alone, see ``_clean_kinds``.
    verdict = layout.code if layout.ok is None else layout.ok
    for index in (layout.label, verdict, layout.message):
        if index is not None:
            types[f"c{index}"] = _TEXT
    return types


def _clean_start(table: pa.Table, layout: Layout) -> FloatArray | None:
    if layout.start is None:
        return np.full(table.num_rows, np.nan)
    column = table.column(f"c{layout.start}")
    if layout.time not in PER_S:
        import pandas as pd  # half a second to load, for files with written dates only

        dates = pd.to_datetime(column.to_pandas(), format=layout.time, errors="coerce", utc=True)
        if dates.isna().any():
            return None
        micros = dates.to_numpy(dtype="datetime64[us]").astype(np.int64)
        return np.asarray(micros / 1e6, dtype=np.float64)
    start = _numbers(column)
    if not np.isfinite(start).all() or (start < 0).any():
        return None
    return start / PER_S[layout.time]


def _clean_ok(table: pa.Table, layout: Layout) -> BoolArray | None:
    """Whether each row is a success; ``None``: a value is neither true nor false."""
    if layout.ok is not None:
        codes, values = _texts(table, layout.ok)  # as text: what casts Arrow's booleans takes 80 ms to load
        verdicts = [verdict_of(value) for value in values]
        return None if None in verdicts else np.array(verdicts, dtype=np.bool_)[codes]
    if layout.code is not None:
        return _where(table.column(f"c{layout.code}"), is_good_code)
    return np.ones(table.num_rows, dtype=np.bool_)


def _clean_connect(table: pa.Table, layout: Layout) -> FloatArray | None:
    if layout.connect is None:
        return None
    connect_s = _numbers(table.column(f"c{layout.connect}")) / layout.latency_units_per_s
    return np.where(connect_s >= 0, connect_s, np.nan)


def _clean_label(table: pa.Table, layout: Layout) -> tuple[CodeArray, tuple[str, ...]]:
    if layout.label is None:
        return np.zeros(table.num_rows, dtype=np.int32), ("",)
    return _texts(table, layout.label)


def _clean_kinds(
    block: Block, layout: Layout, failed: npt.NDArray[np.intp]
) -> tuple[CodeArray, tuple[str, ...]] | None:
    """Kinds of the failed rows, which are lines of the block: once per distinct combination of the columns that tell
    of them. ``None``: the block is not plain."""
    if not len(failed):
        return np.zeros(0, dtype=np.int32), ()
    there = [index for index in layout.kind_columns if index is not None]
    lines = Block(data=_lines(block.data, failed), first_line=block.first_line)
    texts = read_clean_texts(lines, layout, there) if there else []
    if texts is None:
        return None
    by_column = dict(zip(there, texts, strict=True))
    columns = [None if index is None else by_column[index] for index in layout.kind_columns]
    codes = np.array([np.zeros(len(failed)) if one is None else one[0] for one in columns], dtype=np.int32)
    distinct, which = np.unique(codes, axis=1, return_inverse=True)
    kinds = [
        error_kind(*("" if one is None else one[1][code] for one, code in zip(columns, each, strict=True)))
        for each in distinct.T.tolist()
    ]
    return which.reshape(-1).astype(np.int32), tuple(kinds)


def _lines(data: bytes, rows: npt.NDArray[np.intp]) -> bytes:
    """Some of the lines, with their ends."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
    if len(rows) == len(ends):
        return data
    begins = np.append(0, ends)
    spans = zip(begins[rows].tolist(), ends[rows].tolist(), strict=True)
    return b"".join(data[begin:end] for begin, end in spans)


def _texts(table: pa.Table, index: int) -> tuple[CodeArray, tuple[str, ...]]:
    """A dictionary column: the code of each row, and what the codes stand for."""
    column = table.column(f"c{index}").unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # combining none gives none
        return np.zeros(0, dtype=np.int32), ()
    codes = np.array(np.from_dlpack(column.indices), dtype=np.int32)
    return codes, tuple(column.dictionary.to_pylist())


def _clean_transaction(table: pa.Table, layout: Layout) -> BoolArray:
    if layout.message is None:
        return np.zeros(table.num_rows, dtype=np.bool_)
    return _where(table.column(f"c{layout.message}"), is_transaction)


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
