# SPDX-License-Identifier: Apache-2.0
"""What the readers of load generators' files return: one row per request, or the tool's own totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from harness.formats.arrays import BoolArray, CodeArray, FloatArray, Texts, with_rows
from harness.model import Frozen
from harness.model.formatting import counted
from harness.model.load_tools import FileSource

if TYPE_CHECKING:  # pandas takes half a second to load, and reading needs none of it
    import pandas as pd


#: Kinds of errors that are counted by name, and what all others are counted as.
MOST_KINDS, OTHER_KINDS = 200, "other kinds"


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """Lines that could not be read: how many, and the first one for a person to look at.

    ``n_cut``: how many of them (0 or 1) are a last line without line end, as a killed tool leaves it.
    ``other_header``: the number of the first that names columns, and others than the file's first line.
    """

    n: int = 0
    first_line: int | None = None
    first_text: str | None = None
    n_cut: int = 0
    other_header: int | None = None

    def plus(self, unreadable: Unreadable) -> Unreadable:
        """Both together; the first stays the first."""
        if self.n == 0:
            return unreadable
        header = unreadable.other_header if self.other_header is None else self.other_header
        return replace(
            self, n=self.n + unreadable.n, n_cut=self.n_cut + unreadable.n_cut, other_header=header
        )

    def __str__(self) -> str:
        if self.n == 0:
            return "no unreadable line"
        return (
            f"{counted(self.n, 'unreadable line')}, the first is line {self.first_line}: {self.first_text!r}"
        )


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Requests in the order of their file. All arrays have the shape ``(n,)``.

    ``start_epoch_s`` is NaN throughout when the file has no time stamps.
    ``ok`` is the tool's own verdict; when the file has none, it is all True.
    ``label_codes``: which of ``labels`` a row has. ``error_codes``: which of ``error_kinds``, of a row that is not ok.
    ``connect_s``: the part of the latency that went into connecting, NaN where a row does not tell; ``None``: the
    tool did not write it, which is not the same as none.
    ``transaction``: the row sums up others.
    """

    start_epoch_s: FloatArray
    latency_s: FloatArray
    ok: BoolArray
    label_codes: CodeArray
    labels: tuple[str, ...]
    error_codes: CodeArray
    error_kinds: tuple[str, ...]
    connect_s: FloatArray | None = None
    transaction: BoolArray | None = None
    unreadable: Unreadable = field(default_factory=Unreadable)


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several parts of a file, or of several files, one part after the other."""

    def joined(name: str, kind: type[np.generic]) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype=kind), *(getattr(part, name) for part in parts)])

    def coded(codes: str, texts: str) -> Texts:
        known: dict[str, int] = {}
        each = [
            np.array([known.setdefault(text, len(known)) for text in getattr(part, texts)], dtype=np.int32)[
                getattr(part, codes)
            ]
            for part in parts
        ]
        return np.concatenate([np.zeros(0, dtype=np.int32), *each]), tuple(known)

    def optional(name: str, kind: type[np.generic]) -> np.ndarray | None:
        return joined(name, kind) if all(getattr(part, name) is not None for part in parts) else None

    label_codes, labels = coded("label_codes", "labels")
    error_codes, error_kinds = coded("error_codes", "error_kinds")
    return Rows(
        start_epoch_s=joined("start_epoch_s", np.float64),
        latency_s=joined("latency_s", np.float64),
        ok=joined("ok", np.bool_),
        label_codes=label_codes,
        labels=labels,
        error_codes=error_codes,
        error_kinds=error_kinds,
        connect_s=optional("connect_s", np.float64),
        transaction=optional("transaction", np.bool_),
        unreadable=reduce(Unreadable.plus, (part.unreadable for part in parts), Unreadable()),
    )


@dataclass(frozen=True, kw_only=True)
class SideColumns:
    """The first requests of a file in its order, shapes (n,); rows that sum up other rows are left out.

    ``thread``: a code for each thread of each host. ``host``: a code for each load generator. ``None``: the file
    has no such column. ``first_byte_ms``, ``connect_ms``: as written, in JMeter's milliseconds, whatever ``elapsed``
    is in. ``hosts``, ``services``: names of load generators, and of hosts in URLs.
    """

    start_s: FloatArray
    latency_s: FloatArray
    thread: CodeArray | None
    host: CodeArray | None
    all_threads: FloatArray | None
    first_byte_ms: FloatArray | None
    connect_ms: FloatArray | None
    hosts: tuple[str, ...] = ()
    services: frozenset[str] = frozenset()
    is_whole_file: bool

    @property
    def n_requests(self) -> int:
        """Rows that could be read."""
        return len(self.latency_s)

    @property
    def users(self) -> int | None:
        """The most users that all load generators together name (``allThreads`` is of one); ``None``: none does."""
        if self.all_threads is None:
            return None
        host = np.zeros(self.n_requests, dtype=np.int32) if self.host is None else self.host
        most = [
            np.nanmax(self.all_threads[host == item], initial=0.0)
            for item in np.unique(host[np.isfinite(self.all_threads)])
        ]
        return int(sum(most)) or None

    @cached_property
    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Of requests that another one of the same thread follows: latency, and time from start to start."""
        if self.thread is None:
            return np.zeros(0), np.zeros(0)
        order = np.lexsort((self.start_s, self.thread))
        same = np.diff(self.thread[order]) == 0
        return self.latency_s[order][:-1][same], np.diff(self.start_s[order])[same]

    @property
    def joined_engines(self) -> float:
        """How many times the requests of one thread overlap: 1 for a thread, more where several bear one name."""
        busy, gap = self.pairs
        return float(busy.sum() / (gap.sum() + len(gap) * 1e-3)) if len(gap) else 1.0


