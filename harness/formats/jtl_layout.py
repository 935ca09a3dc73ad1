# SPDX-License-Identifier: Apache-2.0
"""Recognise the columns of a JMeter result file from its first lines, with or without a header.

Source of names and order: JMeter's ``CSVSaveService`` (5.6.3 and its predecessors). JMeter always
writes the columns it was asked for in this order; files that passed through other hands may not.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from harness.errors import InputError
from harness.formats.jtl_units import Decimal, How, LatencyUnit, epoch_unit, latency_columns
from harness.formats.row_layout import EPOCH_MS, Layout, parse_latency, parse_start, split_row
from harness.formats.source import another_file, first_line

#: Everything JMeter can write, in its order; sample variables follow.
JMETER_COLUMNS = (
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType",
    "success", "failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Filename",
    "Latency", "Encoding", "SampleCount", "ErrorCount", "Hostname", "IdleTime", "Connect",
)  # fmt: skip
_BY_LOWER = {name.lower(): name for name in JMETER_COLUMNS}

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

#: JMeter's own list for reading, then the forms met most often elsewhere. No zone: read as UTC.
TIME_FORMATS = (
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S",
    "%m/%d/%y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%Y/%m/%d %H:%M:%S,%f",
    "%Y-%m-%d %H:%M:%S,%f",
    "%Y-%m-%dT%H:%M:%S.%f%z",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S",
    "%d.%m.%Y %H:%M:%S.%f",
    "%d.%m.%Y %H:%M:%S",
)
DELIMITERS = (",", ";", "\t", "|", ":", "#", "^", "~", " ")
_PROBE_ROWS = 50


def looks_like_xml(head: str) -> bool:
    """JMeter's other output format."""
    return re.match(r"\s*(<\?xml|<testResults|<httpSample|<sample)\b", head) is not None


def header_of(head: str) -> tuple[str, tuple[str, ...]] | None:
    """Return (delimiter, names as written) when the first line names JMeter columns."""
    line = first_line(head)
    best: tuple[int, str, tuple[str, ...]] | None = None
    for delimiter in dict.fromkeys((*DELIMITERS, *re.findall(r"[^\w\s\"]", line))):
        names = tuple(split_row(line, delimiter))
        known = {_BY_LOWER[name.strip().lower()] for name in names if name.strip().lower() in _BY_LOWER}
        if (len(known) >= 2 or known & {"elapsed", "timeStamp"}) and (best is None or len(known) > best[0]):
            best = (len(known), delimiter, names)
    return None if best is None else best[1:]


def detect_layout(
    head: str, path: Path, latency_unit: LatencyUnit | None = None, decimal: Decimal | None = None
) -> tuple[Layout, tuple[str, ...]]:
    """Return the layout and what a reader should know about how it was found.

    Args:
        latency_unit: of ``elapsed``; None: whole milliseconds, as JMeter writes them.
        decimal: of numbers with fractions; None: a point.

    Raises:
        InputError: it is XML, or no JMeter file, or has no ``elapsed``, or its unit must be said.
    """
    if looks_like_xml(head):
        raise InputError(
            "is a JMeter result file in XML",
            file=path,
            place="line 1",
            found=head[:30],
            allowed="csv: run JMeter with -Jjmeter.save.saveservice.output_format=csv",
        )
    written = How(unit=latency_unit, decimal=decimal)
    header = header_of(head)
    if header is None:
        return _headerless(head, path, written)
    delimiter, names = header
    columns = [_BY_LOWER.get(name.strip().lower(), "") for name in names]
    rows = _probe(head, delimiter, skip_first=True)
    return _layout(columns, delimiter, rows, path, header=names, how=written)


