# SPDX-License-Identifier: Apache-2.0
"""Read JMeter's result files in csv, of any size, with or without a header, and other csv files of requests.

Source of names and order: JMeter's ``CSVSaveService`` (5.6.3 and its predecessors). JMeter always
writes the columns it was asked for in this order; files that passed through other hands may not.
In another program's csv a column's name says what it holds (``latency_ms``, ``timestamp``, ``status``).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import InputError
from harness.formats.jtl_units import (
    NOTHING_SAID,
    TIME_FORMATS,
    LatencyUnit,
    NumberStyle,
    era_around,
    latency_columns,
    n_read,
    time_format,
)
from harness.formats.row_layout import PER_S, Layout, parse_latency, split_row
from harness.formats.rows import RequestStream, row_stream
from harness.formats.side_columns import NUMBERED, read_sides
from harness.formats.source import TextFile, another_file, text_file
from harness.formats.table import RequestTable

#: Everything JMeter can write, in its order; sample variables follow.
JMETER_COLUMNS = (
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType",
    "success", "failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Filename",
    "Latency", "Encoding", "SampleCount", "ErrorCount", "Hostname", "IdleTime", "Connect",
)  # fmt: skip
#: What of them is read, in the words of ``Layout``.
_FIELDS = {
    "timeStamp": "start", "elapsed": "latency", "label": "label", "responseCode": "code", "responseMessage": "message",
    "threadName": "thread", "success": "ok", "failureMessage": "failure", "allThreads": "all_threads", "URL": "url",
    "Latency": "first_byte", "ErrorCount": "error_count", "Hostname": "host", "Connect": "connect",
}  # fmt: skip
_SAMPLES = "SampleCount"
_BY_LOWER = {name.lower(): name for name in JMETER_COLUMNS}
#: Columns of whole numbers, and columns in which a delimiter may stand that a careless writer did not quote.
_NUMBERS = (
    "bytes", "sentBytes", "grpThreads", "allThreads", "Latency", "SampleCount", "ErrorCount", "IdleTime", "Connect",
)  # fmt: skip
_TEXTS = ("failureMessage", "responseMessage", "label", "URL", "threadName")

#: What a headerless file of so many columns holds when JMeter's defaults were left alone.
_UP_TO_FAILURE = JMETER_COLUMNS[:9]
DEFAULT_COLUMNS = (
    (*_UP_TO_FAILURE, "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Latency", "IdleTime", "Connect"),
    (*_UP_TO_FAILURE, "bytes", "sentBytes", "grpThreads", "allThreads", "Latency", "IdleTime", "Connect"),
    (*_UP_TO_FAILURE, "bytes", "sentBytes", "grpThreads", "allThreads", "Latency", "IdleTime"),
    (*_UP_TO_FAILURE, "bytes", "grpThreads", "allThreads", "Latency", "IdleTime"),
    (*JMETER_COLUMNS[:8], "bytes", "grpThreads", "allThreads", "Latency"),
    (*JMETER_COLUMNS[:8], "bytes", "Latency"),
)  # fmt: skip

DELIMITERS = (",", ";", "\t", "|", ":", "#", "^", "~", " ")
#: Of other programs' files: the words of any line have blanks between them.
_USUAL = DELIMITERS[:4]
_PROBE_ROWS = 1000

#: Names of columns in other programs' files, in small letters with ``_`` for anything else, and JMeter's names.
_SPELLINGS = {
    "elapsed": "latency|duration|elapsed|elapsed_time|response_?time|resp_time|rtt|took|time_taken|request_time",
    "timeStamp": "time_?stamp|start|start_?time|started_at|start_epoch|time|epoch|date|datetime|ts|at",
    "success": "success|ok|passed|successful",
    "responseCode": "status|status_?code|code|http_status|http_code|response_?code",
    "label": "label|name|request|request_name|endpoint|path|url|uri|operation",
    "failureMessage": "error|error_message|failure|failure_message|exception",
}
_UNIT_WORDS: dict[str, LatencyUnit] = {
    "ns": "ns", "nanos": "ns", "nanoseconds": "ns", "us": "us", "micros": "us", "microseconds": "us", "ms": "ms",
    "millis": "ms", "msec": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s",
}  # fmt: skip


def read_jtl(path: Path) -> RequestTable:
    """Read a whole file; errors are those of :func:`open_jtl`, and that it has not one readable row."""
    return open_jtl(path).collect()


def open_jtl(path: Path | TextFile, how: NumberStyle = NOTHING_SAID) -> RequestStream:
    """Recognise a file; its rows are read when they are asked for.

    ``how``: of ``elapsed`` in a file that passed through other hands; JMeter's own are whole milliseconds. Raises
    InputError: empty, XML, not from JMeter, without ``elapsed``, or its unit must be said.
    """
    file = text_file(path)
    if looks_like_xml(file.head):
        raise InputError(
            "is a JMeter result file in XML",
            file=file.path,
            place="line 1",
            found=file.head[:30],
            allowed="csv: run JMeter with -Jjmeter.save.saveservice.output_format=csv",
        )
    header = header_of(file.first)
    layout, notes = _headerless(file, how) if header is None else _with_header(file, header, how)
    sides, layout = read_sides(file, layout)
    is_jmeters = header is None or header.is_jmeters
    return row_stream(
        file,
        layout,
        source="jmeter" if is_jmeters else "csv",
        resolution_s=layout.latency_step_s,
        remarks=(*notes, *_unclear_parts(file, layout)),
        sides=sides if is_jmeters else None,
        from_zero=not is_jmeters and layout.era_s is None and layout.time in PER_S,
    )


def _unclear_parts(file: TextFile, layout: Layout) -> tuple[str, ...]:
    """A warning where names look like those of parts of other rows, and no thread tells whether they are."""
    if layout.label is None or layout.thread is not None:
        return ()
    rows = (split_row(line, layout.delimiter) for line in file.head.split("\n")[1:])
    names = {row[layout.label] for row in rows if len(row) == layout.n_columns}
    parts = sorted(name for name in names if (match := NUMBERED.fullmatch(name)) and match[1] in names)
    text = (
        f"{', '.join(parts[:3])} may be parts of other rows, which then are counted twice: a column threadName would "
        "tell; --label reports one name"
    )
    return (text,) if parts else ()


class Header(NamedTuple):
    """The first line of a csv of requests. ``columns``: JMeter's names; empty: of no use here.

    ``units``: those that the names of another program's columns say. ``is_jmeters``: the names are JMeter's own.
    """

    delimiter: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    units: dict[str, LatencyUnit]
    is_jmeters: bool


def looks_like_xml(head: str) -> bool:
    """JMeter's other output format."""
    return re.match(r"\s*(<\?xml|<testResults|<httpSample|<sample)\b", head) is not None


