# SPDX-License-Identifier: Apache-2.0
"""Read the csv of hey (``-o csv``): a row for each answered request, with seconds in four decimals.

Old releases write neither the status nor when a request was sent. Errors without an answer have no row, and after
a million answers hey writes no more.
"""

from __future__ import annotations

from pathlib import Path

from harness.formats.collect import below_a_heading
from harness.formats.row_layout import EPOCH_S, Layout
from harness.formats.source import another_file, first_line, read_head
from harness.formats.table import RequestTable

#: Of all releases, and what newer ones add.
_FIRST = ("response-time", "DNS+dialup", "DNS", "Request-write", "Response-delay", "Response-read")
_LATER = ("status-code", "offset")
RESOLUTION_S = 1e-4
ANSWERED_ONLY = "hey writes rows of answered requests only: errors without an answer are not in this file"
FROM_ZERO = "hey writes times since its own start: the file does not say when that was"
_MOST_ROWS = 1_000_000
CUT_OFF = "hey writes no more than a million rows: there may have been more requests"


def looks_like_hey(head: str) -> bool:
    """The first line of hey's csv."""
    return _columns(head)[: len(_FIRST)] == _FIRST


def read_hey(path: Path) -> RequestTable:
    """Read hey's csv.

    Raises:
        InputError: empty, another file, or no line of it can be read.
    """
    head = read_head(path)
    header = _columns(head)
    if header[: len(_FIRST)] != _FIRST:
        raise another_file("not a hey CSV file", path, head, ",".join(_FIRST))
    places = {name: header.index(name) for name in _LATER if name in header}
    layout = Layout(
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
    table = below_a_heading(path, layout, source="hey", resolution_s=RESOLUTION_S).collect()
    table = table.with_notes(ANSWERED_ONLY, *([CUT_OFF] if table.n_requests >= _MOST_ROWS else []))
    return table.counted_from_zero(FROM_ZERO) if table.has_start_times else table


def _columns(head: str) -> tuple[str, ...]:
    return tuple(first_line(head).split(","))
