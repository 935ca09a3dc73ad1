# SPDX-License-Identifier: Apache-2.0
"""Read the result of autocannon as JSON (``--json``): totals, with percentiles in whole milliseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.formats.instants import epoch_s
from harness.formats.source import SourceNotes, read_text_pieces
from harness.formats.table import AggregateRow, AggregateTable, is_percentile, seconds_of

RESOLUTION_S = 1e-3
TOTALS = "autocannon writes no single requests; its latencies are whole milliseconds, of all answers"
#: Both are in every release's result, and together in no other tool's.
_MARKS = ('"non2xx"', '"latency"')
_ALLOWED = "what autocannon prints with --json"


def looks_like_autocannon(head: str) -> bool:
    """An object with autocannon's counts in it."""
    return head.lstrip().startswith("{") and all(mark in head for mark in _MARKS)


def read_autocannon(path: Path) -> AggregateTable:
    """Read one result. An answer with another status than 2xx, a timeout and a broken connection are errors.

    Raises:
        InputError: it is not whole JSON, or a count is missing.
    """
    try:
        found = json.loads(b"".join(read_text_pieces(path, SourceNotes())))
        latency, kinds = found["latency"], _kinds(found)
        answers, broken = int(found["requests"]["total"]), int(found["errors"])
        duration_s = float(found["duration"])
        total = AggregateRow(
            name=str(found.get("title") or found.get("url") or "all"),
            n_requests=answers + broken,
            n_errors=broken + int(found["non2xx"]),
            latency_mean_s=seconds_of(latency, "average") if answers else None,
            latency_min_s=seconds_of(latency, "min") if answers else None,
            latency_max_s=seconds_of(latency, "max") if answers else None,
            latency_quantiles_s=_quantiles(latency) if answers else {},
            answers_per_s=answers / duration_s if duration_s > 0 else None,
        )
        start_s = epoch_s(found["start"]) if "start" in found else None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(
            "not a complete result of autocannon",
            file=path,
            place="JSON",
            found=f"{type(error).__name__}: {error}"[:120],
            allowed=_ALLOWED,
        ) from error
    return AggregateTable(
        path=path,
        source="autocannon",
        kind="summary",
        total=total,
        n_latencies=answers,
        errors_by_kind=kinds,
        start_epoch_s=start_s,
        duration_s=duration_s or None,
        resolution_s=RESOLUTION_S,
        notes=(TOTALS,),
    )


def _quantiles(latency: dict[str, Any]) -> dict[str, float]:
    """``p99_9`` is the 99.9th percentile."""
    found: dict[str, float] = {}
    for name, value in latency.items():
        share = name[1:].replace("_", ".")
        if name.startswith("p") and is_percentile(share):
            found[f"p{float(share):g}"] = float(value) / 1e3
    return found


def _kinds(found: dict[str, Any]) -> dict[str, int]:
    """Timeouts are among autocannon's errors; statuses of failed answers are counted by its statistics of codes."""
    timeouts = int(found.get("timeouts", 0))
    kinds = {"timeout": timeouts, "no answer": int(found["errors"]) - timeouts}
    codes = found.get("statusCodeStats") or {}
    kinds |= {f"HTTP {code}": int(one["count"]) for code, one in codes.items() if not code.startswith("2")}
    if not codes:
        kinds["status other than 2xx"] = int(found["non2xx"])
    return {kind: n for kind, n in kinds.items() if n > 0}
