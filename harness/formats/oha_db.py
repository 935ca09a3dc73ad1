# SPDX-License-Identifier: Apache-2.0
"""Read oha's SQLite file, which has the time at which a request was due: with a rate (``-q --latency-correction``)
its rows begin when they should have begun. Its csv (:mod:`harness.formats.row_files`) lacks that time.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.formats.row_files import OHA_CSV
from harness.formats.source import SourceNotes, raw_pieces
from harness.formats.table import RequestTable
from harness.formats.values import error_kind

SQLITE_MAGIC = b"SQLite format 3\0"
_ROWS = (
    "SELECT coalesce(start_latency_correction, start), duration, status FROM oha"
    " ORDER BY {run}coalesce(start_latency_correction, start)"
)


def looks_like_sqlite(path: Path) -> bool:
    """Tell whether it is a SQLite file, gzipped or not."""
    return next(raw_pieces(path, SourceNotes()), b"").startswith(SQLITE_MAGIC)


def read_oha_db(path: Path) -> RequestTable:
    """Read oha's SQLite file, gzipped or not. With a rate, rows begin when they were due.

    oha appends to a file that is there: the rows of one run follow those of another, each from zero.

    Raises:
        InputError: no SQLite file, damaged, or another program's.
    """
    if not looks_like_sqlite(path):
        raise InputError("not a SQLite file", file=path, allowed="what oha writes with --db-url")
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(b"".join(raw_pieces(path, SourceNotes())))
            columns_of = {name for _, name, *_ in connection.execute("PRAGMA table_info(oha)")}
            rows = connection.execute(_ROWS.format(run="run, " if "run" in columns_of else "")).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as problem:  # words of the file stand in SQLite's own messages
        raise InputError(
            f"cannot be read as oha's ({problem})",
            file=path,
            allowed="a table oha with the columns start, start_latency_correction, duration, status",
        ) from problem
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
    status = columns[:, 2]
    ok = (status >= 200) & (status < 400)
    failed, n_each = np.unique(status[~ok], return_counts=True)
    codes = [f"{code:.0f}" for code in failed.tolist()]
    return RequestTable(
        path=path,
        source="oha",
        start_epoch_s=columns[:, 0].copy(),
        latency_s=columns[:, 1].copy(),
        ok=ok,
        label_codes=np.zeros(len(columns), dtype=np.int32),
        labels=("",),
        resolution_s=OHA_CSV.resolution_s,
        errors_by_kind={
            error_kind(code, "", "", ""): n for code, n in zip(codes, n_each.tolist(), strict=True)
        },
        from_zero=True,
        notes=OHA_CSV.remarks,
    )
