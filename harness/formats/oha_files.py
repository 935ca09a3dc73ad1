# SPDX-License-Identifier: Apache-2.0
"""Read what oha leaves: its csv (``--output-format csv``) or its SQLite file (``--db-url``).

Both hold answered requests only, with times since oha's start: neither tells when that was, nor what
was never answered. The SQLite file also has the time at which a request was due, so with a rate
(``-q --latency-correction``) its rows begin when they should have begun; the csv lacks that time.
"""

from __future__ import annotations

import gzip
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.formats.collect import below_a_heading
from harness.formats.error_kinds import error_kind
from harness.formats.row_layout import EPOCH_S, Layout
from harness.formats.source import PIECE_BYTES, another_file, first_line, read_head
from harness.formats.table import FloatArray, RequestTable

CSV_COLUMNS = ("request-start", "DNS", "DNS+dialup", "Response-delay", "request-duration", "bytes", "status")
CSV_HEADER = ",".join(CSV_COLUMNS)
SQLITE_MAGIC = b"SQLite format 3\0"
RESOLUTION_S = 1e-9
ANSWERED_ONLY = "oha writes rows of answered requests only: errors without an answer are not in this file"
FROM_ZERO = "oha writes times since its own start: the file does not say when that was"
_ROWS = (
    "SELECT coalesce(start_latency_correction, start), duration, status FROM oha"
    " ORDER BY coalesce(start_latency_correction, start)"
)


def looks_like_oha_csv(head: str) -> bool:
    """The first line of oha's csv."""
    return first_line(head) == CSV_HEADER


def looks_like_sqlite(path: Path) -> bool:
    """A SQLite file, gzipped or not."""
    # Only its first bytes: a gzip stream that ends early is an error to who reads further.
    return next(_raw(path, len(SQLITE_MAGIC)), b"").startswith(SQLITE_MAGIC)


def read_oha_csv(path: Path) -> RequestTable:
    """Read oha's csv. Rows begin when they were sent; with latency correction they last from when they
    were due, so start plus latency is later than the end.

    Raises:
        InputError: empty, another file, or no line of it can be read.
    """
    head = read_head(path)
    if not looks_like_oha_csv(head):
        raise another_file("not an oha CSV file", path, head, CSV_HEADER)
    layout = Layout(
        delimiter=",",
        n_columns=len(CSV_COLUMNS),
        start=0,
        latency=4,
        code=6,
        time=EPOCH_S,
        whole_ms=False,
        latency_units_per_s=1.0,
        header=CSV_COLUMNS,
    )
    return _from_zero(below_a_heading(path, layout, source="oha", resolution_s=RESOLUTION_S).collect())


def read_oha_db(path: Path) -> RequestTable:
    """Read oha's SQLite file, gzipped or not. With a rate, rows begin when they were due.

    Raises:
        InputError: no SQLite file, damaged, or another program's.
    """
    data = b"".join(_raw(path))
    if not data.startswith(SQLITE_MAGIC):
        raise InputError("not a SQLite file", file=path, allowed="what oha writes with --db-url")
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(data)
        rows = connection.execute(_ROWS).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as problem:  # words of the file stand in SQLite's own messages
        raise InputError(
            f"cannot be read as oha's ({problem})",
            file=path,
            allowed="a table oha with the columns start, start_latency_correction, duration, status",
        ) from problem
    finally:
        connection.close()
    try:
        columns = np.array(rows, dtype=np.float64).reshape(-1, 3)
        if not np.isfinite(columns).all() or (columns[:, 1] < 0).any():
            raise ValueError("not finite, or a duration below zero")
    except (TypeError, ValueError, OverflowError) as problem:
        raise InputError(
            f"has a row that is not of numbers ({problem})",
            file=path,
            place="table oha",
            allowed="what oha writes",
        ) from problem
    table = RequestTable(
        path=path,
        source="oha",
        start_epoch_s=columns[:, 0].copy(),
        latency_s=columns[:, 1].copy(),
        ok=(columns[:, 2] >= 200) & (columns[:, 2] < 400),
        label_codes=np.zeros(len(columns), dtype=np.int32),
        labels=("",),
        resolution_s=RESOLUTION_S,
        errors_by_kind=_kinds(columns[:, 2]),
    )
    return _from_zero(table)


def _kinds(status: FloatArray) -> dict[str, int]:
    failed, n_each = np.unique(status[(status < 200) | (status >= 400)], return_counts=True)
    return {
        error_kind(f"{code:.0f}", "", "", ""): n
        for code, n in zip(failed.tolist(), n_each.tolist(), strict=True)
    }


def statuses(path: Path) -> dict[int, int]:
    """Return status -> number of answers in oha's SQLite file."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(b"".join(_raw(path)))
        return dict(connection.execute("SELECT status, count(*) FROM oha GROUP BY status"))
    finally:
        connection.close()


def _raw(path: Path, piece_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
    """The file's bytes in pieces, unpacked when it is gzipped."""
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as stream:
            yield from iter(lambda: stream.read(piece_bytes), b"")
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(f"cannot be read ({problem})", file=path) from problem


def _from_zero(table: RequestTable) -> RequestTable:
    return table.counted_from_zero(FROM_ZERO).with_notes(ANSWERED_ONLY)
