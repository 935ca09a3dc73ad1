# SPDX-License-Identifier: Apache-2.0
"""Tell whose file it is, and read it."""

from __future__ import annotations

from pathlib import Path

from harness.errors import InputError
from harness.formats.collect import RequestStream
from harness.formats.jtl import open_jtl
from harness.formats.jtl_layout import header_of, looks_like_xml
from harness.formats.locust_csv import first_fields, kind_of, open_samples, read_totals
from harness.formats.source import read_head
from harness.formats.table import AggregateTable, RequestTable
from harness.formats.wrk_text import looks_like_wrk, read_wrk


def read_any(path: Path) -> RequestTable | AggregateTable:
    """Read a whole file of JMeter, Locust or wrk, whichever it is.

    Raises:
        InputError: as ``open_any``; or its tool's own reader refuses it.
    """
    opened = open_any(path)
    return opened.collect() if isinstance(opened, RequestStream) else opened


def open_any(path: Path) -> RequestStream | AggregateTable:
    """Recognise a file of JMeter, Locust or wrk. Single requests are read when they are asked for.

    Raises:
        InputError: it is a folder, empty, or of none of them; or the tool's own reader refuses it.
    """
    if path.is_dir():
        raise InputError("is a folder", file=path, allowed="one file of JMeter, Locust or wrk")
    head = read_head(path)
    if not head.strip():
        raise InputError("is empty", file=path, allowed="a file of JMeter, Locust or wrk")
    if looks_like_wrk(head):
        return read_wrk(path)
    kind = kind_of(first_fields(head))
    if kind == "samples":
        return open_samples(path)
    if kind is not None:
        return read_totals(path)
    if looks_like_xml(head) or header_of(head) is not None or head[:1].isdigit():
        return open_jtl(path)
    try:
        return open_jtl(path)  # headerless files may begin with a quote or a date
    except InputError as problem:
        raise InputError(
            "is not recognised",
            file=path,
            place="line 1",
            found=head.split("\n", 1)[0][:80],
            allowed="JMeter csv (a first line like timeStamp,elapsed,label,...), Locust csv "
            "(_stats, _stats_history, _failures, _exceptions or raw samples), or the text wrk prints",
        ) from problem
