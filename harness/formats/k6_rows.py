# SPDX-License-Identifier: Apache-2.0
"""Read k6's own csv and JSON lines, and vegeta's JSON lines: one row a request.

k6's outputs hold some ten rows for each request; ``http_req_duration`` is the one that becomes a request
here. It is the time of sending, waiting and receiving, without connecting; its stamp is that of the
answer. Names of columns, tags and keys: k6's documentation of its csv and json output, files of k6 1.8, and
vegeta's ``vegeta encode -to json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.formats.collect import RequestStream, line_stream, row_stream
from harness.formats.jtl_units import era_unit
from harness.formats.row_layout import (
    EPOCH_MS,
    EPOCH_S,
    RFC3339,
    Layout,
    Row,
    is_good_code,
    split_row,
    verdict_of,
)
from harness.formats.source import TextFile, another_file, text_file
from harness.formats.values import epoch_s, error_kind

METRIC = "http_req_duration"
_FIRST_COLUMNS = "metric_name,timestamp,metric_value,"
_FIELDS = {"expected_response": "ok", "status": "code", "name": "label", "error": "error"}
_RESOLUTION_S = 1e-9
WITHOUT_CONNECTING = f"latencies are k6's {METRIC}: sending, waiting and receiving, without connecting"
WHOLE_SECONDS = (
    "k6 wrote whole seconds, so rates are rough over a short test; K6_CSV_TIME_FORMAT=unix_milli or --out json "
    "keeps finer stamps"
)


def looks_like_k6_csv(line: str) -> bool:
    """The first line of k6's own csv."""
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


def open_k6_csv(path: Path | TextFile) -> RequestStream:
    """Recognise k6's csv; its rows are read when they are asked for, in bounded memory.

    Raises:
        InputError: a column is missing, or there is no HTTP request in it.
    """
    file = text_file(path)
    lines = file.head.split("\n")
    header = [name.strip() for name in split_row(lines[0], ",")]
    places: dict[str, Any] = {_FIELDS[name]: i for i, name in enumerate(header) if name in _FIELDS}
    rows = [split_row(line, ",") for line in lines[1:] if line.startswith(METRIC + ",")]
    stamps = [row[1] for row in rows if len(row) > 1]
    time = _time_of(stamps[0]) if stamps else EPOCH_S
    is_whole = time == EPOCH_S or (time == RFC3339 and not any("." in stamp for stamp in stamps))
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
    text = (WITHOUT_CONNECTING, WHOLE_SECONDS) if is_whole else (WITHOUT_CONNECTING,)
    return row_stream(file, layout, source="k6", resolution_s=_RESOLUTION_S, remarks=text, metric=METRIC)


def _time_of(stamp: str) -> str:
    try:
        return era_unit(float(stamp)) or EPOCH_MS
    except ValueError:
        return RFC3339


def open_json_lines(path: Path | TextFile) -> RequestStream:
    """Recognise JSON lines of k6 or vegeta; they are read when they are asked for, in bounded memory.

    Raises:
        InputError: they are another program's.
    """
    file = text_file(path)
    source = lines_of(file.first)
    if source is None:
        raise another_file("is no JSON lines of k6 or vegeta", file, "k6 --out json, vegeta encode -to json")
    is_k6 = source == "k6"
    row_of, mark = (_point, METRIC.encode()) if is_k6 else (_result, b'"latency"')
    name = METRIC if is_k6 else "latency"
    return line_stream(
        file,
        Layout(delimiter=",", n_columns=1, latency=0, start=0, ok=0, label=0, whole_ms=False, header=(name,)),
        source="k6" if is_k6 else "vegeta",
        resolution_s=_RESOLUTION_S,
        begins_record=lambda line: line.startswith(b"{"),
        is_row=lambda line: mark in line,
        row_of=lambda line: row_of(json.loads(line)),
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
