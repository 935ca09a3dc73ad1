# SPDX-License-Identifier: Apache-2.0
"""Read the rows that our k6 script logs, one per request.

k6's own csv holds a dozen rows and 1.4 kB for each request; the script logs the one row that
matters (about 50 bytes). ``k6_latency_ms``: from asking for a connection to the last byte, as k6 timed it.
"""

from __future__ import annotations

from pathlib import Path

from harness.formats.collect import RequestStream, below_a_heading
from harness.formats.row_layout import EPOCH_S, Layout
from harness.formats.source import another_file, first_line, read_head
from harness.formats.table import RequestTable

COLUMNS = ("start_epoch_s", "k6_latency_ms", "ok", "name", "error")
HEADER = ",".join(COLUMNS)
#: k6 times in whole nanoseconds and hands them to scripts as float ms.
RESOLUTION_S = 1e-9


def looks_like_k6(head: str) -> bool:
    """The first line of our script's samples."""
    return first_line(head) == HEADER


def read_k6(path: Path) -> RequestTable:
    """Read the samples of our k6 script.

    Raises:
        InputError: empty, another file, or no line of it can be read.
    """
    return open_k6(path).collect()


def open_k6(path: Path) -> RequestStream:
    """Recognise the file; its rows are read when they are asked for, in bounded memory.

    Raises:
        InputError: empty, or another file.
    """
    head = read_head(path)
    if not looks_like_k6(head):
        raise another_file("not a sample file of the k6 script", path, head, HEADER)
    layout = Layout(
        delimiter=",",
        n_columns=len(COLUMNS),
        start=0,
        latency=1,
        ok=2,
        label=3,
        error=4,
        time=EPOCH_S,
        whole_ms=False,
        header=COLUMNS,
    )
    return below_a_heading(path, layout, source="k6", resolution_s=RESOLUTION_S)
