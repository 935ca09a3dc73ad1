# SPDX-License-Identifier: Apache-2.0
"""Read the totals that autocannon, k6, oha and vegeta write as one JSON document.

The document is parsed whole, and its keys tell whose it is. ``null`` and NaN stand for a number that is not known.
Names of keys: the tools' documentation, and files of autocannon 9, k6 1.8, oha 1.12 and vegeta 12.12.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.formats.line_files import METRIC, WITHOUT_CONNECTING
from harness.formats.row_layout import epoch_s, is_good_code
from harness.formats.source import TextFile, text_file
from harness.formats.table import AggregateRow, AggregateTable, is_percentile
from harness.model.load_tools import FileSource

#: oha's word for requests that were under way when its time was over: neither answers nor errors.
_GIVEN_UP = "aborted due to deadline"
_READABLE = (
    "JSON of autocannon --json, k6 --summary-export, oha --output-format json or vegeta report -type json"
)
Document = dict[str, Any]


def looks_like_json(line: str) -> bool:
    """Tell whether a line begins a JSON document."""
    return line.lstrip().startswith("{")


def read_json(path: Path | TextFile) -> AggregateTable:
    """Read the totals of whichever tool wrote the document; raises InputError: it is not whole JSON, holds several
    documents, is of no tool known here, or lacks a number."""
    file = text_file(path)
    result = _document(file)
    title, read = next(
        ((title, read) for title, keys, read in _FORMATS if all(_has(result, key) for key in keys)),
        ("", None),
    )
    if read is None:
        names = ", ".join(map(str, result))[:80] if isinstance(result, dict) else type(result).__name__
        raise InputError("is JSON of no load tool known here", file=file.path, found=names, allowed=_READABLE)
    try:
        table = read(file.path, result)
    except KeyError as error:
        raise InputError(
            f"lacks the number {error.args[0]}", file=file.path, place="JSON", allowed=f"a whole {title}"
        ) from error
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"is no whole {title}",
            file=file.path,
            place="JSON",
            found=str(error)[:120],
            allowed=_READABLE,
        ) from error
    return table.model_copy(update={"notes": (*table.notes, *file.remarks)})


def _document(file: TextFile) -> Any:
    text = file.text().lstrip()
    try:
        result, end = json.JSONDecoder().raw_decode(text)
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
    return result


def _has(result: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(result, dict) or key not in result:
            return False
        result = result[key]
    return True


def _number(values: Mapping[str, Any], name: str, per_s: float = 1.0) -> float | None:
    """One number of a tool's, which are ``per_s`` to a second; ``None``: it says that it does not know."""
    value = values.get(name)
    if value is None or not math.isfinite(float(value)):
        return None
    return float(value) / per_s


def _rate(n: int, duration_s: float | None) -> float | None:
    return n / duration_s if duration_s and duration_s > 0 else None


def _row(
    latency: Mapping[str, Any],
    keys: tuple[str, str, str],
    per_s: float,
    share_of: Callable[[str], str],
    *,
    n_latencies: int,
    name: str = "all",
    **counts: Any,
) -> AggregateRow:
    """The row of all requests; tools write zeros for the latencies of none.

    ``latency``: in units of which ``per_s`` are a second. ``keys``: of the mean, the least and the greatest.
    ``share_of``: a key -> the share in percent of which it is the percentile; anything else: it is none.
    """
    if n_latencies <= 0:
        return AggregateRow(name=name, **counts)
    mean_s, least_s, greatest_s = (_number(latency, key, per_s) for key in keys)
    shares = {key: share for key in latency if is_percentile(share := share_of(key))}
    quantiles = {f"p{float(share):g}": _number(latency, key, per_s) for key, share in shares.items()}
    return AggregateRow(
        name=name,
        latency_mean_s=mean_s,
        latency_min_s=least_s,
        latency_max_s=greatest_s,
        latency_quantiles_s={share: value for share, value in quantiles.items() if value is not None},
        **counts,
    )


def _summary(
    path: Path, source: FileSource, total: AggregateRow, kinds: Mapping[str, int], **more: Any
) -> AggregateTable:
    """The totals of one document. ``kinds``: how many requests failed in which way, those of none, too."""
    failed = {kind: n for kind, n in kinds.items() if n > 0}
    usual: dict[str, Any] = {
        "resolution_s": 1e-9,
        "notes": ("latencies are of all requests, failed ones too",),
    }
    return AggregateTable(
        path=path, source=source, kind="summary", total=total, errors_by_kind=failed, **(usual | more)
    )


def _bad_codes(codes: Mapping[str, int]) -> dict[str, int]:
    return {f"HTTP {code}": n for code, n in codes.items() if not is_good_code(code) and code != "0"}


def _autocannon(path: Path, document: Document) -> AggregateTable:
    """A status other than 2xx, a body other than expected, a timeout and a broken connection are errors."""
    latency, duration_s = document["latency"], float(document["duration"])
    answers, broken = int(document["requests"]["total"]), int(document["errors"])
    status, bodies = int(document["non2xx"]), int(document.get("mismatches", 0))
    n_latencies, timeouts = int(latency.get("totalCount", answers)), int(document.get("timeouts", 0))
    codes = document.get("statusCodeStats") or {}
    kinds = {"timeout": timeouts, "no answer": broken - timeouts, "another body than expected": bodies}
    kinds |= {f"HTTP {code}": int(item["count"]) for code, item in codes.items() if not code.startswith("2")}
    if not codes:
        kinds["status other than 2xx"] = status
    notes = ["autocannon writes no single requests; its latencies are whole milliseconds, of all answers"]
    if n_latencies < answers:
        notes.append(f"its latencies are of {n_latencies:,} of {answers:,} answers")
    connections = document.get("connections")
    total = _row(
        latency, ("average", "min", "max"), 1e3, lambda key: key[1:].replace("_", ".") if key[:1] == "p" else "",
        n_latencies=n_latencies, name=str(document.get("title") or document.get("url") or "all"),
        n_requests=answers + broken, n_errors=broken + status + bodies, n_unanswered=broken,
        answers_per_s=_rate(answers, duration_s),
    )  # fmt: skip
    return _summary(
        path, "autocannon", total, kinds, n_latencies=n_latencies, duration_s=duration_s or None, resolution_s=1e-3,
        start_epoch_s=epoch_s(document["start"]) if "start" in document else None,
        users=None if connections is None else int(connections) * int(document.get("pipelining", 1)),
        notes=tuple(notes),
    )  # fmt: skip