def _layout(
    columns: list[str],
    delimiter: str,
    rows: list[list[str]],
    path: Path,
    *,
    header: tuple[str, ...] | None,
    how: How,
    notes: tuple[str, ...] = (),
) -> tuple[Layout, tuple[str, ...]]:
    def index(name: str) -> int | None:
        return columns.index(name) if name in columns else None

    latency = index("elapsed")
    if latency is None:
        raise InputError(
            "has no response times",
            file=path,
            place="line 1",
            found=delimiter.join(header or ()),
            allowed="a column elapsed: run JMeter with -Jjmeter.save.saveservice.time=true",
        )
    written = latency_columns([row[latency] for row in rows if len(row) == len(columns)], how, path)
    start = index("timeStamp")
    time = EPOCH_MS
    if start is None:
        notes += ("no timeStamp column: rates and stalls cannot be told",)
    else:
        stamps = [how.plain(row[start]) for row in rows if len(row) == len(columns)]
        time, said = _time_format(stamps, path)
        notes += said
    if index("success") is None:
        code = index("responseCode")
        notes += (
            "no success column: errors cannot be told"
            if code is None
            else "no success column: 2xx and 3xx count",
        )
    layout = Layout(
        delimiter=delimiter,
        n_columns=len(columns),
        latency=latency,
        start=start,
        ok=index("success"),
        code=index("responseCode"),
        label=index("label"),
        message=index("responseMessage"),
        failure=index("failureMessage"),
        thread=index("threadName"),
        all_threads=index("allThreads"),
        first_byte=index("Latency"),
        connect=index("Connect"),
        time=time,
        whole_ms=written.whole,
        latency_units_per_s=written.units_per_s,
        latency_decimals=written.decimals,
        decimal=how.decimal or ".",
        header=header,
    )
    return layout, notes


def _time_format(stamps: Iterable[str], path: Path) -> tuple[str, tuple[str, ...]]:
    """The first format that reads every time stamp of the first rows, or most of them."""
    given = [stamp for stamp in stamps if stamp]
    if not given:
        return EPOCH_MS, ()
    unit = epoch_unit(given, path)
    if unit is not None and _n_read(given, unit[0]):
        return unit
    scores = {time: _n_read(given, time) for time in (EPOCH_MS, *TIME_FORMATS)}
    best = max(scores, key=lambda time: scores[time])
    if scores[best] == 0:
        raise InputError(
            "time stamps in a form not known here",
            file=path,
            place="column timeStamp",
            found=given[0],
            allowed="milliseconds since 1970, or dates like 2026/11/21 10:33:00.123; "
            "run JMeter with -Jjmeter.save.saveservice.timestamp_format=ms",
        )
    if best == EPOCH_MS or best.endswith("%z"):
        return best, ()
    return best, ("the time stamps are dates without a time zone: read as UTC",)


def _n_read(stamps: list[str], time: str) -> int:
    return sum(parse_start(stamp, time) is not None for stamp in stamps)


def _probe(head: str, delimiter: str, *, skip_first: bool) -> list[list[str]]:
    """The first rows as fields; the last line of a cut-off head may be short."""
    lines = head.split("\n")[1 if skip_first else 0 :]
    try:
        return list(islice(csv.reader(lines, delimiter=delimiter), _PROBE_ROWS))
    except csv.Error:  # a NUL or an endless quote: the rows read later say where
        return []


def _headerless(head: str, path: Path, how: How) -> tuple[Layout, tuple[str, ...]]:
    """JMeter's default columns, or at least time, elapsed first and one column of true and false."""
    for delimiter in DELIMITERS:
        rows = [row for row in _probe(head, delimiter, skip_first=False) if len(row) > 1]
        if not rows:
            continue
        width = max(set(map(len, rows)), key=[len(row) for row in rows].count)
        rows = [row for row in rows if len(row) == width]
        columns = _columns_by_content(rows, width)
        if columns is not None:
            said = f"no header line: {width} columns read as {' '.join(filter(None, columns))}"
            return _layout(columns, delimiter, rows, path, header=None, how=how, notes=(said,))
    raise another_file(
        "is not a JMeter result file, or one without header whose columns cannot be told", path, head,
        "a first line like timeStamp,elapsed,label,...: "
        "run JMeter with -Jjmeter.save.saveservice.print_field_names=true",
    )  # fmt: skip


def _columns_by_content(rows: list[list[str]], width: int) -> list[str] | None:
    if not any(_n_read([row[0] for row in rows], time) == len(rows) for time in (EPOCH_MS, *TIME_FORMATS)):
        return None
    if any(parse_latency(row[1], whole_ms=True) is None for row in rows):
        return None
    switches = [i for i in range(2, width) if all(row[i] in {"true", "false"} for row in rows)]
    for names in DEFAULT_COLUMNS:
        if len(names) == width and names.index("success") in switches:
            return list(names)
    if len(switches) != 1:
        return None
    columns = ["timeStamp", "elapsed", *[""] * (width - 2)]
    columns[switches[0]] = "success"
    if switches[0] > 2 and not all(re.fullmatch(r"\d{3}", row[2]) for row in rows):
        columns[2] = "label"
    return columns
