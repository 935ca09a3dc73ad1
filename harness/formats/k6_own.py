# SPDX-License-Identifier: Apache-2.0
"""Read what k6 writes by itself: ``--out csv``, ``--out json`` and the summary at the end of a test.

Both outputs hold some ten rows for each request; ``http_req_duration`` is the one that becomes a request
here. It is the time of sending, waiting and receiving, without connecting; its stamp is that of the
answer. Names of columns, tags and keys: k6's documentation of its csv and json output and of
``handleSummary``, and files of k6 1.8.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.formats.collect import RequestStream, below_a_heading
from harness.formats.error_kinds import error_kind
from harness.formats.instants import epoch_s
from harness.formats.jtl_units import era_unit
from harness.formats.row_layout import EPOCH_MS, EPOCH_S, RFC3339, Layout, Row, is_good_code, split_row
from harness.formats.rows import to_chunk
from harness.formats.source import (
    Block,
    SourceNotes,
    read_blocks,
    read_head,
    read_text_pieces,
)
from harness.formats.table import (
    AggregateRow,
    AggregateTable,
    RequestChunk,
    Unreadable,
    is_percentile,
    seconds_of,
)

METRIC = "http_req_duration"
_FIRST_COLUMNS = "metric_name,timestamp,metric_value,"
_RESOLUTION_S = 1e-9
WITHOUT_CONNECTING = f"latencies are k6's {METRIC}: sending, waiting and receiving, without connecting"
WHOLE_SECONDS = (
    "k6 wrote whole seconds, so rates are rough over a short test; K6_CSV_TIME_FORMAT=unix_milli or --out json "
    "keeps finer stamps"
)
_POINT = f'"metric":"{METRIC}"'.encode()
_EXCERPT = 100


def looks_like_k6_csv(head: str) -> bool:
    """The first line of k6's own csv."""
    return head.startswith(_FIRST_COLUMNS)


def looks_like_k6_json(head: str) -> bool:
    """The first line of k6's json output, which has one object a line."""
    first = head.lstrip().split("\n", 1)[0].replace(" ", "")
    return first.startswith("{") and ('"type":"Metric"' in first or '"type":"Point"' in first)


def looks_like_k6_summary(head: str) -> bool:
    """One JSON object with the metrics that every test of k6's has."""
    return (
        head.lstrip().startswith("{")
        and "http_req" in head
        and ('"metrics"' in head or '"root_group"' in head)
    )


def open_k6_csv(path: Path) -> RequestStream:
    """Recognise k6's csv; its rows are read when they are asked for, in bounded memory.

    Raises:
        InputError: a column is missing, or there is no HTTP request in it.
    """
    head = read_head(path)
    lines = head.split("\n")
    header = [name.strip() for name in split_row(lines[0].rstrip("\r"), ",")]
    columns = {name: i for i, name in enumerate(header)}
    rows = [split_row(line, ",") for line in lines[1:] if line.startswith(METRIC + ",")]
    stamps = [row[1] for row in rows if len(row) > 1]
    time = _time_of(stamps[0]) if stamps else EPOCH_S
    is_whole = time == EPOCH_S or (time == RFC3339 and not any("." in stamp for stamp in stamps))
    layout = Layout(
        delimiter=",",
        n_columns=len(header),
        latency=2,
        start=1,
        ok=None if not columns.get("expected_response") else columns["expected_response"],
        code=columns.get("status"),
        label=columns.get("name"),
        error=columns.get("error"),
        time=time,
        whole_ms=False,
        row_prefix=METRIC + ",",
        stamp_is_end=not is_whole,  # a whole second is rounded down by more than a latency
        header=tuple(header),
    )
    if layout.ok is None and layout.code is None:
        raise InputError(
            "does not say which requests failed",
            file=path,
            place="line 1",
            found=",".join(header)[:120],
            allowed="a column expected_response or status among k6's system tags",
        )
    said = (WITHOUT_CONNECTING, WHOLE_SECONDS) if is_whole else (WITHOUT_CONNECTING,)
    return below_a_heading(path, layout, source="k6", resolution_s=_RESOLUTION_S, said=said)


def _time_of(stamp: str) -> str:
    try:
        return era_unit(float(stamp)) or EPOCH_MS
    except ValueError:
        return RFC3339


def open_k6_json(path: Path) -> RequestStream:
    """Recognise k6's json output; its points are read when they are asked for, in bounded memory."""
    notes = SourceNotes()
    return RequestStream(
        path=path,
        source="k6",
        resolution_s=_RESOLUTION_S,
        layout=Layout(
            delimiter=",", n_columns=1, latency=0, start=0, ok=0, label=0, whole_ms=False, header=(METRIC,)
        ),
        chunks=map(_points, read_blocks(read_text_pieces(path, notes), begins_record=_begins_an_object)),
        said=(WITHOUT_CONNECTING,),
        notes=notes,
    )


