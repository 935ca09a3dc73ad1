# SPDX-License-Identifier: Apache-2.0
"""Files in which some of the lines are requests: k6's own csv and JSON lines, vegeta's JSON lines, Gatling's log.

k6's outputs hold some ten rows for each request; ``http_req_duration`` is the one that becomes a request
here. It is the time of sending, waiting and receiving, without connecting; its stamp is that of the
answer. Names of columns, tags and keys: k6's documentation of its csv and json output, files of k6 1.8, and
vegeta's ``vegeta encode -to json``.

Gatling's ``simulation.log`` is text before its release 3.12, fields between tabs. What stands before the name of a
request differs between releases (scenario and user came and went, and stood before the kind of the line until 2.1), so
a line is read from its verdict, OK or KO, to the left: end, start, name, groups. Until 2.1 two more times stood between
start and end: the request was sent, the answer began.
"""

from __future__ import annotations

import json
import re
from typing import Any

from harness.errors import InputError
from harness.formats.jtl_units import era_unit
from harness.formats.row_layout import (
    RFC3339,
    Layout,
    epoch_s,
    error_kind,
    is_good_code,
    split_row,
    verdict_of,
)
from harness.formats.rows import RequestStream, Row, read_lines, row_stream
from harness.formats.source import TextFile

METRIC = "http_req_duration"
_FIRST_COLUMNS = "metric_name,timestamp,metric_value,"
_FIELDS = {"expected_response": "ok", "status": "code", "name": "label", "error": "error"}
_RESOLUTION_S = 1e-9
WITHOUT_CONNECTING = f"latencies are k6's {METRIC}: sending, waiting and receiving, without connecting"
WHOLE_SECONDS = (
    "k6 wrote whole seconds, so rates are rough over a short test; K6_CSV_TIME_FORMAT=unix_milli or --out json "
    "keeps finer stamps"
)
_REQUEST, _RUN = b"REQUEST", "RUN"
_KINDS = {_REQUEST, b"USER", b"GROUP", b"ERROR"}
_VERDICTS = {b"OK": True, b"KO": False}
#: Fields that stand before the verdict at least: the word REQUEST, groups, name, start, end.
_BEFORE = 5
#: Milliseconds since 1970 have so many digits, from 2001 to 2286.
_STAMP_DIGITS = 13
#: How a binary log begins: the kind of its first record, the length of a text, and that text, Gatling's release.
_BINARY = re.compile(r"\0{4}[\x05-\x1f]\d+\.\d+\.\d")


def looks_like_k6_csv(line: str) -> bool:
    """Tell whether a line is the first of k6's own csv."""
    return line.startswith(_FIRST_COLUMNS)


def lines_of(line: str) -> str | None:
    """Return whose JSON lines begin like this, k6's or vegeta's; ``None``: it is something else."""
    try:
        result = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    if result.get("type") in {"Metric", "Point"} and "metric" in result:
        return "k6"
    return "vegeta" if {"code", "timestamp", "latency", "seq"} <= set(result) else None


def looks_like_gatling(line: str) -> bool:
    """Tell whether a line begins a run of Gatling, or is a request of a log that was cut."""
    fields = line.split("\t", 3)
    return len(fields) > 3 and not {_RUN, _REQUEST.decode()}.isdisjoint(fields[0:3:2])


def open_k6_csv(file: TextFile) -> RequestStream:
    """Open k6's csv; raises InputError: a column is missing."""
    lines = file.head.split("\n")
    header = [name.strip() for name in split_row(lines[0], ",")]
    places: dict[str, Any] = {_FIELDS[name]: i for i, name in enumerate(header) if name in _FIELDS}
    rows = [split_row(line, ",") for line in lines[1:] if line.startswith(METRIC + ",")]
    stamps = [row[1] for row in rows if len(row) > 1]
    time = _time_of(stamps[0]) if stamps else "s"
    is_whole = time == "s" or (time == RFC3339 and not any("." in stamp for stamp in stamps))
    layout = Layout(
        delimiter=",",
        n_columns=len(header),
        latency=2,
        start=1,
        time=time,
        whole_ms=False,
        row_prefix=METRIC + ",",
        stamp_is_end=not is_whole,  # a whole second is rounded down by more than a latency
        header=tuple(header),
        **places,
    )
    if layout.ok is None and layout.code is None:
        raise InputError(
            "does not say which requests failed",
            file=file.path,
            place=f"line {file.first_line}",
            found=",".join(header)[:120],
            allowed="a column expected_response or status among k6's system tags",
        )
    notes = (WITHOUT_CONNECTING, WHOLE_SECONDS) if is_whole else (WITHOUT_CONNECTING,)
    return row_stream(file, layout, source="k6", resolution_s=_RESOLUTION_S, remarks=notes, metric=METRIC)


