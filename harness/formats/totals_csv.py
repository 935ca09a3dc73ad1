# SPDX-License-Identifier: Apache-2.0
"""Read the csv files of totals: Locust's stats, history, failures and exceptions, and JMeter's aggregate table.

Locust keeps response times rounded (whole ms below 100, then two digits), so its percentiles are no
finer than that; means are not rounded. Names of columns changed between releases: read by meaning.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from harness.errors import InputError
from harness.formats.row_layout import split_row
from harness.formats.source import SourceNotes, TextFile, another_file, text_file
from harness.formats.table import AggregateRow, AggregateTable, HistoryPoint, is_percentile
from harness.model.load_tools import FileSource

STATS_RESOLUTION_S = 0.001
ROUNDED = "Locust rounds response times to two digits (whole ms below 100) before it takes percentiles"

JMETERS = "JMeter's aggregate table: its percentiles may be of the last samples only"

_NAME = ("name", "label", "sampler_label", "aggregate_report_label")
_COUNT = ("request count", "# requests", "total request count", "# samples", "aggregate_report_count")
_FAILED = ("failure count", "# failures", "total failure count")
_FAILED_SHARE = ("error %", "error%", "aggregate_report_error%", "aggregate_report_error_%")
_MEAN = ("average response time", "total average response time", "average", "aggregate_report_average")
_MIN = ("min response time", "total min response time", "min", "minimum", "aggregate_report_min")
_MAX = ("max response time", "total max response time", "max", "maximum", "aggregate_report_max")
_MEDIAN = ("median response time", "total median response time", "median", "aggregate_report_median")
_RATE = ("requests/s", "throughput", "rate", "aggregate_report_rate")
_PER_S = {"sec": 1.0, "s": 1.0, "min": 1 / 60, "hour": 1 / 3600}
_QUANTILE = re.compile(r"(?:aggregate_report_)?(\d+(?:\.\d+)?)%(?:[ _]line)?", re.ASCII)
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}", re.ASCII)
_TOTAL_NAMES = {"aggregated", "total"}

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
    return "stats" if names & set(_NAME) and names & set(_COUNT) else None


def read_totals(path: Path | TextFile) -> AggregateTable:
    """Read one of the csv files that hold totals.

    Raises:
        InputError: empty or none of them.
    """
    file = text_file(path)
    kind = kind_of(file.first)
    if kind is None:
        raise another_file(
            "not a csv file of totals", file,
            "Locust's _stats.csv, _stats_history.csv, _failures.csv or _exceptions.csv, or JMeter's aggregate table",
        )  # fmt: skip
    return _Tables(file).read(kind)


def _lines(file: TextFile, notes: SourceNotes) -> Iterator[str]:
    """Yield the lines of a file with their ends; one piece of the file is held, and the line that it ends in."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    begun: list[str] = []
    for piece in file.pieces(notes):
        lines = decoder.decode(piece).splitlines(keepends=True)
        if len(lines) > 1:  # what was begun ends with the first of them
            yield from "".join((*begun, lines[0])).splitlines(keepends=True)
            yield from lines[1:-1]
            begun = lines[-1:]
        else:
            begun += lines
    yield from "".join(begun).splitlines(keepends=True)


