# SPDX-License-Identifier: Apache-2.0
"""Delimited files with one row a request, each as the map of its columns.

k6's and Locust's samples are written by this project's script and listener: k6's own csv holds a dozen rows and
1.4 kB for each request. ``k6_latency_ms``: from asking for a connection to the last byte, as k6 timed it.

vegeta's csv has no header: timestamp, status, latency, bytes out, bytes in, error, body (base64), attack, sequence,
method, URL, headers (base64). Releases before 12.8 end after the sixth, seventh or ninth column. A request without
an answer has status 0 and an error.

hey and oha write rows of answered requests only, with times since their own start. Old releases of hey write neither
the status nor when a request was sent; after a million answers it writes no more. oha's rows begin when they were
sent; with latency correction they last from when they were due, so start plus latency is later than the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.formats.collect import RequestStream, row_stream
from harness.formats.row_layout import EPOCH_NS, EPOCH_S, Layout, split_row
from harness.formats.source import TextFile, another_file, text_file
from harness.formats.table import RequestTable
from harness.model.load_tools import FileSource

K6_COLUMNS = ("start_epoch_s", "k6_latency_ms", "ok", "name", "error")
K6_HEADER = ",".join(K6_COLUMNS)
#: First columns of the listener's samples; further ones are allowed.
LOCUST_COLUMNS = ("start_epoch_s", "latency_ms", "ok", "name")
#: Of all releases, and what newer ones add.
_HEY, _HEY_LATER = (
    ("response-time", "DNS+dialup", "DNS", "Request-write", "Response-delay", "Response-read"),
    ("status-code", "offset"),
)
OHA_COLUMNS = ("request-start", "DNS", "DNS+dialup", "Response-delay", "request-duration", "bytes", "status")
VEGETA_STATUS, VEGETA_ERROR, VEGETA_COLUMNS = 1, 5, 12
_VEGETA_LABEL = 10
_VEGETA_WIDTHS = (6, 7, 9, VEGETA_COLUMNS)
_VEGETA_ROW = re.compile(r"\d{19},\d{1,3},\d+,\d+,\d+(,|$)")
_HEYS_MOST_ROWS = 1_000_000


def _answered_only(tool: str) -> str:
    return f"{tool} writes rows of answered requests only: errors without an answer are not in this file"


def from_zero(tool: str) -> str:
    """Return the note on a tool that writes times since its own start."""
    return f"{tool} writes times since its own start: the file does not say when that was"


@dataclass(frozen=True, kw_only=True)
class RowFormat:
    """One format. ``layout_of``: of the first line; ``None``: it is another format's.

    ``resolution_s``: the smallest step of its latencies, seconds. ``form``: the first line, in words. ``said``: notes
    that every such file needs. ``most_rows``: it writes no more.
    """

    source: FileSource
    layout_of: Callable[[str], Layout | None]
    resolution_s: float
    form: str
    said: tuple[str, ...] = ()
    from_zero: bool = False
    most_rows: int | None = None

    def open(self, path: Path | TextFile) -> RequestStream:
        """Recognise the file; its rows are read when they are asked for, in bounded memory.

        Raises:
            InputError: empty, or another file.
        """
        file = text_file(path)
        layout = self.layout_of(file.first)
        if layout is None:
            raise another_file(f"is not {self.form}", file, self.form)
        zero = () if layout.start is not None else (from_zero(self.source),)
        return row_stream(
            file,
            layout,
            source=self.source,
            resolution_s=self.resolution_s,
            said=tuple(note for note in self.said if note not in zero),
            from_zero=self.from_zero,
            most_rows=self.most_rows,
        )

    def read(self, path: Path) -> RequestTable:
        """Read the whole file.

        Raises:
            InputError: empty, another file, or no line of it can be read.
        """
        return self.open(path).collect()


def _samples(columns: tuple[str, ...], header: list[str]) -> Layout | None:
    """Samples of our own: start, latency in ms, verdict, name."""
    if tuple(header[: len(columns)]) != columns:
        return None
    return Layout(
        delimiter=",",
        n_columns=len(header),
        start=0,
        latency=1,
        ok=2,
        label=3,
        error=header.index("error") if "error" in header else None,
        time=EPOCH_S,
        whole_ms=False,
        header=tuple(header),
    )


def _hey(line: str) -> Layout | None:
    header = tuple(line.split(","))
    if header[: len(_HEY)] != _HEY:
        return None
    places = {name: header.index(name) for name in _HEY_LATER if name in header}
    return Layout(
        delimiter=",",
        n_columns=len(header),
        latency=0,
        start=places.get("offset"),
        code=places.get("status-code"),
        connect=1,
        time=EPOCH_S,
        whole_ms=False,
        latency_units_per_s=1.0,
        latency_decimals=4,
        header=header,
    )


def _oha(line: str) -> Layout | None:
    if tuple(line.split(",")) != OHA_COLUMNS:
        return None
    return Layout(
        delimiter=",", n_columns=len(OHA_COLUMNS), start=0, latency=4, code=6, time=EPOCH_S, whole_ms=False,
        latency_units_per_s=1.0, header=OHA_COLUMNS,
    )  # fmt: skip


def _vegeta(line: str) -> Layout | None:
    """A time stamp in ns, a status, and three numbers: JMeter's stamps have six digits fewer."""
    n = len(split_row(line, ","))
    if _VEGETA_ROW.match(line) is None or n not in _VEGETA_WIDTHS:
        return None
    return Layout(
        delimiter=",",
        n_columns=n,
        start=0,
        code=VEGETA_STATUS,
        latency=2,
        label=_VEGETA_LABEL if n > _VEGETA_LABEL else None,
        error=VEGETA_ERROR,
        time=EPOCH_NS,
        latency_units_per_s=1e9,
    )


K6_SAMPLES = RowFormat(
    source="k6",
    layout_of=lambda line: _samples(K6_COLUMNS, line.split(",")) if line == K6_HEADER else None,
    resolution_s=1e-9,  # k6 times in whole nanoseconds and hands them to scripts as float ms
    form=f"samples of the k6 script: {K6_HEADER}",
)
LOCUST_SAMPLES = RowFormat(
    source="locust",
    layout_of=lambda line: _samples(LOCUST_COLUMNS, split_row(line, ",")),
    resolution_s=1e-7,  # the listener writes ten-thousandths of a millisecond; the clock behind it is finer
    form=f"samples of the request listener: columns {','.join(LOCUST_COLUMNS)}",
)
HEY_CSV = RowFormat(
    source="hey",
    layout_of=_hey,
    resolution_s=1e-4,
    form=f"a csv of hey: {','.join(_HEY)}",
    said=(_answered_only("hey"), from_zero("hey")),
    from_zero=True,
    most_rows=_HEYS_MOST_ROWS,
)
OHA_CSV = RowFormat(
    source="oha",
    layout_of=_oha,
    resolution_s=1e-9,
    form=f"a csv of oha: {','.join(OHA_COLUMNS)}",
    said=(from_zero("oha"), _answered_only("oha")),
    from_zero=True,
)
VEGETA_CSV = RowFormat(
    source="vegeta",
    layout_of=_vegeta,
    resolution_s=1e-9,
    form="a csv of vegeta, as `vegeta encode -to csv` writes: timestamp ns, status, latency ns, ...",
)
ROW_FORMATS = (K6_SAMPLES, HEY_CSV, OHA_CSV, VEGETA_CSV, LOCUST_SAMPLES)
