# SPDX-License-Identifier: Apache-2.0
"""Read JMeter's result files in csv, of any size, and other csv files with one row a request."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import InputError
from harness.formats.collect import RequestStream, row_stream
from harness.formats.jtl_layout import detect_layout, header_of
from harness.formats.jtl_units import Decimal, LatencyUnit
from harness.formats.row_layout import PER_S, Layout, split_row
from harness.formats.side_columns import read_sides
from harness.formats.source import TextFile, text_file
from harness.formats.table import RequestTable

_NUMBERED = re.compile(r"(.+)-\d+")


def read_jtl(path: Path) -> RequestTable:
    """Read a whole file; memory is about 29 bytes a row.

    Rows that are sums or parts of others are left out (and counted) when there are others; kept when there is
    nothing else.

    Raises:
        InputError: empty, XML, not from JMeter, without ``elapsed``, or without one readable row.
    """
    return open_jtl(path).collect()


def open_jtl(
    path: Path | TextFile, latency_unit: LatencyUnit | None = None, decimal: Decimal | None = None
) -> RequestStream:
    """Recognise a file of any size; it is read when its stretches are asked for, in bounded memory.

    Args:
        latency_unit: of ``elapsed`` in a file that passed through other hands; None: milliseconds.
        decimal: how its fractions are written; None: with a point.

    Raises:
        InputError: empty, XML, not from JMeter, or without ``elapsed``.
    """
    file = text_file(path)
    if not file.head.strip():
        raise InputError("is empty", file=file.path, allowed="a JMeter result file in csv")
    layout, text = detect_layout(file, latency_unit, decimal)
    sides, layout = read_sides(file, layout)
    header = header_of(file.first)
    is_jmeters = header is None or header.is_jmeters
    return row_stream(
        file,
        layout,
        source="jmeter" if is_jmeters else "csv",
        resolution_s=layout.latency_step_s,
        said=(*text, *_unclear_parts(file, layout)),
        sides=sides if is_jmeters else None,
        from_zero=not is_jmeters and layout.era_s is None and layout.time in PER_S,
    )


def _unclear_parts(file: TextFile, layout: Layout) -> tuple[str, ...]:
    """A warning where names look like those of parts of other rows, and no thread tells whether they are."""
    if layout.label is None or layout.thread is not None:
        return ()
    rows = (split_row(line, layout.delimiter) for line in file.head.split("\n")[1:])
    names = {row[layout.label] for row in rows if len(row) == layout.n_columns}
    parts = sorted(name for name in names if (match := _NUMBERED.fullmatch(name)) and match[1] in names)
    if not parts:
        return ()
    return (
        f"{', '.join(parts[:3])} may be parts of other rows, which then are counted twice: a column threadName would "
        "tell; --label reports one name",
    )
