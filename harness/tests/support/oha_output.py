# SPDX-License-Identifier: Apache-2.0
"""Files as oha writes them, for tests that need to know what is in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path


def oha_db(path: Path, rows: Sequence[tuple[float, float | None, float, int]], run: int = 1795273471) -> Path:
    """An SQLite file as oha writes it, or appends to it: start, when it was due, duration, status."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS oha (url TEXT NOT NULL, start REAL NOT NULL, start_latency_correction REAL, end REAL NOT NULL,"
        " duration REAL NOT NULL, status INTEGER NOT NULL, len_bytes INTEGER NOT NULL, run INTEGER NOT NULL)"
    )
    connection.executemany(
        "INSERT INTO oha VALUES ('http://x/', ?, ?, ?, ?, ?, 13, ?)",
        [
            (start, due, (start if due is None else due) + took, took, status, run)
            for start, due, took, status in rows
        ],
    )
    connection.commit()
    connection.close()
    return path
