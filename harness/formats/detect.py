# SPDX-License-Identifier: Apache-2.0
"""Tell whose file it is, and read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.errors import InputError
from harness.formats.autocannon_json import looks_like_autocannon, read_autocannon
from harness.formats.collect import RequestStream
from harness.formats.gatling_log import is_binary_gatling, looks_like_gatling, open_gatling, refuse_binary
from harness.formats.hey_csv import looks_like_hey, read_hey
from harness.formats.jtl import open_jtl
from harness.formats.jtl_layout import header_of, looks_like_xml
from harness.formats.jtl_units import Decimal, LatencyUnit
from harness.formats.k6_own import (
    looks_like_k6_csv,
    looks_like_k6_json,
    looks_like_k6_summary,
    open_k6_csv,
    open_k6_json,
    read_k6_summary,
)
from harness.formats.k6_samples import looks_like_k6, open_k6
from harness.formats.locust_csv import kind_of, read_totals
from harness.formats.locust_samples import first_fields, open_samples
from harness.formats.oha_files import looks_like_oha_csv, looks_like_sqlite, read_oha_csv, read_oha_db
from harness.formats.source import another_file, read_head
from harness.formats.table import AggregateTable, RequestTable
from harness.formats.vegeta_csv import looks_like_vegeta, open_vegeta
from harness.formats.wrk2_text import looks_like_wrk2, read_wrk2
from harness.formats.wrk_text import looks_like_wrk, read_wrk
from harness.model.load_tools import written_by

Opener = Callable[[Path], RequestStream | RequestTable | AggregateTable]


def _looks_like_locust(head: str) -> bool:
    return kind_of(first_fields(head)) is not None


def _open_locust(path: Path) -> RequestStream | AggregateTable:
    return open_samples(path) if kind_of(first_fields(read_head(path))) == "samples" else read_totals(path)


def _looks_like_jmeter(head: str) -> bool:
    return looks_like_xml(head) or header_of(head) is not None or head[:1].isdigit()


#: In this order: wrk2's text begins like wrk's, and vegeta's first time stamp would do for JMeter.
_OPENERS: tuple[tuple[Callable[[str], bool], Opener], ...] = (
    (looks_like_wrk2, read_wrk2),
    (looks_like_wrk, read_wrk),
    (looks_like_k6, open_k6),
    (looks_like_k6_csv, open_k6_csv),
    (looks_like_k6_json, open_k6_json),
    (looks_like_autocannon, read_autocannon),
    (looks_like_k6_summary, read_k6_summary),
    (looks_like_hey, read_hey),
    (looks_like_gatling, open_gatling),
    (looks_like_oha_csv, read_oha_csv),
    (looks_like_vegeta, open_vegeta),
    (_looks_like_locust, _open_locust),
    (_looks_like_jmeter, open_jtl),
)


def read_any(path: Path) -> RequestTable | AggregateTable:
    """Read a whole file of any load tool, whichever it is.

    Raises:
        InputError: as ``open_any``; or its tool's own reader refuses it.
    """
    opened = open_any(path)
    return opened.collect() if isinstance(opened, RequestStream) else opened


def open_any(
    path: Path, latency_unit: LatencyUnit | None = None, decimal: Decimal | None = None
) -> RequestStream | RequestTable | AggregateTable:
    """Recognise a file; most tools' single requests are read when they are asked for.

    Args:
        latency_unit, decimal: of a JMeter file's ``elapsed`` where it is not in whole milliseconds.

    Raises:
        InputError: it is a folder, empty, or of none of them; or the tool's own reader refuses it; or a unit
            or decimal sign was given for a file of another tool.
    """
    if path.is_dir():
        raise InputError("is a folder", file=path, allowed=f"one file of {written_by()}")
    if looks_like_sqlite(path):
        _only_for_jmeter(path, latency_unit, decimal)
        return read_oha_db(path)
    head = read_head(path)
    if not head.strip():
        raise InputError("is empty", file=path, allowed=f"a file of {written_by()}")
    if is_binary_gatling(path, head):
        raise refuse_binary(path)
    for is_its, opened in _OPENERS:
        if is_its(head):
            if opened is open_jtl:
                return open_jtl(path, latency_unit, decimal)
            _only_for_jmeter(path, latency_unit, decimal)
            return opened(path)
    try:
        return open_jtl(path, latency_unit, decimal)  # headerless files may begin with a quote or a date
    except InputError as problem:
        raise another_file(
            "is not recognised", path, head,
            "JMeter csv (a first line like timeStamp,elapsed,label,...), Locust csv "
            "(_stats, _stats_history, _failures, _exceptions or raw samples), csv, json or "
            "summary of k6, csv or SQLite of oha, csv of vegeta or hey, JSON of autocannon, simulation.log of "
            "Gatling before 3.12, or the text that wrk or wrk2 prints",
        ) from problem  # fmt: skip


def _only_for_jmeter(path: Path, latency_unit: LatencyUnit | None, decimal: Decimal | None) -> None:
    for option, given in (("--latency-unit", latency_unit), ("--decimal", decimal)):
        if given is not None:
            raise InputError(
                "has units and numbers of its own form",
                file=path,
                place=option,
                found=given,
                allowed="only for JMeter's files, which may have passed through a script or a spreadsheet",
            )
