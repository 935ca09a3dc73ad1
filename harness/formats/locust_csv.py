# SPDX-License-Identifier: Apache-2.0
"""Read Locust's own ``--csv`` files of several releases: totals, history, failures and exceptions.

Locust keeps response times rounded (whole ms below 100, then two digits), so its percentiles are no
finer than that; means are not rounded. Names of columns changed between releases: read by meaning.
"""

from __future__ import annotations

import codecs
import csv
import math
from collections.abc import Iterator
from pathlib import Path

from harness.errors import InputError
from harness.formats.locust_samples import SAMPLE_COLUMNS, first_fields
from harness.formats.source import SourceNotes, another_file, read_head, read_text_pieces
from harness.formats.table import AggregateRow, AggregateTable, HistoryPoint, is_percentile

STATS_RESOLUTION_S = 0.001
ROUNDED = "Locust rounds response times to two digits (whole ms below 100) before it takes percentiles"

_COUNT = ("request count", "# requests", "total request count")
_FAILED = ("failure count", "# failures", "total failure count")
_MEAN = ("average response time", "total average response time")
_MIN = ("min response time", "total min response time")
_MAX = ("max response time", "total max response time")
_MEDIAN = ("median response time", "total median response time")
_RATE = ("requests/s",)
_TOTAL_NAMES = {"aggregated", "total"}

Fields = dict[str, str]


def kind_of(header: list[str]) -> str | None:
    """Return samples, stats, history, failures, exceptions, or None when no Locust file begins so."""
    names = [name.strip().lower() for name in header]
    if tuple(names[: len(SAMPLE_COLUMNS)]) == SAMPLE_COLUMNS:
        return "samples"
    if "timestamp" in names and "user count" in names:
        return "history"
    if "occurrences" in names and "error" in names:
        return "failures"
    if {"count", "message", "traceback"} <= set(names):
        return "exceptions"
    if "name" in names and any(name in names for name in _COUNT):
        return "stats"
    return None


def read_totals(path: Path) -> AggregateTable:
    """Read one of the csv files that hold totals.

    Raises:
        InputError: empty or none of them.
    """
    head = read_head(path)
    kind = kind_of(first_fields(head))
    if kind in {None, "samples"}:
        allowed = (
            "_stats.csv, _stats_history.csv, _failures.csv, _exceptions.csv or samples with the columns "
        )
        raise another_file("not a Locust CSV file", path, head, allowed + ",".join(SAMPLE_COLUMNS))
    return _Tables(path).read(str(kind))