def _k6(path: Path, document: Document) -> AggregateTable:
    """As ``--summary-export``, ``handleSummary`` or k6's newer format has it."""
    metrics, duration_s = _k6_metrics(document)
    if "http_reqs" not in metrics:
        rest = sorted(name for name in metrics if name.endswith("_duration"))
        raise InputError(
            f"has no HTTP requests: there is no {METRIC} in this k6 summary", file=path,
            found=", ".join(rest or sorted(metrics))[:120], allowed="the summary of a test with k6/http",
        )  # fmt: skip
    if duration_s is not None and not math.isfinite(duration_s):
        raise ValueError("the test's duration is no number")
    n_requests, rate = int(metrics["http_reqs"]["count"]), _number(metrics["http_reqs"], "rate")
    total = _row(
        metrics.get(METRIC, {}), ("avg", "min", "max"), 1e3,
        lambda key: "50" if key == "med" else key[1:].strip("()") if key[:1] == "p" else "",
        n_latencies=n_requests, n_requests=n_requests,
        n_errors=round(_k6_failed(metrics.get("http_req_failed", {}), n_requests)),
        answers_per_s=rate if rate is not None else _rate(n_requests, duration_s),
    )  # fmt: skip
    return _summary(
        path, "k6", total, {}, errors_known="http_req_failed" in metrics, duration_s=duration_s,
        notes=(WITHOUT_CONNECTING, "latencies are of all requests, failed ones too"),
    )  # fmt: skip


def _k6_metrics(document: Document) -> tuple[dict[str, dict[str, Any]], float | None]:
    """Each metric's values by name, and how long the test took."""
    if "results" in document:
        named = {item["name"]: item["values"] for item in document["results"]["metrics"]}
        return named, float(document["config"]["duration"])
    metrics = {name: item.get("values", item) for name, item in document["metrics"].items()}
    took = document.get("state", {}).get("testRunDurationMs")
    return metrics, None if took is None else float(took) / 1e3


def _k6_failed(values: Mapping[str, Any], n_requests: int) -> float:
    for name in ("matches", "passes"):  # of the rate of failure: those that failed
        if name in values:
            return float(values[name])
    return float(values.get("rate", values.get("value", 0.0))) * n_requests


def _oha(path: Path, document: Document) -> AggregateTable:
    codes = {code: int(n) for code, n in document["statusCodeDistribution"].items()}
    broken = (document.get("errorDistribution") or {}).items()
    unanswered = {kind: int(n) for kind, n in broken if kind != _GIVEN_UP}
    summary, n_unanswered, answers = document["summary"], sum(unanswered.values()), sum(codes.values())
    kinds, duration_s = unanswered | _bad_codes(codes), float(summary["total"])
    total = _row(
        summary | (document.get("latencyPercentiles") or {}), ("average", "fastest", "slowest"), 1.0,
        lambda key: key[1:], n_latencies=answers, n_requests=answers + n_unanswered, n_errors=sum(kinds.values()),
        n_unanswered=n_unanswered, answers_per_s=_rate(answers, duration_s),
    )  # fmt: skip
    return _summary(
        path, "oha", total, kinds, n_latencies=answers, duration_s=duration_s or None,
        notes=("latencies are of all answers, failed ones too",),
    )  # fmt: skip


def _vegeta(path: Path, document: Document) -> AggregateTable:
    codes = {code: int(n) for code, n in document["status_codes"].items()}
    n_requests, n_unanswered = int(document["requests"]), codes.get("0", 0)
    duration_s = (float(document["duration"]) + float(document.get("wait", 0))) / 1e9
    kinds = _bad_codes(codes) | {"no answer": n_unanswered}
    total = _row(
        document["latencies"], ("mean", "min", "max"), 1e9, lambda key: key[:-2] if key[-2:] == "th" else "",
        n_latencies=n_requests, n_requests=n_requests, n_errors=sum(kinds.values()), n_unanswered=n_unanswered,
        answers_per_s=_rate(n_requests - n_unanswered, duration_s),
    )  # fmt: skip
    began_s = epoch_s(document["earliest"]) if n_requests and "earliest" in document else None
    return _summary(path, "vegeta", total, kinds, start_epoch_s=began_s, duration_s=duration_s or None)


#: What a document is, the names that are in it, as paths, and how it is read.
_FORMATS: tuple[tuple[str, tuple[tuple[str, ...], ...], Callable[[Path, Document], AggregateTable]], ...] = (
    ("result of autocannon", (("non2xx",), ("latency",), ("requests", "total")), _autocannon),
    ("result of oha", (("summary", "requestsPerSec"), ("statusCodeDistribution",)), _oha),
    ("report of vegeta", (("latencies", "total"), ("status_codes",), ("requests",)), _vegeta),
    ("k6 summary", (("results", "metrics"), ("config",)), _k6),
    ("k6 summary", (("metrics",),), _k6),
)
