# SPDX-License-Identifier: Apache-2.0
"""Published tables as CSV: a row is a load, or one label of it; lines that begin with # are comments.

A column's name says which quantity it holds: ``latency_mean_ms``, ``go_errors_percent``. It is made of
words with ``_`` between them: the quantity, at the end its unit, and what is left over names the series that the
column belongs to (``go``, ``java``, ``warm``), so that one row may hold several loads.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from harness.errors import InputError
from harness.formats.source import text_file
from harness.report.audit.laws import Audited, Check, Figures, Plan, Printed, laws, sums

#: Unit -> how many of the SI unit it is.
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
BYTES = {"b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9}
#: Of each kind of unit the words of a quantity -> its name in ``Figures``; the first that fits wins.
_OF_TIMES = {
    "latency mean": "mean_s", "latency min": "min_s", "latency max": "max_s", "ramp up": "ramp_up_s",
    "duration": "duration_s", "ramp": "ramp_up_s", "mean": "mean_s", "min": "min_s", "max": "max_s",
}  # fmt: skip
_OF_COUNTS = {
    "most active": "most_active", "users": "users", "threads": "users", "loops": "loops", "requests": "requests",
    "samples": "requests", "recorded": "recorded", "errors": "errors",
}  # fmt: skip
_OF_RATES = dict.fromkeys(("throughput", "answered", "requests"), "rate_per_s") | {"offered": "offered_per_s"}
_OF_SHARES = dict.fromkeys(("errors", "error"), "error_share")
_OF_BYTES = {"rss start": "rss_start", "rss end": "rss_end"}
FORM = (
    "columns such as users, loops, ramp_up_s, throughput_per_s, latency_mean_ms, p99_ms, requests, errors, "
    "errors_percent, duration_s"
)


class Column(NamedTuple):
    """One column. ``quantity``: a field of ``Figures`` or ``Plan``, or ``p`` and ``share`` says which percentile."""

    series: str
    quantity: str
    factor: float
    share: float | None = None


def column_named(name: str) -> Column | None:
    """Return what a column holds; ``None``: a label, or a number that no law speaks of."""
    words = name.strip().lower().split("_")
    if words[-2:] == ["per", "s"]:
        return _by_words(words[:-2], _OF_RATES, 1.0)
    *rest, unit = words
    if unit == "percent":
        return _by_words(rest, _OF_SHARES, 0.01)
    if unit in TIMES and rest:
        return _percentile(rest, TIMES[unit]) or _by_words(rest, _OF_TIMES, TIMES[unit])
    if unit in BYTES and rest:
        return _by_words(rest, _OF_BYTES, BYTES[unit])
    return _by_words(words, _OF_COUNTS, 1.0)


def is_published(names: Sequence[str]) -> bool:
    """Tell whether a header is that of a table of loads: it has a rate or a latency with its unit."""
    results = [column for column in map(column_named, names) if column is not None]
    return any(column.quantity in {"rate_per_s", "mean_s", "p"} for column in results)


def _percentile(words: Sequence[str], factor: float) -> Column | None:
    """``p50``, ``p999`` (99.9 %) or ``p99.9``."""
    for at, word in enumerate(words):
        digits = word[1:].replace(".", "")
        if word[:1] == "p" and digits.isascii() and digits.isdigit():
            rest = [*words[:at], *words[at + 1 :]]
            series = "_".join(item for item in rest if item != "latency")
            return Column(series, "p", factor, float(f"0.{digits}"))
    return None


def _by_words(words: Sequence[str], known: Mapping[str, str], factor: float) -> Column | None:
    for wanted, quantity in known.items():
        if set(wanted.split()) <= set(words):
            series = "_".join(word for word in words if word not in wanted.split())
            return Column(series, quantity, factor)
    return None


#: Columns that name the requests of one row, and what stands in them in the row of all.
_LABELS = ("request", "label", "name")
_TOTALS = frozenset({"total", "all", "aggregated", "aggregate"})
#: Of columns that no law speaks of, and that name nothing either.
_NUMBERS = tuple(f"_{unit}" for unit in (*TIMES, "percent", "mb", "kb"))
_COUNTS = frozenset({"users", "loops", "requests", "recorded", "errors", "most_active"})
#: Columns of the plan -> field of ``Plan``.
_PLANNED = {"users": "users", "loops": "loops", "ramp_up_s": "ramp_up_s", "offered_per_s": "rate_per_s"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One series of one line. ``label``: of the requests it speaks of; ``None``: the table has no labels.

    ``group``: what it has in common with the other labels of the same load.
    """

    line: int
    words: str
    label: str | None
    group: tuple[str, ...]
    series: str
    plan: Plan
    figures: Figures


