# SPDX-License-Identifier: Apache-2.0
"""Read the csv files of totals: Locust's stats and history, and JMeter's aggregate table.

Locust keeps response times rounded (whole ms below 100, then two digits), so its percentiles are no
finer than that; means are not rounded. Names of columns changed between releases: read by meaning.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from harness.errors import InputError
from harness.formats.row_layout import split_row
from harness.formats.source import SourceNotes, TextFile
from harness.formats.table import AggregateRow, AggregateTable, is_percentile
from harness.model.load_tools import FileSource

STATS_RESOLUTION_S = 0.001
ROUNDED = "Locust rounds response times to two digits (whole ms below 100) before it takes percentiles"
JMETERS = "JMeter's aggregate table: its percentiles may be of the last samples only"

#: What a column holds -> its names, in small letters.
_NAMES = {
    "name": ("name", "label", "sampler_label", "aggregate_report_label"),
    "count": ("request count", "# requests", "total request count", "# samples", "aggregate_report_count"),
    "failed": ("failure count", "# failures", "total failure count"),
    "failed_share": ("error %", "error%", "aggregate_report_error%", "aggregate_report_error_%"),
    "mean": ("average response time", "total average response time", "average", "aggregate_report_average"),
    "min": ("min response time", "total min response time", "min", "minimum", "aggregate_report_min"),
    "max": ("max response time", "total max response time", "max", "maximum", "aggregate_report_max"),
    "median": ("median response time", "total median response time", "median", "aggregate_report_median"),
    "rate": ("requests/s", "throughput", "rate", "aggregate_report_rate"),
}
_MEANINGS = {name: meaning for meaning, names in _NAMES.items() for name in names}
_PER_S = {"sec": 1.0, "s": 1.0, "min": 1 / 60, "hour": 1 / 3600}
_QUANTILE = re.compile(r"(?:aggregate_report_)?(\d+(?:\.\d+)?)%(?:[ _]line)?", re.ASCII)
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}", re.ASCII)
_TOTAL_NAMES = {"aggregated", "total"}
_WITH_TOTALS = "the file _stats.csv or _stats_history.csv beside it, or raw samples"

Fields = dict[str, str]


def kind_of(line: str) -> str | None:
    """Return what a header names: stats, history, failures or exceptions; ``None``: no file of totals."""
    names = {name.strip().lower() for name in split_row(line, ",")}
    if {"timestamp", "user count"} <= names:
        return "history"
    if {"occurrences", "error"} <= names:
        return "failures"
    if {"count", "message", "traceback"} <= names:
        return "exceptions"
    return "stats" if {"name", "count"} <= {_MEANINGS.get(name, "") for name in names} else None


def read_totals(file: TextFile) -> AggregateTable:
    """Read one of the csv files that hold totals; raises InputError: a list without requests, or damaged."""
    kind = kind_of(file.first)
    if kind not in {"stats", "history"}:
        raise InputError(
            f"is a list of {kind}, without requests or response times", file=file.path, allowed=_WITH_TOTALS
        )
    reader = _Totals(file)
    table = reader.stats() if kind == "stats" else reader.history()
    notes = (*table.notes, *file.remarks, *reader.notes.notes)
    return table.model_copy(
        update={"unreadable_lines": reader.n_unreadable, "errors_known": reader.errors_known, "notes": notes}
    )


class _Totals:
    """One csv file of totals: a row per name, or per name and second."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self.notes = SourceNotes()
        self._header = [name.strip().lower() for name in split_row(file.first, ",")]
        self.n_unreadable = 0
        self.errors_known = True

    def _rows(self) -> Iterator[Fields]:
        """Yield the rows that have all columns, by what these hold, and count the others as unreadable."""
        columns = [_MEANINGS.get(name, name) for name in self._header]
        try:
            lines = csv.reader(io.StringIO(self._file.text(self.notes), newline=""))
            next(lines)
            for line in lines:
                if len({name.strip().lower() for name in line} & {*self._header} - {""}) > 2:  # in any order
                    raise InputError(
                        "holds several runs: its header comes again", file=self._file.path,
                        allowed="one run in a file",
                    )  # fmt: skip
                if len(line) == len(columns):
                    yield dict(zip(columns, line, strict=True))
                else:
                    self.n_unreadable += bool(line)
        except csv.Error as problem:
            raise InputError(f"is not csv ({problem})", file=self._file.path) from problem

    def stats(self) -> AggregateTable:
        """Return the totals by name. The total of all is the last row, whatever a request is called; of sorted
        rows, the only one without a type."""
        rows = [row for fields in self._rows() if (row := self._row(fields)) is not None]
        totals = [row for row in rows if row.method is None and row.name.lower() in _TOTAL_NAMES]
        is_sorted = not {"type", "method"}.isdisjoint(self._header) and len(totals) == 1
        total = totals[-1] if totals and (is_sorted or totals[-1] is rows[-1]) else None
        source: FileSource = "locust" if "name" in self._header else "jmeter"
        notes = [JMETERS]
        if source == "locust":
            notes = [ROUNDED, "Locust's last flush may be missing: totals can be a little low"]
        if total is None:
            notes.append("no row of the total at the end: the file is cut or a part")
        return AggregateTable(
            path=self._file.path,
            source=source,
            kind="stats",
            rows=tuple(row for row in rows if row is not total),
            total=total,
            resolution_s=STATS_RESOLUTION_S,
            notes=tuple(notes),
        )

    def _row(self, fields: Fields) -> AggregateRow | None:
        n_requests = _count(fields, "count")
        n_errors = None if n_requests is None else self._failed(fields, n_requests)
        if n_requests is None or n_errors is None:
            self.n_unreadable += 1
            return None
        quantiles = _quantiles(fields)
        median = _seconds(fields, "median")
        if median is not None:
            quantiles.setdefault("p50", median)
        method = fields.get("type") or fields.get("method") or None
        some = n_requests > 0  # Locust prints zeros for what nobody measured
        times: dict[str, Any] = {
            f"latency_{name}_s": _seconds(fields, name) for name in ("mean", "min", "max") if some
        }
        return AggregateRow(
            name=fields.get("name", ""),
            method=None if method == "None" else method,
            n_requests=n_requests,
            n_errors=n_errors,
            latency_quantiles_s=quantiles if some else {},
            answers_per_s=_per_s(fields),
            **times,
        )

    def _failed(self, fields: Fields, n_requests: int) -> int | None:
        """How many requests failed; ``None``: what the row says of it cannot be read."""
        if "failed" in fields:
            return _count(fields, "failed")
        if "failed_share" not in fields:
            self.errors_known = False
            return 0
        text = fields["failed_share"].strip()
        share = _decimal(text.removesuffix("%"))
        return None if share is None else round(share / (100 if text.endswith("%") else 1) * n_requests)

    def history(self) -> AggregateTable:
        """Return totals since the start. Rates and percentiles of a row are of the last seconds: of the course only."""
        rows: list[tuple[float, int, Fields]] = []
        for fields in self._rows():
            of_all = fields.get("name", "").lower() in _TOTAL_NAMES
            epoch_s = _number(fields, "timestamp")
            self.n_unreadable += epoch_s is None
            if of_all and fields.get("type") in {None, "", "None"} and epoch_s is not None:
                rows.append((epoch_s, _count(fields, "count") or 0, fields))
        if rows and rows[0][0] > rows[-1][0]:  # newest first, as a spreadsheet sorts them
            rows.reverse()
        falls = (i for i, (before, after) in enumerate(pairwise(rows), 1) if after[1] < before[1])
        n_earlier = max(falls, default=0)
        start_s, n_before, _ = rows[n_earlier] if rows else (None, 0, {})
        end_s, n_requests, last = rows[-1] if rows else (0.0, 0, {})
        duration_s = None if start_s is None else end_s - start_s
        total = self._row(last) if n_requests else None
        if total is not None:
            median = _seconds(last, "median")
            update = {
                "latency_quantiles_s": {} if median is None else {"p50": median},
                "answers_per_s": (total.n_requests - n_before) / duration_s if duration_s else None,
            }
            total = total.model_copy(update=update)
        notes = [ROUNDED, "percentiles in the history are those of the last ten seconds: they are not shown"]
        if n_earlier:
            notes.append(
                f"counts begin again: the {n_earlier:,} rows above are of an earlier run, whose requests are left out"
            )
        return AggregateTable(
            path=self._file.path,
            source="locust",
            kind="history",
            total=total,
            start_epoch_s=start_s,
            duration_s=duration_s,
            users=max((_count(fields, "user count") or 0 for *_, fields in rows), default=0) or None,
            resolution_s=STATS_RESOLUTION_S,
            notes=tuple(notes),
        )


