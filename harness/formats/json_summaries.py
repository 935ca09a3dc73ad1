# SPDX-License-Identifier: Apache-2.0
"""Read the totals that autocannon, k6, oha and vegeta write as one JSON document.

The document is parsed whole, and its keys tell whose it is. ``null`` and NaN stand for a number that is not known.
Names of keys: the tools' documentation, and files of autocannon 9, k6 1.8, oha 1.12 and vegeta 12.12.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.formats.instants import epoch_s
from harness.formats.k6_rows import METRIC, WITHOUT_CONNECTING
from harness.formats.row_layout import is_good_code
from harness.formats.source import TextFile, text_file
from harness.formats.table import AggregateRow, AggregateTable, is_percentile

#: oha's word for requests that were under way when its time was over: neither answers nor errors.
_GIVEN_UP = "aborted due to deadline"
_READABLE = (
    "JSON of autocannon --json, k6 --summary-export, oha --output-format json or vegeta report -type json"
)
Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class JsonFormat:
    """One tool's document. ``keys``: the names that are in it, as paths. ``read``: what follows the error handling."""

    title: str
    keys: tuple[tuple[str, ...], ...]
    read: Callable[[Path, Document], AggregateTable]


def looks_like_json(line: str) -> bool:
    """Tell whether a line begins a JSON document."""
    return line.lstrip().startswith("{")


def read_json(path: Path | TextFile) -> AggregateTable:
    """Read the totals of whichever tool wrote the document.

    Raises:
        InputError: it is not whole JSON, holds several documents, is of no tool known here, or lacks a number.
    """
    file = text_file(path)
    found = _document(file)
    tool = next((one for one in _FORMATS if all(_has(found, key) for key in one.keys)), None)
    if tool is None:
        names = ", ".join(map(str, found))[:80] if isinstance(found, dict) else type(found).__name__
        raise InputError("is JSON of no load tool known here", file=file.path, found=names, allowed=_READABLE)
    try:
        table = tool.read(file.path, found)
    except KeyError as error:
        raise InputError(
            f"lacks the number {error.args[0]}", file=file.path, place="JSON", allowed=f"a whole {tool.title}"
        ) from error
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"is no whole {tool.title}",
            file=file.path,
            place="JSON",
            found=str(error)[:120],
            allowed=_READABLE,
        ) from error
    return table.model_copy(update={"notes": (*table.notes, *file.said)})


def _document(file: TextFile) -> Any:
    text = file.text().lstrip()
    try:
        found, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "is no whole JSON: was it cut short?",
            file=file.path,
            place=f"line {file.first_line + getattr(error, 'lineno', 1) - 1}",
            found=file.first[:80],
            allowed=_READABLE,
        ) from error
    if looks_like_json(text[end:]):
        line = file.first_line + text.count("\n", 0, end) + 1
        raise InputError(
            "holds several results", file=file.path, place=f"line {line}", allowed="one result in a file"
        )
    return found