def _together(files: Sequence[SideColumns]) -> SideColumns:
    """The first rows of files of several load generators, whose threads and hosts are different ones."""

    def apart(codes: Sequence[CodeArray]) -> CodeArray:
        firsts = accumulate((int(each.max(initial=-1)) + 1 for each in codes), initial=0)
        return np.concatenate([each + first for each, first in zip(codes, firsts, strict=False)]).astype(
            np.int32
        )

    hosts = [np.zeros(each.n_requests, dtype=np.int32) if each.host is None else each.host for each in files]
    columns: dict[str, Any] = {"host": apart(hosts)}
    for name in ("start_s", "latency_s", "thread", "all_threads", "first_byte_ms", "connect_ms"):
        arrays = [getattr(each, name) for each in files]
        known = all(array is not None for array in arrays)
        columns[name] = (apart if name == "thread" else np.concatenate)(arrays) if known else None
    return SideColumns(
        **columns,
        hosts=tuple(name for each in files for name in each.hosts),
        services=frozenset().union(*(each.services for each in files)),
        is_whole_file=all(each.is_whole_file for each in files),
    )


@dataclass(frozen=True, kw_only=True)
class RequestTable(Rows):
    """All single requests of a file.

    ``resolution_s`` is the tool's smallest step of latency: nothing below it can be told apart.
    ``sums``: rows that were left out because they are parts or sums of others.
    ``from_zero``: the tool wrote times since its own start, and the file does not say when that was.
    ``sides``: the columns of the file's first rows that only checks need; ``None``: the tool writes no such columns.
    ``latency_column``, ``latency_units_per_s``: where and how the file has its latencies.
    """

    path: Path
    source: FileSource
    resolution_s: float
    sums: Rows | None = None
    has_start_times: bool = True
    ok_known: bool = True
    from_zero: bool = False
    notes: tuple[str, ...] = ()
    sides: SideColumns | None = None
    latency_column: str = "latency"
    latency_units_per_s: float = 1000.0

    @property
    def n_requests(self) -> int:
        """Rows, successful or not."""
        return len(self.latency_s)

    @property
    def n_errors(self) -> int:
        """Rows that the tool did not count as a success."""
        return int(self.n_requests - np.count_nonzero(self.ok))

    @property
    def errors_by_kind(self) -> dict[str, int]:
        """How many requests failed in which way, the most frequent first; those beyond ``MOST_KINDS`` together."""
        n_each = np.bincount(self.error_codes[~self.ok], minlength=len(self.error_kinds)).tolist()
        kinds = sorted(zip(self.error_kinds, n_each, strict=True), key=lambda pair: (-pair[1], pair[0]))
        rest = sum(n for _, n in kinds[MOST_KINDS:])
        return {kind: n for kind, n in (*kinds[:MOST_KINDS], (OTHER_KINDS, rest)) if n}

    @property
    def first_start_epoch_s(self) -> float | None:
        """When the first request began; None without rows or time stamps."""
        if not self.n_requests or not self.has_start_times:
            return None
        return float(self.start_epoch_s.min())

    @property
    def duration_s(self) -> float | None:
        """First start to last answer; None without rows or time stamps."""
        first = self.first_start_epoch_s
        if first is None:
            return None
        return float((self.start_epoch_s + self.latency_s).max()) - first

    @property
    def label(self) -> pd.Categorical[str]:
        """The name of each row's request."""
        import pandas as pd

        return pd.Categorical.from_codes(self.label_codes, categories=pd.Index(self.labels, dtype=str))

    def with_notes(self, *notes: str) -> RequestTable:
        """The same table with more said about it."""
        return replace(self, notes=(*self.notes, *notes))

    def sort_by_start(self) -> None:
        """Put the rows in the order of their start, in place: a long file may not fit in memory twice."""
        order = np.argsort(self.start_epoch_s, kind="stable") if self.has_start_times else None
        for array in vars(self).values():
            if order is not None and isinstance(array, np.ndarray):
                array[:] = array[order]

    def placed(self, first_start_epoch_s: float | None) -> RequestTable:
        """A table ``from_zero`` with its first request at that time; unknown: without time stamps."""
        if first_start_epoch_s is None:
            nowhere = np.full(self.n_requests, np.nan)
            return replace(self, start_epoch_s=nowhere, has_start_times=False, from_zero=False)
        shift_s = first_start_epoch_s - (self.first_start_epoch_s or 0.0)
        return replace(self, start_epoch_s=self.start_epoch_s + shift_s, from_zero=False)

    def to_frame(self) -> pd.DataFrame:
        """Columns ``start_epoch_s``, ``latency_s`` (float64), ``ok`` (bool), ``label`` (category), and
        ``connect_s`` (float64) where the tool wrote it."""
        import pandas as pd

        names = ("start_epoch_s", "latency_s", "ok", "label", "connect_s")
        return pd.DataFrame({name: of for name in names if (of := getattr(self, name)) is not None})