def header_of(line: str) -> Header | None:
    """Return what a line names where it is the header of JMeter's columns, or of another csv of requests."""
    jmeters: Header | None = None
    rest: Header | None = None
    for delimiter in dict.fromkeys((*DELIMITERS, *re.findall(r"[^\w\s\"]", line))):
        names = tuple(name.strip(" \t\0") for name in split_row(line, delimiter))
        columns = tuple(_BY_LOWER.get(name.lower(), "") for name in names)
        known = {name for name in columns if name}
        own = "elapsed" in known or sum(name in JMETER_COLUMNS for name in names) >= 2
        if own and (jmeters is None or len(known) > sum(map(bool, jmeters.columns))):
            jmeters = Header(delimiter=delimiter, names=names, columns=columns, units={}, is_jmeters=True)
        second = _other_header(names, delimiter) if delimiter in _USUAL else None
        if second is not None and (rest is None or len(names) > len(rest.names)):
            rest = second
    return jmeters or rest


def _other_header(names: tuple[str, ...], delimiter: str) -> Header | None:
    """The header of another program's csv: it has response times, and another column that is known."""
    columns: list[str] = []
    units: dict[str, LatencyUnit] = {}
    for name in names:
        words = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        stem, _, last = words.rpartition("_")
        unit = _UNIT_WORDS.get(last) if stem else None
        spelled = stem if unit is not None else words
        meaning = next((meaning for meaning, form in _SPELLINGS.items() if re.fullmatch(form, spelled)), "")
        columns.append(meaning if meaning not in columns else "")
        if columns[-1] and unit is not None:
            units[meaning] = unit
    results = {name for name in columns if name}
    if "elapsed" not in results or len(results) < 2:
        return None
    return Header(delimiter=delimiter, names=names, columns=tuple(columns), units=units, is_jmeters=False)


def _with_header(file: TextFile, header: Header, how: NumberStyle) -> tuple[Layout, tuple[str, ...]]:
    rows = _probe(file.head.partition("\n")[2], header.delimiter)
    unit = how.unit or header.units.get("elapsed")
    if not header.is_jmeters and unit is None:
        raise InputError(
            "has response times without a unit",
            file=file.path,
            place=f"column {header.names[header.columns.index('elapsed')]}",
            allowed="--latency-unit ms (or s, us, ns), or a name such as latency_ms",
        )
    return _layout(
        header.columns, header.delimiter, rows, file.path, names=header.names, how=replace(how, unit=unit),
        stamps_in=header.units.get("timeStamp"),
    )  # fmt: skip


