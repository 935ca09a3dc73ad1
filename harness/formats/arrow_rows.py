# SPDX-License-Identifier: Apache-2.0
"""Clean blocks of rows to columns, quickly: one record per line and every value of its type, through Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
from pyarrow import csv as arrow_csv

from harness.formats.arrays import BoolArray, FloatArray, Texts
from harness.formats.row_layout import (
    EPOCH_MS,
    EPOCH_NS,
    EPOCH_S,
    EPOCH_US,
    LONGEST_S,
    PER_S,
    Layout,
    is_transaction,
    verdict_of,
)
from harness.formats.source import Block
from harness.formats.table import RequestChunk, Unreadable
from harness.formats.values import error_kind

_TEXT = pa.dictionary(pa.int32(), pa.string())


def read_clean(block: Block, layout: Layout) -> RequestChunk | None:
    """Read through Arrow; None when anything about the block is not plain."""
    table = _table(block, layout, _types(layout))
    if table is None:
        return None
    latency_s = _numbers(table.column(f"c{layout.latency}")) / layout.latency_units_per_s
    start = _clean_start(table, layout)
    if start is None or not np.isfinite(latency_s).all() or ((latency_s < 0) | (latency_s > LONGEST_S)).any():
        return None
    if layout.era_s is not None and ((start < layout.era_s[0]) | (start > layout.era_s[1])).any():
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
        transaction=_clean_repeats(table, layout, (label_codes, labels)),
        unreadable=Unreadable(),
        connect_s=_clean_connect(table, layout),
        error_codes=kinds[0],
        error_kinds=kinds[1],
    )


def read_clean_texts(block: Block, layout: Layout, columns: Sequence[int]) -> list[Texts] | None:
    """Return the texts of these columns; ``None``: the block is not plain."""
    table = _table(block, layout, dict.fromkeys((f"c{i}" for i in columns), _TEXT))
    return None if table is None else [_texts(table, index) for index in columns]


def _table(block: Block, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table | None:
    """The columns of these types; ``None``: a record is not one line, or a value is not of its type."""
    if not block.data.endswith(b"\n") or layout.thousands:
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
    for index in (layout.label, layout.message, *_evidence(layout)):
        if index is not None:
            types[f"c{index}"] = _TEXT
    return types


def _evidence(layout: Layout) -> tuple[int | None, ...]:
    """The columns that tell which rows failed; the tool's own verdict alone, where there is one."""
    if layout.ok is not None:
        return (layout.ok, None, None, None)
    return (None, layout.error_count, layout.failure, layout.code)


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
    """Whether each row is a success; ``None``: a value is no verdict, or empty."""
    # As text: what casts Arrow's booleans takes 80 ms to load.
    read = [None if index is None else _texts(table, index) for index in _evidence(layout)]
    combined = _combinations(read, table.num_rows)
    verdicts = [
        None if layout.ok is not None and not texts[0] else verdict_of(*texts) for texts in combined.texts
    ]
    return None if None in verdicts else np.array(verdicts, dtype=np.bool_)[combined.code]


class _Combinations(NamedTuple):
    """Which combination of texts each row has, shape (n,); ``None``: there is no such column."""

    code: npt.NDArray[np.intp]
    texts: list[tuple[str | None, ...]]


def _combinations(columns: Sequence[Texts | None], n: int) -> _Combinations:
    present = [item for item in columns if item is not None]
    if len(present) == 1:
        code, distinct = present[0][0].astype(np.intp), np.arange(len(present[0][1]))[None, :]
    else:
        codes = np.array([item[0] for item in present], dtype=np.int32).reshape(len(present), n)
        distinct, code = np.unique(codes, axis=1, return_inverse=True)
    texts = []
    for each in distinct.T.tolist():
        result = iter(item[1][place] for item, place in zip(present, each, strict=True))
        texts.append(tuple(None if item is None else next(result).strip() for item in columns))
    return _Combinations(code.reshape(-1), texts)


def _clean_connect(table: pa.Table, layout: Layout) -> FloatArray | None:
    if layout.connect is None:
        return None
    connect_s = _numbers(table.column(f"c{layout.connect}")) / layout.latency_units_per_s
    return np.where(connect_s >= 0, connect_s, np.nan)


def _clean_label(table: pa.Table, layout: Layout) -> Texts:
    if layout.label is None:
        return np.zeros(table.num_rows, dtype=np.int32), ("",)
    return _texts(table, layout.label)


def _clean_kinds(block: Block, layout: Layout, failed: npt.NDArray[np.intp]) -> Texts | None:
    """Kinds of the failed rows, which are lines of the block: once per distinct combination of the columns that tell
    of them. ``None``: the block is not plain."""
    if not len(failed):
        return np.zeros(0, dtype=np.int32), ()
    present = [index for index in layout.kind_columns if index is not None]
    lines = Block(data=_lines(block.data, failed), first_line=block.first_line)
    texts = read_clean_texts(lines, layout, present) if present else []
    if texts is None:
        return None
    by_column = dict(zip(present, texts, strict=True))
    columns = [None if index is None else by_column[index] for index in layout.kind_columns]
    combined = _combinations(columns, len(failed))
    kinds = tuple(error_kind(*(item or "" for item in each)) for each in combined.texts)
    return combined.code.astype(np.int32), kinds


def _lines(data: bytes, rows: npt.NDArray[np.intp]) -> bytes:
    """Some of the lines, with their ends."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
    if len(rows) == len(ends):
        return data
    begins = np.append(0, ends)
    spans = zip(begins[rows].tolist(), ends[rows].tolist(), strict=True)
    return b"".join(data[begin:end] for begin, end in spans)


def _texts(table: pa.Table, index: int) -> Texts:
    """A dictionary column: the code of each row, and what the codes stand for."""
    column = table.column(f"c{index}").unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # combining none gives none
        return np.zeros(0, dtype=np.int32), ()
    codes = np.array(np.from_dlpack(column.indices), dtype=np.int32)
    return codes, tuple(column.dictionary.to_pylist())


def _clean_repeats(table: pa.Table, layout: Layout, label: Texts) -> BoolArray:
    """Which rows are parts or sums of others."""
    result = np.array([name in layout.repeats for name in label[1]], dtype=np.bool_)[label[0]]
    if layout.message is not None:
        codes, messages = _texts(table, layout.message)
        result |= np.array([is_transaction(message) for message in messages], dtype=np.bool_)[codes]
    return result


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    """Return a column without nulls as floats. Arrow's own ``to_numpy`` would load pandas, for nothing."""
    parts = [np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)]
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)
