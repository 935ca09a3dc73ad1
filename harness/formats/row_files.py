# SPDX-License-Identifier: Apache-2.0
"""Delimited files with one row a request, each as the map of its columns.

k6's, Locust's and metronome's samples are written by this project's script, listener and program: k6's own csv holds a
dozen rows and 1.4 kB for each request. ``k6_latency_ms``: from asking for a connection to the last byte, as k6 timed
it.

vegeta's csv has no header: timestamp, status, latency, bytes out, bytes in, error, body (base64), attack, sequence,
method, URL, headers (base64). Releases before 12.8 end after the sixth, seventh or ninth column. A request without
an answer has status 0 and an error.

hey and oha write rows of answered requests only, with times since their own start. Old releases of hey write neither
the status nor when a request was sent; after a million answers it writes no more. oha's rows begin when they were
sent; with latency correction they last from when they were due, so start plus latency is later than the end. Its
SQLite file has the time at which a request was due: with a rate (``-q --latency-correction``) rows begin then.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import InputError
from harness.formats.row_layout import Layout, error_kind, split_row
from harness.formats.rows import RequestStream, row_stream
from harness.formats.source import SourceNotes, TextFile, another_file, raw_pieces, text_file
from harness.formats.table import RequestTable
from harness.model.load_tools import FileSource

#: Of each file the columns in their order, and what they hold in the words of ``Layout``; an empty text: nothing here.
_K6 = {"start_epoch_s": "start", "k6_latency_ms": "latency", "ok": "ok", "name": "label", "error": "error"}
K6_HEADER = ",".join(_K6)
_LOCUST = {"start_epoch_s": "start", "latency_ms": "latency", "ok": "ok", "name": "label"}
_METRONOME = {"due_epoch_s": "start", "latency_s": "latency", "ok": "ok", "name": "label", "error": "error",
              "service_time_s": "", "send_delay_s": ""}  # fmt: skip
_HEY = {"response-time": "latency", "DNS+dialup": "connect", "DNS": "", "Request-write": "", "Response-delay": "",
        "Response-read": ""}  # fmt: skip
_OHA = {"request-start": "start", "DNS": "", "DNS+dialup": "", "Response-delay": "", "request-duration": "latency",
        "bytes": "", "status": "code"}  # fmt: skip
_VEGETA = {"timestamp": "start", "status": "code", "latency": "latency", "bytes out": "", "bytes in": "",
           "error": "error", "body": "", "attack": "", "sequence": "", "method": "", "url": "label",
           "headers": ""}  # fmt: skip
VEGETA_STATUS, VEGETA_ERROR, VEGETA_COLUMNS = 1, 5, len(_VEGETA)
#: A time stamp in ns, a status, and three numbers: JMeter's stamps have six digits fewer.
_VEGETA_ROW = re.compile(r"\d{19},\d{1,3},\d+,\d+,\d+(,|$)")


def _answered_only(tool: str) -> str:
    return f"{tool} writes rows of answered requests only: errors without an answer are not in this file"


def from_zero(tool: str) -> str:
    """Return the note on a tool that writes times since its own start."""
    return f"{tool} writes times since its own start: the file does not say when that was"


@dataclass(frozen=True, kw_only=True)
class RowFormat:
    """One format. ``columns``: name -> what it holds, in the order of the file; ``more``: those that others may follow.

    ``first_row``: of a file without a header, which may end after so many columns as ``widths`` say.
    ``resolution_s``: the smallest step of its latencies, seconds. ``title``: what it is, in words. ``written``: how its
    numbers are written, as ``Layout`` has it. ``remarks``: on every such file. ``most_rows``: it writes no more.
    """

    source: FileSource
    title: str
    columns: Mapping[str, str]
    resolution_s: float
    more: Mapping[str, str] = field(default_factory=dict)
    first_row: re.Pattern[str] | None = None
    widths: tuple[int, ...] = ()
    written: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    from_zero: bool = False
    most_rows: int | None = None

    def layout_of(self, line: str) -> Layout | None:
        """Return the layout of a file with this first line; ``None``: it is another format's."""
        first = tuple(split_row(line, ","))
        names = first if self.first_row is None else tuple(self.columns)[: len(first)]
        if self.first_row is not None and (not self.first_row.match(line) or len(first) not in self.widths):
            return None
        if self.first_row is None and names[: len(self.columns)] != tuple(self.columns):
            return None
        meanings = {**self.more, **self.columns}
        places: dict[str, Any] = {meanings[name]: i for i, name in enumerate(names) if meanings.get(name)}
        header = None if self.first_row is not None else names
        usual: dict[str, Any] = {"time": "s", "whole_ms": False}
        return Layout(
            delimiter=",", n_columns=len(names), header=header, **(usual | dict(self.written) | places)
        )

    def open(self, path: Path | TextFile) -> RequestStream:
        """Recognise the file; its rows are read when they are asked for, in bounded memory; raises InputError: empty,
        or another file."""
        file = text_file(path)
        layout = self.layout_of(file.first)
        if layout is None:
            form = f"{self.title}: {','.join(self.columns)}"
            raise another_file(f"is not {form}", file, form)
        zero = () if layout.start is not None else (from_zero(self.source),)
        return row_stream(
            file,
            layout,
            source=self.source,
            resolution_s=self.resolution_s,
            remarks=tuple(note for note in self.remarks if note not in zero),
            from_zero=self.from_zero,
            most_rows=self.most_rows,
        )

    def read(self, path: Path) -> RequestTable:
        """Read the whole file; raises InputError: empty, another file, or no line of it can be read."""
        return self.open(path).collect()