def _has(found: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return False
        found = found[key]
    return True


def _number(values: Mapping[str, Any], name: str, per_s: float = 1.0) -> float | None:
    """One number of a tool's, which are ``per_s`` to a second; ``None``: it says that it does not know."""
    value = values.get(name)
    if value is None or not math.isfinite(float(value)):
        return None
    return float(value) / per_s


def _whole(values: Mapping[str, Any], name: str) -> int:
    return int(values[name])


def _quantiles(values: Mapping[str, Any], shares: Mapping[str, str], per_s: float) -> dict[str, float]:
    """Key -> share in percent, as ``p99.9`` -> seconds."""
    found = {f"p{float(share):g}": _number(values, key, per_s) for key, share in shares.items()}
    return {name: value for name, value in found.items() if value is not None}


def _shares(values: Mapping[str, Any], share_of: Callable[[str], str]) -> dict[str, str]:
    return {key: share for key in values if is_percentile(share := share_of(key))}


def _autocannon(path: Path, found: Document) -> AggregateTable:
    """An answer with another status than 2xx, a timeout and a broken connection are errors."""
    latency = found["latency"]
    answers, broken, other = (
        int(found["requests"]["total"]),
        _whole(found, "errors"),
        _whole(found, "non2xx"),
    )
    n_latencies = int(latency.get("totalCount", answers))
    duration_s = float(found["duration"])
    some = n_latencies > 0
    shares = _shares(latency, lambda key: key[1:].replace("_", ".") if key[:1] == "p" else "")
    timeouts = int(found.get("timeouts", 0))
    codes = found.get("statusCodeStats") or {}
    kinds = {"timeout": timeouts, "no answer": broken - timeouts}
    kinds |= {f"HTTP {code}": int(one["count"]) for code, one in codes.items() if not code.startswith("2")}
    if not codes:
        kinds["status other than 2xx"] = other
    total = AggregateRow(
        name=str(found.get("title") or found.get("url") or "all"),
        n_requests=answers + broken,
        n_errors=broken + other,
        n_unanswered=broken,
        latency_mean_s=_number(latency, "average", 1e3) if some else None,
        latency_min_s=_number(latency, "min", 1e3) if some else None,
        latency_max_s=_number(latency, "max", 1e3) if some else None,
        latency_quantiles_s=_quantiles(latency, shares, 1e3) if some else {},
        answers_per_s=answers / duration_s if duration_s > 0 else None,
    )
    notes = ["autocannon writes no single requests; its latencies are whole milliseconds, of all answers"]
    if n_latencies < answers:
        notes.append(f"its latencies are of {n_latencies:,} of {answers:,} answers")
    connections = found.get("connections")
    return AggregateTable(
        path=path,
        source="autocannon",
        kind="summary",
        total=total,
        n_latencies=n_latencies,
        errors_by_kind={kind: n for kind, n in kinds.items() if n > 0},
        start_epoch_s=epoch_s(found["start"]) if "start" in found else None,
        duration_s=duration_s or None,
        users=None if connections is None else int(connections) * int(found.get("pipelining", 1)),
        resolution_s=1e-3,
        notes=tuple(notes),
    )


def _k6(path: Path, found: Document) -> AggregateTable:
    """As ``--summary-export``, ``handleSummary`` or k6's newer format has it."""
    metrics, duration_s = _k6_metrics(found)
    if "http_reqs" not in metrics:
        others = sorted(name for name in metrics if name.endswith("_duration"))
        raise InputError(
            f"has no HTTP requests: there is no {METRIC} in this k6 summary",
            file=path,
            found=", ".join(others or sorted(metrics))[:120],
            allowed="the summary of a test with k6/http",
        )
    if duration_s is not None and not math.isfinite(duration_s):
        raise ValueError("the test's duration is no number")
    count, latency = metrics["http_reqs"], metrics.get(METRIC, {})
    n_requests = _whole(count, "count")
    rate = _number(count, "rate")
    shares = {"med": "50"} | _shares(
        latency, lambda key: key.removeprefix("p").strip("()") if key[:1] == "p" else ""
    )
    total = AggregateRow(
        name="all",
        n_requests=n_requests,
        n_errors=round(_k6_failed(metrics.get("http_req_failed", {}), n_requests)),
        latency_mean_s=_number(latency, "avg", 1e3) if n_requests else None,
        latency_min_s=_number(latency, "min", 1e3) if n_requests else None,
        latency_max_s=_number(latency, "max", 1e3) if n_requests else None,
        latency_quantiles_s=_quantiles(latency, shares, 1e3) if n_requests else {},
        answers_per_s=rate if rate is not None else n_requests / duration_s if duration_s else None,
    )
    return AggregateTable(
        path=path,
        source="k6",
        kind="summary",
        total=total,
        errors_known="http_req_failed" in metrics,
        duration_s=duration_s,
        resolution_s=1e-9,
        notes=(WITHOUT_CONNECTING, "latencies are of all requests, failed ones too"),
    )


def _k6_metrics(found: Document) -> tuple[dict[str, dict[str, Any]], float | None]:
    """Each metric's values by name, and how long the test took."""
    if "results" in found:
        named = {one["name"]: one["values"] for one in found["results"]["metrics"]}
        return named, float(found["config"]["duration"])
    metrics = {name: one.get("values", one) for name, one in found["metrics"].items()}
    took = found.get("state", {}).get("testRunDurationMs")
    return metrics, None if took is None else float(took) / 1e3


def _k6_failed(values: Mapping[str, Any], n_requests: int) -> float:
    for name in ("matches", "passes"):  # of the rate of failure: those that failed
        if name in values:
            return float(values[name])
    return float(values.get("rate", values.get("value", 0.0))) * n_requests


def _oha(path: Path, found: Document) -> AggregateTable:
    summary = found["summary"]
    codes = {code: int(n) for code, n in found["statusCodeDistribution"].items()}
    broken = {kind: int(n) for kind, n in (found.get("errorDistribution") or {}).items() if kind != _GIVEN_UP}
    answers, n_unanswered = sum(codes.values()), sum(broken.values())
    kinds = broken | {f"HTTP {code}": n for code, n in codes.items() if not is_good_code(code)}
    duration_s = float(summary["total"])
    percentiles = found.get("latencyPercentiles") or {}
    total = AggregateRow(
        name="all",
        n_requests=answers + n_unanswered,
        n_errors=sum(kinds.values()),
        n_unanswered=n_unanswered,
        latency_mean_s=_number(summary, "average") if answers else None,
        latency_min_s=_number(summary, "fastest") if answers else None,
        latency_max_s=_number(summary, "slowest") if answers else None,
        latency_quantiles_s=_quantiles(percentiles, _shares(percentiles, lambda key: key[1:]), 1.0)
        if answers
        else {},
        answers_per_s=answers / duration_s if duration_s > 0 else None,
    )
    return AggregateTable(
        path=path,
        source="oha",
        kind="summary",
        total=total,
        n_latencies=answers,
        errors_by_kind={kind: n for kind, n in kinds.items() if n > 0},
        duration_s=duration_s or None,
        resolution_s=1e-9,
        notes=("latencies are of all answers, failed ones too",),
    )


def _vegeta(path: Path, found: Document) -> AggregateTable:
    latency = found["latencies"]
    codes = {code: int(n) for code, n in found["status_codes"].items()}
    n_requests, n_unanswered = _whole(found, "requests"), codes.get("0", 0)
    kinds = {f"HTTP {code}": n for code, n in codes.items() if not is_good_code(code) and code != "0"}
    duration_s = (float(found["duration"]) + float(found.get("wait", 0))) / 1e9
    shares = _shares(latency, lambda key: key.removesuffix("th") if key.endswith("th") else "")
    total = AggregateRow(
        name="all",
        n_requests=n_requests,
        n_errors=sum(kinds.values()) + n_unanswered,
        n_unanswered=n_unanswered,
        latency_mean_s=_number(latency, "mean", 1e9) if n_requests else None,
        latency_min_s=_number(latency, "min", 1e9) if n_requests else None,
        latency_max_s=_number(latency, "max", 1e9) if n_requests else None,
        latency_quantiles_s=_quantiles(latency, shares, 1e9) if n_requests else {},
        answers_per_s=(n_requests - n_unanswered) / duration_s if duration_s > 0 else None,
    )
    return AggregateTable(
        path=path,
        source="vegeta",
        kind="summary",
        total=total,
        errors_by_kind={kind: n for kind, n in (kinds | {"no answer": n_unanswered}).items() if n > 0},
        start_epoch_s=epoch_s(found["earliest"]) if n_requests and "earliest" in found else None,
        duration_s=duration_s or None,
        resolution_s=1e-9,
        notes=("latencies are of all requests, failed ones too",),
    )


_FORMATS = (
    JsonFormat(
        title="result of autocannon",
        keys=(("non2xx",), ("latency",), ("requests", "total")),
        read=_autocannon,
    ),
    JsonFormat(
        title="result of oha", keys=(("summary", "requestsPerSec"), ("statusCodeDistribution",)), read=_oha
    ),
    JsonFormat(
        title="report of vegeta",
        keys=(("latencies", "total"), ("status_codes",), ("requests",)),
        read=_vegeta,
    ),
    JsonFormat(title="k6 summary", keys=(("results", "metrics"), ("config",)), read=_k6),
    JsonFormat(title="k6 summary", keys=(("metrics",),), read=_k6),
)
