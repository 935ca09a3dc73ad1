# SPDX-License-Identifier: Apache-2.0
"""Read the raw samples that our request listener writes under Locust: one row per request."""

from __future__ import annotations

from pathlib import Path

from harness.formats.collect import RequestStream, below_a_heading
from harness.formats.row_layout import EPOCH_S, Layout, split_row
from harness.formats.source import another_file, first_line, read_head
from harness.formats.table import RequestTable

#: First columns of the raw samples; further ones are allowed.
SAMPLE_COLUMNS = ("start_epoch_s", "latency_ms", "ok", "name")
#: The listener writes ten-thousandths of a millisecond; the clock behind it is finer.
SAMPLE_RESOLUTION_S = 1e-7


def first_fields(head: str) -> list[str]:
    """The first line's fields."""
    return split_row(first_line(head), ",")


def read_samples(path: Path) -> RequestTable:
    """Read the raw samples of our request listener: one row per request, latencies in float ms.

    Raises:
        InputError: empty, another file, or no line of it can be read.
    """
    return open_samples(path).collect()


def open_samples(path: Path) -> RequestStream:
    """Recognise raw samples; they are read when their stretches are asked for, in bounded memory.

    Raises:
        InputError: empty, or another file.
    """
    head = read_head(path)
    header = first_fields(head)
    if tuple(header[: len(SAMPLE_COLUMNS)]) != SAMPLE_COLUMNS:
        allowed = "columns " + ",".join(SAMPLE_COLUMNS)
        raise another_file("not a sample file of the request listener", path, head, allowed)
    layout = Layout(
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
    return below_a_heading(path, layout, source="locust", resolution_s=SAMPLE_RESOLUTION_S)
