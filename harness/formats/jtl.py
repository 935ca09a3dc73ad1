# SPDX-License-Identifier: Apache-2.0
"""Read JMeter result files (JTL, csv): any columns JMeter can write, in any order, of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.errors import InputError
from harness.formats.collect import RequestStream
from harness.formats.jtl_layout import detect_layout
from harness.formats.jtl_units import Decimal, LatencyUnit
from harness.formats.row_layout import Layout
from harness.formats.rows import read_chunks
from harness.formats.source import SourceNotes, read_blocks, read_head, read_text_pieces, without_first_line
from harness.formats.table import RequestChunk, RequestTable


def read_jtl(path: Path) -> RequestTable:
    """Read a whole file; memory is about 29 bytes a row.

    Rows of transaction controllers are left out (and counted) when the rows they sum up stand in
    the same file; kept when there is nothing else.

    Raises:
        InputError: empty, XML, not from JMeter, without ``elapsed``, or without one readable row.
    """
    return open_jtl(path).collect()


def open_jtl(
    path: Path, latency_unit: LatencyUnit | None = None, decimal: Decimal | None = None
) -> RequestStream:
    """Recognise a file of any size; it is read when its stretches are asked for, in bounded memory.

    Args:
        latency_unit: of ``elapsed`` in a file that passed through other hands; None: milliseconds.
        decimal: how its fractions are written; None: with a point.

    Raises:
        InputError: empty, XML, not from JMeter, or without ``elapsed``.
    """
    head = read_head(path)
    if not head.strip():
        raise InputError("is empty", file=path, allowed="a JMeter result file in csv")
    layout, said = detect_layout(head, path, latency_unit, decimal)
    notes = SourceNotes()
    return RequestStream(
        path=path,
        source="jmeter",
        resolution_s=layout.latency_step_s,
        layout=layout,
        chunks=_chunks(path, layout, notes),
        said=said,
        notes=notes,
    )


def _chunks(path: Path, layout: Layout, notes: SourceNotes) -> Iterator[RequestChunk]:
    pieces = read_text_pieces(path, notes)
    if layout.header is None:
        return read_chunks(read_blocks(pieces, begins_record=layout.begins_a_row), layout)
    rows = read_blocks(without_first_line(pieces), begins_record=layout.begins_a_row, first_line=2)
    return read_chunks(rows, layout)