def _begins_an_object(line: bytes) -> bool:
    return line.startswith(b"{")


def _points(block: Block) -> RequestChunk:
    rows: list[Row] = []
    bad = Unreadable()
    lines = block.data.split(b"\n")
    for number, line in enumerate(lines):
        if _POINT not in line.replace(b" ", b"") or b'"Metric"' in line[:400]:
            continue
        row = _point(line)
        if row is not None:
            rows.append(row)
            continue
        text = line.decode(errors="replace")[:_EXCERPT]
        n_cut = int(number == len(lines) - 1)  # a complete last line leaves an empty one behind it
        bad = bad.plus(Unreadable(n=1, first_line=block.first_line + number, first_text=text, n_cut=n_cut))
    return to_chunk(rows, bad)


def _point(line: bytes) -> Row | None:
    """The request of one line; ``None``: it cannot be read."""
    try:
        data = json.loads(line)["data"]
        tags = data.get("tags") or {}
        latency_s = float(data["value"]) / 1e3
        end_s = epoch_s(data["time"])
        code = str(tags.get("status", ""))
        expected = tags.get("expected_response")
        ok = is_good_code(code) if expected is None else expected == "true"
        kind = "" if ok else error_kind(code, "", "", str(tags.get("error", "")))
        label = str(tags.get("name") or tags.get("url") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not 0 <= latency_s < float("inf"):
        return None
    return Row(
        start_epoch_s=end_s - latency_s,
        latency_s=latency_s,
        ok=ok,
        label=label,
        transaction=False,
        error_kind=kind,
    )


def read_k6_summary(path: Path) -> AggregateTable:
    """Read the summary of a test, as ``--summary-export``, ``handleSummary`` or k6's newer format has it.

    Raises:
        InputError: it is not whole JSON, or no summary with HTTP requests.
    """
    try:
        found = json.loads(b"".join(read_text_pieces(path, SourceNotes())))
        metrics, duration_s = _metrics(found)
        if duration_s is not None and not math.isfinite(duration_s):
            raise ValueError("the test's duration is no number")
        count = metrics["http_reqs"]
        latency = metrics.get(METRIC, {})
        n_requests = int(count["count"])
        n_errors = round(_failed(metrics.get("http_req_failed", {}), n_requests))
        rate = count.get("rate")
        rate_per_s = float(rate) if rate is not None else n_requests / duration_s if duration_s else None
        quantiles = {name: float(latency[key]) / 1e3 for key, name in _quantile_keys(latency).items()}
        total = AggregateRow(
            name="all",
            n_requests=n_requests,
            n_errors=n_errors,
            latency_mean_s=seconds_of(latency, "avg"),
            latency_min_s=seconds_of(latency, "min"),
            latency_max_s=seconds_of(latency, "max"),
            latency_quantiles_s=quantiles,
            answers_per_s=rate_per_s,
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(
            "not a complete k6 summary",
            file=path,
            place="metrics",
            found=f"{type(error).__name__}: {error}"[:120],
            allowed="what k6 writes with --summary-export, or handleSummary gets",
        ) from error
    return AggregateTable(
        path=path,
        source="k6",
        kind="summary",
        total=total,
        duration_s=duration_s,
        resolution_s=_RESOLUTION_S,
        notes=(WITHOUT_CONNECTING, "latencies are of all requests, failed ones too"),
    )


def _metrics(found: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], float | None]:
    """Each metric's values by name, and how long the test took."""
    if "results" in found:
        named = {one["name"]: one["values"] for one in found["results"]["metrics"]}
        return named, float(found["config"]["duration"])
    metrics = {name: one.get("values", one) for name, one in found["metrics"].items()}
    took = found.get("state", {}).get("testRunDurationMs")
    return metrics, None if took is None else float(took) / 1e3


def _failed(values: dict[str, Any], n_requests: int) -> float:
    for name in ("matches", "passes"):  # of the rate of failure: those that failed
        if name in values:
            return float(values[name])
    return float(values.get("rate", values.get("value", 0.0))) * n_requests


def _quantile_keys(values: dict[str, Any]) -> dict[str, str]:
    keys = {"med": "p50"} if "med" in values else {}
    for key in values:
        share = key.removeprefix("p").strip("()")
        if key.startswith("p") and is_percentile(share):
            keys[key] = f"p{share}"
    return keys