def together(tables: Sequence[RequestTable]) -> RequestTable:
    """Return the rows of several files, whose clocks agree, as one table, by the time they began."""
    rows = join_rows(tables)
    sides = [table.sides for table in tables if table.sides is not None]
    return replace(
        tables[0],
        **vars(with_rows(rows, np.argsort(rows.start_epoch_s, kind="stable"))),
        resolution_s=max(table.resolution_s for table in tables),
        sums=None,
        has_start_times=all(table.has_start_times for table in tables),
        ok_known=all(table.ok_known for table in tables),
        notes=tuple(dict.fromkeys(note for table in tables for note in table.notes)),
        sides=_together(sides) if len(sides) == len(tables) else None,
    )


class AggregateRow(Frozen):
    """What a tool says of one kind of request, or of all. ``None``: it does not say."""

    name: str
    method: str | None = None
    n_requests: int
    n_errors: int
    n_unanswered: int = Field(
        default=0, description="errors without an answer, among the requests and errors"
    )
    latency_mean_s: float | None = None
    latency_min_s: float | None = None
    latency_max_s: float | None = None
    latency_quantiles_s: dict[str, float] = Field(default_factory=dict)
    answers_per_s: float | None = None

    @property
    def correct_per_s(self) -> float | None:
        """Correct answers per second; ``None``: the tool does not say how many answers there were per second."""
        answers = self.n_requests - self.n_unanswered
        if self.answers_per_s is None or not self.n_requests:
            return None
        return self.answers_per_s * (self.n_requests - self.n_errors) / answers if answers else 0.0


class LatencyBounds(Frozen):
    """Why the printed latencies of a tool are not those of its requests, and what these are at most, in seconds."""

    reason: str
    most_s: dict[str, float]


class AggregateTable(Frozen):
    """Totals that a tool computed itself. There are no single requests in it, so no quantile beyond
    those printed, no interval and no stall can come from it."""

    path: Path
    source: FileSource
    kind: Literal["stats", "history", "summary"]
    rows: tuple[AggregateRow, ...] = ()
    total: AggregateRow | None = None
    n_latencies: int | None = Field(
        default=None, description="how many requests the latencies of ``total`` are of; None: all"
    )
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    errors_known: bool = Field(default=True, description="False: the file does not say which requests failed")
    bounds: LatencyBounds | None = Field(
        default=None, description="of ``total``, where its mean and percentiles are not of requests"
    )
    start_epoch_s: float | None = None
    duration_s: float | None = None
    users: int | None = Field(default=None, description="of a closed loop; None: the file does not say")
    resolution_s: float
    unreadable_lines: int = 0
    notes: tuple[str, ...] = ()

    @property
    def of_requests(self) -> AggregateRow | None:
        """``total`` without mean and percentiles where these are not of requests."""
        if self.total is None or self.bounds is None:
            return self.total
        return self.total.model_copy(update={"latency_mean_s": None, "latency_quantiles_s": {}})


def is_percentile(text: str) -> bool:
    """Tell whether the name of a column is a percentile, such as ``99.9``: ASCII digits, at most 100."""
    return text.isascii() and text.replace(".", "", 1).isdigit() and float(text) <= 100