def _lines(path: Path, notes: SourceNotes) -> Iterator[str]:
    """Yield the lines of a file with their ends; one piece of the file is held, and the line that it ends in."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    begun: list[str] = []
    for piece in read_text_pieces(path, notes):
        lines = decoder.decode(piece).splitlines(keepends=True)
        if len(lines) > 1:  # what was begun ends with the first of them
            yield from "".join((*begun, lines[0])).splitlines(keepends=True)
            yield from lines[1:-1]
            begun = lines[-1:]
        else:
            begun += lines
    yield from "".join(begun).splitlines(keepends=True)


class _Tables:
    """One of Locust's own csv files: a row per name, or per second, or per name and second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes = SourceNotes()
        self.n_unreadable = 0

    def rows(self) -> Iterator[Fields]:
        """Yield the rows that have all columns, and count the others as unreadable: to be read once."""
        try:
            lines = csv.reader(_lines(self.path, self.notes))
            header = [name.strip().lower() for name in next(lines, [])]
            for line in lines:
                if len(line) == len(header):
                    yield dict(zip(header, line, strict=True))
                else:
                    self.n_unreadable += bool(line)
        except csv.Error as problem:
            raise InputError(f"is not csv ({problem})", file=self.path) from problem

    def read(self, kind: str) -> AggregateTable:
        readers = {
            "stats": self._stats,
            "history": self._history,
            "failures": self._failures,
            "exceptions": self._exceptions,
        }
        table = readers[kind]()
        return table.model_copy(
            update={"unreadable_lines": self.n_unreadable, "notes": (*table.notes, *self.notes.notes)}
        )

    def _stats(self) -> AggregateTable:
        rows = [row for row in map(self._aggregate_row, self.rows()) if row is not None]
        total = next((row for row in rows if row.name.lower() in _TOTAL_NAMES), None)
        each = tuple(row for row in rows if row is not total)
        notes = (ROUNDED, "Locust's last flush may be missing: totals can be a little low")
        return AggregateTable(
            path=self.path,
            source="locust",
            kind="stats",
            rows=each,
            total=total,
            resolution_s=STATS_RESOLUTION_S,
            notes=notes if total is not None else (*notes, "no Aggregated row: the file is cut or a part"),
        )

    def _aggregate_row(self, fields: Fields) -> AggregateRow | None:
        n_requests = _count(fields, _COUNT)
        if n_requests is None:
            self.n_unreadable += 1
            return None
        quantiles = _quantiles(fields)
        median = _ms(fields, _MEDIAN)
        if median is not None:
            quantiles.setdefault("p50", median)
        some = n_requests > 0  # Locust prints zeros for what nobody measured
        return AggregateRow(
            name=fields.get("name", ""),
            method=fields.get("type") or fields.get("method") or None,
            n_requests=n_requests,
            n_errors=_count(fields, _FAILED) or 0,
            latency_mean_s=_ms(fields, _MEAN) if some else None,
            latency_min_s=_ms(fields, _MIN) if some else None,
            latency_max_s=_ms(fields, _MAX) if some else None,
            latency_quantiles_s=quantiles if some else {},
            answers_per_s=_number(fields, _RATE),
        )

    def _history(self) -> AggregateTable:
        mine = [row for row in self.rows() if row.get("name", "").lower() in _TOTAL_NAMES]
        points = [point for point in map(self._point, mine) if point is not None]
        counted = [row for row in mine if (_count(row, _COUNT) or 0) > 0]
        start = points[0].epoch_s if points else None
        return AggregateTable(
            path=self.path,
            source="locust",
            kind="history",
            total=self._aggregate_row(counted[-1]) if counted else None,
            history=tuple(points),
            start_epoch_s=start,
            duration_s=points[-1].epoch_s - points[0].epoch_s if points else None,
            resolution_s=STATS_RESOLUTION_S,
            notes=(ROUNDED, "percentiles in the history are those of the last ten seconds"),
        )

    def _point(self, fields: Fields) -> HistoryPoint | None:
        epoch_s = _number(fields, ("timestamp",))
        if epoch_s is None:
            self.n_unreadable += 1
            return None
        return HistoryPoint(
            epoch_s=epoch_s,
            users=_count(fields, ("user count",)),
            answers_per_s=_number(fields, _RATE),
            errors_per_s=_number(fields, ("failures/s",)),
            n_requests=_count(fields, _COUNT),
            n_errors=_count(fields, _FAILED),
            latency_quantiles_s=_quantiles(fields),
        )

    def _failures(self) -> AggregateTable:
        return self._kinds("failures", "error", "occurrences")

    def _exceptions(self) -> AggregateTable:
        return self._kinds("exceptions", "message", "count")

    def _kinds(self, kind: str, what: str, how_often: str) -> AggregateTable:
        kinds: dict[str, int] = {}
        for fields in self.rows():
            n = _count(fields, (how_often,))
            if n is None:
                self.n_unreadable += 1
                continue
            kinds[fields[what]] = kinds.get(fields[what], 0) + n
        return AggregateTable.model_validate(
            {
                "path": self.path,
                "source": "locust",
                "kind": kind,
                "errors_by_kind": kinds,
                "resolution_s": STATS_RESOLUTION_S,
            }
        )


def _number(fields: Fields, names: tuple[str, ...]) -> float | None:
    for name in names:
        try:
            number = float(fields[name])
        except (KeyError, ValueError):  # absent in this release, or empty, or N/A
            continue
        return number if math.isfinite(number) else None
    return None


def _count(fields: Fields, names: tuple[str, ...]) -> int | None:
    number = _number(fields, names)
    return int(number) if number is not None and number >= 0 else None


def _ms(fields: Fields, names: tuple[str, ...]) -> float | None:
    number = _number(fields, names)
    return None if number is None else number / 1000.0


def _quantiles(fields: Fields) -> dict[str, float]:
    """Columns like ``99.9%`` as ``p99.9``, in seconds."""
    found: dict[str, float] = {}
    for name in fields:
        share = name.removesuffix("%")
        if share == name or not is_percentile(share):
            continue
        latency_s = _ms(fields, (name,))
        if latency_s is not None:
            found["max" if float(share) == 100 else f"p{share}"] = latency_s
    return found