def _number(fields: Fields, name: str) -> float | None:
    try:
        number = float(fields.get(name, ""))
    except ValueError:  # absent in this release, or empty, or N/A
        return None
    return number if math.isfinite(number) else None


def _per_s(fields: Fields) -> float | None:
    """A rate, with or without a unit: ``12.5/sec``."""
    text, _, unit = fields.get("rate", "").partition("/")
    number = None if _THOUSANDS.fullmatch(text) else _decimal(text)  # 1,234: one or a thousand?
    return None if number is None or (unit or "s") not in _PER_S else number * _PER_S[unit or "s"]


def _decimal(text: str) -> float | None:
    """A number with a point or, as JMeter writes it in many languages, a comma before its decimals."""
    return _number({"": text.replace(",", ".", 1)}, "")


def _count(fields: Fields, name: str) -> int | None:
    number = _number(fields, name)
    return int(number) if number is not None and number >= 0 else None


def _seconds(fields: Fields, name: str) -> float | None:
    number = _number(fields, name)
    return None if number is None else number / 1000.0


def _quantiles(fields: Fields) -> dict[str, float]:
    """Columns like ``99.9%`` or ``90% Line`` as ``p99.9``, in seconds."""
    results: dict[str, float] = {}
    for name in fields:
        match = _QUANTILE.fullmatch(name)
        latency_s = _seconds(fields, name) if match is not None and is_percentile(match[1]) else None
        if match is not None and latency_s is not None:
            results["max" if float(match[1]) == 100 else f"p{match[1]}"] = latency_s
    return results