def looks_published(head: str) -> bool:
    """Tell whether the first lines of a file are those of a published table."""
    header = next((line for line in head.splitlines() if line.strip() and not line.startswith("#")), "")
    return is_published(next(csv.reader([header]), []))


def audit_table(path: Path, plan: Plan) -> Audited:
    """Hold each row of a published table against what its numbers owe each other.

    ``plan``: what is known of the load beside the table's own columns; a column goes before it. Raises InputError:
    it cannot be read, has no columns of a load, or a cell that should be a number is none.
    """
    known = known_plan(path)
    rows = list(_rows(path, plan, known))
    checks = [check.at(row.words, row.line) for row in rows for check in laws(row.figures, row.plan)]
    checks += _sums(rows)
    none = Check(law="any", outcome="not checked", text="no two of its numbers owe each other anything")
    return Audited(
        path=path,
        kind="published table",
        rows=len({row.line for row in rows}),
        checks=tuple(sorted(checks or [none], key=lambda check: check.line or 0)),
        notes=known.notes if known is not None else (),
    )


def _rows(path: Path, given: Plan, known: KnownPlan | None) -> Iterator[Row]:
    lines = _lines(path)
    _, header = next(lines, (0, []))
    columns = {name: column_named(name) for name in header}
    if not is_published(header) and known is None:
        raise InputError("has no numbers of a load", file=path, found=", ".join(header)[:80], allowed=FORM)
    texts = [
        name
        for name, column in columns.items()
        if column is None and not name.endswith(_NUMBERS) and name not in {"source", "note"}
    ]
    for line, fields in lines:
        if len(fields) != len(header):
            raise InputError(
                "has another number of columns than its header",
                file=path, place=f"line {line}", found=len(fields), allowed=str(len(header)),
            )  # fmt: skip
        cells = dict(zip(header, fields, strict=True))
        label = next((cells[name] for name in _LABELS if name in cells), None)
        words = ", ".join(cells[name] for name in texts if cells[name])
        planned, each = _numbers(cells, columns, path, line)
        base = given.over(known.plan if known is not None else Plan())
        for series, numbers in each.items():
            figures = Figures(**numbers)
            if figures.says_nothing_of_load:
                continue
            plan = planned.over(base)
            users = f"{plan.users:,} users" if planned.users is not None else ""
            yield Row(
                line=line,
                words=", ".join(filter(None, (words, series, users))),
                label=label,
                group=(*(cells[name] for name in texts if name not in _LABELS), users),
                series=series,
                plan=_of_label(plan, label, known),
                figures=figures,
            )


def _of_label(plan: Plan, label: str | None, known: KnownPlan | None) -> Plan:
    """Of one label of a load the number of requests of a user is another one."""
    if label is None or label.lower() in _TOTALS:
        return plan
    return Plan(users=plan.users, loops=known.loops_of_a_label if known is not None else None)