class _Tables:
    """One csv file of totals: a row per name, or per second, or per name and second."""

    def __init__(self, file: TextFile) -> None:
        self.file, self.path = file, file.path
        self.notes = SourceNotes()
        self.n_unreadable = 0
        self.says_errors = True

    def rows(self) -> Iterator[Fields]:
        """Yield the rows that have all columns, and count the others as unreadable: to be read once."""
        try:
            lines = csv.reader(_lines(self.file, self.notes))
            header = [name.strip().lower() for name in next(lines, [])]
            for line in lines:
                if len({name.strip().lower() for name in line} & {*header} - {""}) > 2:  # whatever its order
                    raise InputError(
                        "holds several runs: its header comes again",
                        file=self.path,
                        allowed="one run in a file",
                    )
                if len(line) == len(header):
                    yield dict(zip(header, line, strict=True))
                else:
                    self.n_unreadable += bool(line)
        except csv.Error as problem:
            raise InputError(f"is not csv ({problem})", file=self.path) from problem

    def read(self, kind: str) -> AggregateTable:
        readers: dict[str, Callable[[], AggregateTable]] = {
            "stats": self._stats,
            "history": self._history,
            "failures": lambda: self._kinds("failures", "error", "occurrences"),
            "exceptions": lambda: self._kinds("exceptions", "message", "count"),
        }
        table = readers[kind]()
        return table.model_copy(
            update={
                "unreadable_lines": self.n_unreadable,
                "errors_known": self.says_errors,
                "notes": (*table.notes, *self.file.remarks, *self.notes.notes),
            }
        )

    def _stats(self) -> AggregateTable:
        rows: list[AggregateRow] = []
        is_locusts = has_types = False
        for fields in self.rows():
            row = self._aggregate_row(fields)
            is_locusts |= "name" in fields
            has_types |= not {"type", "method"}.isdisjoint(fields)
            rows += [] if row is None else [row]
        # The total is the last row, whatever a request is called; of sorted rows, the only one without a type.
        totals = [row for row in rows if _is_total(row)]
        sorted_ = has_types and len(totals) == 1
        total = totals[-1] if totals and (sorted_ or totals[-1] is rows[-1]) else None
        each = [row for row in rows if row is not total]
        source: FileSource = "locust" if is_locusts else "jmeter"
        notes = (
            (ROUNDED, "Locust's last flush may be missing: totals can be a little low")
            if is_locusts
            else (JMETERS,)
        )
        return AggregateTable(
            path=self.path,
            source=source,
            kind="stats",
            rows=tuple(each),
            total=total,
            resolution_s=STATS_RESOLUTION_S,
            notes=notes
            if total is not None
            else (*notes, "no row of the total at the end: the file is cut or a part"),
        )

    def _aggregate_row(self, fields: Fields) -> AggregateRow | None:
        n_requests = _count(fields, _COUNT)
        n_errors = None if n_requests is None else self._failed(fields, n_requests)
        if n_requests is None or n_errors is None:
            self.n_unreadable += 1
            return None
        quantiles = _quantiles(fields)
        median = _ms(fields, _MEDIAN)
        if median is not None:
            quantiles.setdefault("p50", median)
        method = fields.get("type") or fields.get("method") or None
        some = n_requests > 0  # Locust prints zeros for what nobody measured
        return AggregateRow(
            name=next((fields[name] for name in _NAME if name in fields), ""),
            method=None if method == "None" else method,
            n_requests=n_requests,
            n_errors=n_errors,
            latency_mean_s=_ms(fields, _MEAN) if some else None,
            latency_min_s=_ms(fields, _MIN) if some else None,
            latency_max_s=_ms(fields, _MAX) if some else None,
            latency_quantiles_s=quantiles if some else {},
            answers_per_s=_per_s(fields),
        )

    def _failed(self, fields: Fields, n_requests: int) -> int | None:
        """How many requests failed; ``None``: what the row says of it cannot be read."""
        if any(name in fields for name in _FAILED):
            return _count(fields, _FAILED)
        text = next((fields[name].strip() for name in _FAILED_SHARE if name in fields), None)
        if text is None:
            self.says_errors = False
            return 0
        share = _decimal(text.removesuffix("%"))
        return None if share is None else round(share / (100 if text.endswith("%") else 1) * n_requests)

    def _history(self) -> AggregateTable:
        """Totals since the start. Rates and percentiles of a row are of the last seconds: of the course only."""
        read: list[tuple[HistoryPoint, Fields]] = []
        for fields in self.rows():
            if fields.get("name", "").lower() not in _TOTAL_NAMES or fields.get("type") not in {
                None,
                "",
                "None",
            }:
                continue
            point = self._point(fields)
            read += [] if point is None else [(point, fields)]
        if read and read[0][0].epoch_s > read[-1][0].epoch_s:  # newest first, as a spreadsheet sorts them
            read.reverse()
        points = [point for point, _ in read]
        last = read[-1][1] if read and points[-1].n_requests else None
        falls = [i for i, (before, after) in enumerate(pairwise(points), 1) if _fewer(after, before)]
        n_earlier = falls[-1] if falls else 0
        total = None if last is None else self._aggregate_row(last)
        first = points[n_earlier] if points else None
        duration_s = points[-1].epoch_s - first.epoch_s if first is not None else None
        if total is not None and last is not None and first is not None:
            median = _ms(last, ("total median response time",))
            counted = total.n_requests - (first.n_requests or 0)
            update = {
                "latency_quantiles_s": {} if median is None else {"p50": median},
                "answers_per_s": counted / duration_s if duration_s else None,
            }
            total = total.model_copy(update=update)
        notes = [ROUNDED, "percentiles in the history are those of the last ten seconds: they are not shown"]
        if n_earlier:
            notes.append(
                f"counts begin again: the {n_earlier:,} rows above are of an earlier run, whose requests are left out"
            )
        users = [point.users for point in points if point.users is not None]
        return AggregateTable(
            path=self.path,
            source="locust",
            kind="history",
            total=total,
            history=tuple(points),
            start_epoch_s=first.epoch_s if first is not None else None,
            duration_s=duration_s,
            users=max(users, default=0) or None,
            resolution_s=STATS_RESOLUTION_S,
            notes=tuple(notes),
        )

    def _point(self, fields: Fields) -> HistoryPoint | None:
        epoch_s = _number(fields, ("timestamp",))
        if epoch_s is None:
            self.n_unreadable += 1
            return None
        return HistoryPoint(
            epoch_s=epoch_s,
            users=_count(fields, ("user count",)),
            answers_per_s=_per_s(fields),
            errors_per_s=_number(fields, ("failures/s",)),
            n_requests=_count(fields, _COUNT),
            n_errors=_count(fields, _FAILED),
            latency_quantiles_s=_quantiles(fields),
        )

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