K6_SAMPLES = RowFormat(
    source="k6",
    title="samples of the k6 script",
    columns=_K6,
    resolution_s=1e-9,  # k6 times in whole nanoseconds and hands them to scripts as float ms
)
LOCUST_SAMPLES = RowFormat(
    source="locust",
    title="samples of the request listener",
    columns=_LOCUST,
    more={"error": "error"},
    resolution_s=1e-7,  # the listener writes ten-thousandths of a millisecond; the clock behind it is finer
)
HELD_UP_S = 50e-6  # a request that metronome sends later is late, in its totals and in what its rows tell
METRONOME_SAMPLES = RowFormat(
    source="metronome",
    title="rows of metronome, which begin when a request was due",
    columns=_METRONOME,
    resolution_s=1e-9,
    written={"latency_units_per_s": 1.0},
)
HEY_CSV = RowFormat(
    source="hey",
    title="a csv of hey",
    columns=_HEY,
    more={"status-code": "code", "offset": "start"},
    resolution_s=1e-4,
    written={"latency_units_per_s": 1.0, "latency_decimals": 4},
    remarks=(_answered_only("hey"), from_zero("hey")),
    from_zero=True,
    most_rows=1_000_000,
)
OHA_CSV = RowFormat(
    source="oha",
    title="a csv of oha",
    columns=_OHA,
    resolution_s=1e-9,
    written={"latency_units_per_s": 1.0},
    remarks=(from_zero("oha"), _answered_only("oha")),
    from_zero=True,
)
VEGETA_CSV = RowFormat(
    source="vegeta",
    title="a csv of vegeta, as `vegeta encode -to csv` writes",
    columns=_VEGETA,
    first_row=_VEGETA_ROW,
    widths=(6, 7, 9, VEGETA_COLUMNS),
    resolution_s=1e-9,
    written={"time": "ns", "whole_ms": True, "latency_units_per_s": 1e9},
)
ROW_FORMATS = (K6_SAMPLES, HEY_CSV, OHA_CSV, VEGETA_CSV, LOCUST_SAMPLES, METRONOME_SAMPLES)

_SQLITE_MAGIC = b"SQLite format 3\0"
_OHA_ROWS = (
    "SELECT coalesce(start_latency_correction, start), duration, status FROM oha"
    " ORDER BY {run}coalesce(start_latency_correction, start)"
)
_OHA_TABLE = "a table oha with the columns start, start_latency_correction, duration, status"


def looks_like_sqlite(path: Path) -> bool:
    """Tell whether it is a SQLite file, gzipped or not."""
    return next(raw_pieces(path, SourceNotes()), b"").startswith(_SQLITE_MAGIC)


def read_oha_db(path: Path) -> RequestTable:
    """Read oha's SQLite file, gzipped or not. With a rate, rows begin when they were due.

    oha appends to a file that is there: the rows of one run follow those of another, each from zero. Raises InputError:
    no SQLite file, damaged, or another program's.
    """
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(b"".join(raw_pieces(path, SourceNotes())))
            columns_of = {name for _, name, *_ in connection.execute("PRAGMA table_info(oha)")}
            rows = connection.execute(_OHA_ROWS.format(run="run, " if "run" in columns_of else "")).fetchall()
        columns = np.array(rows, dtype=np.float64).reshape(-1, 3)
        if not np.isfinite(columns).all() or (columns[:, 1] < 0).any():
            raise ValueError("a row is not of finite numbers, or has a duration below zero")
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"cannot be read as oha's ({problem})", file=path, allowed=_OHA_TABLE) from problem
    status = columns[:, 2]
    codes, error_codes = np.unique(status, return_inverse=True)
    return RequestTable(
        path=path,
        source="oha",
        start_epoch_s=columns[:, 0].copy(),
        latency_s=columns[:, 1].copy(),
        ok=(status >= 200) & (status < 400),
        label_codes=np.zeros(len(columns), dtype=np.int32),
        labels=("",),
        error_codes=error_codes.astype(np.int32),
        error_kinds=tuple(error_kind(f"{code:.0f}", "", "", "") for code in codes.tolist()),
        resolution_s=OHA_CSV.resolution_s,
        from_zero=True,
        notes=OHA_CSV.remarks,
    )