def _numbers(
    cells: Mapping[str, str], columns: Mapping[str, Column | None], path: Path, line: int
) -> tuple[Plan, dict[str, dict[str, Any]]]:
    """What a line says of the plan, and its ``Figures`` by series."""
    planned: dict[str, Any] = {}
    each: dict[str, dict[str, Any]] = {}
    for name, column in columns.items():
        text = cells[name].strip()
        if column is None or not text:
            continue
        is_count = column.quantity in _COUNTS
        number = _printed(text, column.factor, is_count=is_count)
        if number is None:
            raise InputError(
                "is no number", file=path, place=f"line {line}, {name}", found=text, allowed="a number of 0 or more"
            )  # fmt: skip
        if column.quantity in _PLANNED:
            planned[_PLANNED[column.quantity]] = int(number.value) if is_count else number.value
            continue
        own = each.setdefault(column.series, {"quantiles_s": {}})
        if column.share is not None:
            own["quantiles_s"][column.share] = number
        else:
            own[column.quantity] = number
    return Plan(**planned), each


def _printed(text: str, factor: float, *, is_count: bool) -> Printed | None:
    """A number as it was printed, ``15,330.60`` or ``5.79``; ``None``: it is none."""
    plain = text.replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        return None
    if not 0 <= value < float("inf"):
        return None
    mantissa, _, exponent = plain.lower().partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return Printed(value=value * factor, half=0.0 if is_count else 0.5 * 10.0**-decimals * factor)


def _sums(rows: Iterable[Row]) -> list[Check]:
    """The checks of every total against the labels of its load."""
    loads: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.label is not None:
            loads.setdefault((row.group, row.series), []).append(row)
    checks: list[Check] = []
    for load in loads.values():
        totals = [row for row in load if row.label is not None and row.label.lower() in _TOTALS]
        parts = [row.figures for row in load if row not in totals]
        for total in totals:
            checks += [check.at(total.words, total.line) for check in sums(total.figures, parts)]
    return checks


def _lines(path: Path) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the number of each line that is no comment, and its fields; the header first."""
    file = text_file(path)
    for number, line in enumerate(file.text().splitlines(), start=file.first_line):
        if line.strip() and not line.startswith("#"):
            yield number, next(csv.reader([line]), [])


#: Of the project's root.
FOLDER = Path("data") / "published"


@dataclass(frozen=True, kw_only=True)
class KnownPlan:
    """One table's load. ``loops_of_a_label``: how often a user sends each of the labels that a total sums up.

    ``notes``: what the articles say that explains a contradiction, or keeps a law from being held against them.
    """

    plan: Plan
    loops_of_a_label: int | None = None
    notes: tuple[str, ...] = ()


_OPEN = "open loop: latencies count from when a request was due, so more of them than connections may be under way"
_LAST = (
    "percentiles of the total are of the last 20,000 samples alone (JMeter's default), those of a label of "
    "all its samples"
)
_KNOWN: Mapping[str, KnownPlan] = MappingProxyType(
    {
        **dict.fromkeys(
            ("strings-rounds", "strings-i9", "strings-round3"),
            KnownPlan(plan=Plan(users=100, loops=10_000, ramp_up_s=10.0)),
        ),
        **dict.fromkeys(("bank-original", "bank-2019"), KnownPlan(plan=Plan(loops=3, ramp_up_s=60.0))),
        "bank-rematch": KnownPlan(plan=Plan(loops=7, ramp_up_s=60.0), loops_of_a_label=1, notes=(_LAST,)),
        **dict.fromkeys(
            ("clients-hello", "clients-db", "clients-wrk2"),
            KnownPlan(plan=Plan(rate_per_s=2000.0), notes=(_OPEN,)),
        ),
        "clients-k6": KnownPlan(plan=Plan(users=4)),
    }
)


def known_plan(path: Path) -> KnownPlan | None:
    """Return the load behind one of the project's own tables; ``None``: it is another file."""
    if path.resolve().parent.parts[-2:] != FOLDER.parts:
        return None
    return _KNOWN.get(path.stem)


def published_tables(root: Path) -> tuple[Path, ...]:
    """Return the project's own tables; raises InputError: there are none."""
    results = tuple(sorted((root / FOLDER).glob("*.csv")))
    if not results:
        raise InputError("holds no published tables", file=root / FOLDER, allowed="the tables of the project")
    return results