def _fewer(after: HistoryPoint, before: HistoryPoint) -> bool:
    return (after.n_requests or 0) < (before.n_requests or 0)


def _is_total(row: AggregateRow) -> bool:
    """Whether a row is of all requests: it has no type, and no request's name."""
    return row.method is None and row.name.lower() in _TOTAL_NAMES


def _number(fields: Fields, names: tuple[str, ...]) -> float | None:
    for name in names:
        try:
            number = float(fields.get(name, ""))
        except ValueError:  # absent in this release, or empty, or N/A
            continue
        return number if math.isfinite(number) else None
    return None


def _per_s(fields: Fields) -> float | None:
    """A rate, with or without a unit: ``12.5/sec``."""
    for name in _RATE:
        text, _, unit = fields.get(name, "").partition("/")
        number = None if _THOUSANDS.fullmatch(text) else _decimal(text)  # 1,234: one or a thousand?
        if number is not None and (unit or "s") in _PER_S:
            return number * _PER_S[unit or "s"]
    return None


def _decimal(text: str) -> float | None:
    """A number with a point or, as JMeter writes it in many languages, a comma before its decimals."""
    try:
        number = float(text.replace(",", ".", 1))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _count(fields: Fields, names: tuple[str, ...]) -> int | None:
    number = _number(fields, names)
    return int(number) if number is not None and number >= 0 else None


def _ms(fields: Fields, names: tuple[str, ...]) -> float | None:
    number = _number(fields, names)
    return None if number is None else number / 1000.0


def _quantiles(fields: Fields) -> dict[str, float]:
    """Columns like ``99.9%`` or ``90% Line`` as ``p99.9``, in seconds."""
    results: dict[str, float] = {}
    for name in fields:
        match = _QUANTILE.fullmatch(name)
        latency_s = _ms(fields, (name,)) if match is not None and is_percentile(match[1]) else None
        if match is not None and latency_s is not None:
            results["max" if float(match[1]) == 100 else f"p{match[1]}"] = latency_s
    return results
