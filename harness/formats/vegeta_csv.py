# SPDX-License-Identifier: Apache-2.0
"""Read the results of ``vegeta encode -to csv``: one row per request, all times in nanoseconds.

Columns: timestamp, status, latency, bytes out, bytes in, error, body (base64), attack, sequence,
method, URL, headers (base64). No header line. A request without an answer has status 0 and an error.
"""

from __future__ import annotations

import re
from pathlib import Path

from harness.formats.collect import RequestStream
from harness.formats.row_layout import EPOCH_NS, Layout
from harness.formats.rows import read_chunks
from harness.formats.source import SourceNotes, another_file, read_blocks, read_head, read_text_pieces
from harness.formats.table import RequestTable

N_COLUMNS = 12
STATUS, ERROR, URL = 1, 5, 10
RESOLUTION_S = 1e-9
_FIRST = re.compile(r"\d{19},\d{1,3},\d+,\d+,\d+,")

_LAYOUT = Layout(
    delimiter=",",
    n_columns=N_COLUMNS,
    start=0,
    code=STATUS,
    latency=2,
    label=URL,
    error=ERROR,
    time=EPOCH_NS,
    latency_units_per_s=1e9,
)


def looks_like_vegeta(head: str) -> bool:
    """A time stamp in ns, a status, and three numbers: JMeter's stamps have six digits fewer."""
    return _FIRST.match(head) is not None


def read_vegeta(path: Path) -> RequestTable:
    """Read vegeta's csv. A row is ok when its status is 2xx or 3xx; its label is the URL.

    Raises:
        InputError: empty, another file, or no line of it can be read.
    """
    return open_vegeta(path).collect()


def open_vegeta(path: Path) -> RequestStream:
    """Recognise the file; its rows are read when they are asked for, in bounded memory.

    Raises:
        InputError: empty, or another file.
    """
    head = read_head(path)
    if not looks_like_vegeta(head):
        allowed = "what `vegeta encode -to csv` writes: timestamp ns, status, latency ns, ..."
        raise another_file("not a vegeta CSV file", path, head, allowed)
    notes = SourceNotes()
    blocks = read_blocks(read_text_pieces(path, notes), begins_record=_LAYOUT.begins_a_row)
    return RequestStream(
        path=path,
        source="vegeta",
        resolution_s=RESOLUTION_S,
        layout=_LAYOUT,
        chunks=read_chunks(blocks, _LAYOUT),
        notes=notes,
    )