def _layout(
    columns: Sequence[str],
    delimiter: str,
    rows: list[list[str]],
    path: Path,
    *,
    names: tuple[str, ...] | None,
    how: NumberStyle,
    stamps_in: LatencyUnit | None = None,
    notes: tuple[str, ...] = (),
) -> tuple[Layout, tuple[str, ...]]:
    places: dict[str, Any] = {
        field: columns.index(name) for name, field in _FIELDS.items() if name in columns
    }
    latency, start = places.get("latency"), places.get("start")
    if latency is None:
        raise InputError(
            "has no response times",
            file=path,
            place="line 1",
            found=delimiter.join(names or ()),
            allowed="a column elapsed: run JMeter with -Jjmeter.save.saveservice.time=true",
        )
    whole_rows = [row for row in rows if len(row) == len(columns)]
    if _SAMPLES in columns:
        counts = {row[columns.index(_SAMPLES)] for row in whole_rows} - {"", "0", "1"}
        if any(map(str.isdigit, counts)):
            raise InputError(
                "has rows that sum up several samples each", file=path, place=f"column {_SAMPLES}",
                found=max(counts), allowed="a row a sample: run JMeter with -Jmode=StrippedBatch, not Statistical",
            )  # fmt: skip
    written = latency_columns([row[latency] for row in whole_rows], how, path, (names or columns)[latency])
    time, era_s = "ms", None
    if start is None:
        notes += ("no timeStamp column: rates and stalls cannot be told",)
    else:
        stamps = [how.plain(row[start]) for row in whole_rows]
        if stamps_in is not None and n_read(stamps, stamps_in):
            time = stamps_in
        else:
            time, text = time_format(stamps, path)
            notes += text
        era_s = era_around(stamps, time)
    layout = Layout(
        delimiter=delimiter,
        n_columns=len(columns),
        time=time,
        whole_ms=written.whole,
        latency_units_per_s=written.units_per_s,
        latency_decimals=written.decimals,
        decimal=how.decimal or ".",
        header=names,
        numbers=tuple(i for i, name in enumerate(columns) if name in _NUMBERS),
        texts=tuple(columns.index(name) for name in _TEXTS if name in columns),
        thousands=written.thousands,
        era_s=era_s,
        **places,
    )
    if layout.thousands:
        notes += (
            f"numbers such as 1{layout.thousands}234 were read with {layout.thousands!r} between thousands",
        )
    return layout, (*notes, *_about_verdicts(layout))


def _about_verdicts(layout: Layout) -> tuple[str, ...]:
    """What decides which requests failed, where it is not the tool's own verdict."""
    if layout.ok is not None:
        return ()
    if layout.error_count is not None:
        return ("no success column: a request failed where ErrorCount is not 0",)
    if layout.failure is None and layout.code is None:
        return ("no success column: errors cannot be told",)
    ways = ["with a failure message"] if layout.failure is not None else []
    ways += ["without a status of 2xx or 3xx"] if layout.code is not None else []
    return (f"no success column: requests {' or '.join(ways)} count as failed",)


def _probe(head: str, delimiter: str) -> list[list[str]]:
    """The first rows as fields; the last line of a cut-off head may be short."""
    try:
        return list(islice(csv.reader(head.split("\n"), delimiter=delimiter), _PROBE_ROWS))
    except csv.Error:  # a NUL or an endless quote: the rows read later say where
        return []


def _headerless(file: TextFile, how: NumberStyle) -> tuple[Layout, tuple[str, ...]]:
    """The layout of rows in JMeter's default columns."""
    for delimiter in DELIMITERS:
        rows = [row for row in _probe(file.head, delimiter) if len(row) > 1]
        if not rows:
            continue
        width = max(set(map(len, rows)), key=[len(row) for row in rows].count)
        rows = [row for row in rows if len(row) == width]
        columns = _columns_by_content(rows, width)
        if columns is not None:
            text = f"no header line: {width} columns read as {' '.join(filter(None, columns))}"
            return _layout(columns, delimiter, rows, file.path, names=None, how=how, notes=(text,))
    raise another_file(
        "is not a JMeter result file, or one without header whose columns cannot be told", file,
        "a first line like timeStamp,elapsed,label,...: "
        "run JMeter with -Jjmeter.save.saveservice.print_field_names=true",
    )  # fmt: skip


def _columns_by_content(rows: list[list[str]], width: int) -> tuple[str, ...] | None:
    rows = rows[:50]
    if not any(n_read([row[0] for row in rows], time) == len(rows) for time in ("ms", *TIME_FORMATS)):
        return None
    if any(parse_latency(row[1], whole_ms=True) is None for row in rows):
        return None
    switches = {i for i in range(2, width) if all(row[i] in {"true", "false"} for row in rows)}
    fits = (names for names in DEFAULT_COLUMNS if len(names) == width and names.index("success") in switches)
    return next(fits, None)