def _time_of(stamp: str) -> str:
    try:
        return era_unit(float(stamp)) or "ms"
    except ValueError:
        return RFC3339


def open_json_lines(file: TextFile) -> RequestStream:
    """Open JSON lines of k6 or vegeta."""
    is_k6 = lines_of(file.first) == "k6"
    row_of, mark = (_point, METRIC.encode()) if is_k6 else (_result, b'"latency"')
    name = METRIC if is_k6 else "latency"
    return row_stream(
        file,
        Layout(delimiter=",", n_columns=1, latency=0, start=0, ok=0, label=0, whole_ms=False, header=(name,)),
        source="k6" if is_k6 else "vegeta",
        resolution_s=_RESOLUTION_S,
        begins_record=lambda line: line.startswith(b"{"),
        read=lambda block: read_lines(
            block, lambda line: mark in line, lambda line: row_of(json.loads(line))
        ),
        remarks=(WITHOUT_CONNECTING,) if is_k6 else (),
        metric=METRIC if is_k6 else None,
    )


def _point(result: Any) -> Row | None:
    """The request of one of k6's lines; ``None``: it is of another metric, or describes one."""
    if result["type"] != "Point" or result["metric"] != METRIC:
        return None
    data = result["data"]
    tags = data.get("tags") or {}
    latency_s = float(data["value"]) / 1e3
    code = str(tags.get("status", ""))
    ok = verdict_of(str(tags.get("expected_response", "")), code=code)
    if ok is None:
        raise ValueError("no verdict")
    return Row(
        start_epoch_s=epoch_s(data["time"]) - latency_s,
        latency_s=latency_s,
        ok=ok,
        label=str(tags.get("name") or tags.get("url") or ""),
        error_kind="" if ok else error_kind(code, "", "", str(tags.get("error", ""))),
    )


def _result(result: Any) -> Row:
    """The request of one of vegeta's lines."""
    code = str(result["code"])
    ok = is_good_code(code)
    return Row(
        start_epoch_s=epoch_s(result["timestamp"]),
        latency_s=int(result["latency"]) / 1e9,
        ok=ok,
        label=str(result.get("url") or ""),
        error_kind="" if ok else error_kind(code, "", "", str(result.get("error", ""))),
    )


def open_gatling(file: TextFile) -> RequestStream:
    """Open Gatling's log; a row's label is its name with the groups around it: ``group / name``."""
    return row_stream(
        file,
        Layout(delimiter="\t", n_columns=7, latency=4, start=3, ok=5, label=2, header=None),
        source="gatling",
        resolution_s=1e-3,
        begins_record=lambda line: not _KINDS.isdisjoint(line.split(b"\t", 3)[0:3:2]),
        read=lambda block: read_lines(block, lambda line: _REQUEST in line.split(b"\t", 3)[0:3:2], _logged),
    )


def refuse_binary(file: TextFile) -> None:
    """Refuse a log of Gatling from release 3.12 on; raises InputError: it is one."""
    if _BINARY.match(file.head):
        raise InputError(
            "is Gatling's binary log, which only Gatling's own reports read", file=file.path,
            allowed="simulation.log of a release before 3.12; for newer ones the requests as CSV, such as a converter "
            "writes, with the columns timeStamp,elapsed,label,success",
        )  # fmt: skip


def _logged(line: bytes) -> Row:
    """The request of one line of Gatling; raises ValueError: it cannot be read."""
    fields = line.rstrip(b"\r").split(b"\t")
    places = range(_BEFORE, len(fields))
    at = next((i for i in places if fields[i] in _VERDICTS and fields[i - 1].isdigit()), 0)
    if not at:
        raise ValueError("no verdict")
    stamps = fields[at - 4 : at] if at > _BEFORE + 1 else []
    is_old = stamps and all(stamp.isdigit() and len(stamp) == _STAMP_DIGITS for stamp in stamps)
    start = at - 4 if is_old else at - 2
    start_ms, end_ms = int(fields[start]), int(fields[at - 1])
    ok = _VERDICTS[fields[at]]
    groups, name = (fields[i].decode(errors="replace") for i in (start - 2, start - 1))
    message = b"\t".join(fields[at + 1 :]).decode(errors="replace").strip()
    return Row(
        start_epoch_s=start_ms / 1e3,
        latency_s=(end_ms - start_ms) / 1e3,
        ok=ok,
        label=" / ".join([*filter(None, groups.split(",")), name]) if groups.strip() else name,
        error_kind="" if ok else error_kind("", "", "", message),
    )
