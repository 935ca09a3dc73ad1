# SPDX-License-Identifier: Apache-2.0
"""What the readers of load generators' files return: one row per request, or the tool's own totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from harness.formats.arrays import BoolArray, CodeArray, FloatArray, with_rows
from harness.formats.sides import SideColumns, side_columns_together
from harness.formats.values import add_kinds
from harness.model import Frozen
from harness.model.load_tools import FileSource
from harness.model.phrases import counted

if TYPE_CHECKING:  # pandas takes half a second to load, and reading needs none of it
    import pandas as pd


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


def repeats_left_out(n: int, names: frozenset[str] = frozenset()) -> str:
    """Return the note on the rows that one table left out, because they are sums or parts of others.

    Args:
        names: of such requests, where their times show it; none: transaction controllers, which say it themselves.
    """
    if not names:
        return f"{n} rows of transaction controllers left out"
    return (
        f"{n} rows left out that are sums or parts of other rows of their thread: {', '.join(sorted(names))}"
    )


@dataclass(frozen=True, kw_only=True)
class RequestTable:
    """One row per request, in the file's order. All arrays have the shape ``(n_requests,)``.

    ``start_epoch_s`` is NaN throughout when the file has no time stamps (``has_start_times``).
    ``ok`` is the tool's own verdict; when the file has none, ``ok_known`` is False and ``ok`` all True.
    ``resolution_s`` is the tool's smallest step of latency: nothing below it can be told apart.
    ``connect_s``: the part of the latency that went into connecting, NaN where a row does not tell; ``None``: the
    tool did not write it, which is not the same as none.
    ``n_transactions_left_out``: rows that are parts or sums of others; ``repeats``: their names, where times tell.
    ``errors_by_kind``: of the rows that are not ``ok``, in words.
    ``from_zero``: the tool wrote times since its own start, and the file does not say when that was.
    ``sides``: the columns of the file's first rows that only checks need; ``None``: the tool writes no such columns.
    """

    path: Path
    source: FileSource
    start_epoch_s: FloatArray
    latency_s: FloatArray
    ok: BoolArray
    label_codes: CodeArray
    labels: tuple[str, ...]
    resolution_s: float
    unreadable: Unreadable = field(default_factory=Unreadable)
    n_transactions_left_out: int = 0
    repeats: frozenset[str] = frozenset()
    has_start_times: bool = True
    ok_known: bool = True
    from_zero: bool = False
    notes: tuple[str, ...] = ()
    connect_s: FloatArray | None = None
    errors_by_kind: dict[str, int] = field(default_factory=dict)
    sides: SideColumns | None = None

    @property
    def n_requests(self) -> int:
        """Rows, successful or not."""
        return len(self.latency_s)

    @property
    def n_errors(self) -> int:
        """Rows that the tool did not count as a success."""
        return int(self.n_requests - np.count_nonzero(self.ok))

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

    @property
    def note_on_repeats(self) -> str:
        """What its notes say of rows that are parts or sums of others."""
        return repeats_left_out(self.n_transactions_left_out, self.repeats)

    def with_notes(self, *notes: str) -> RequestTable:
        """The same table with more said about it."""
        return replace(self, notes=(*self.notes, *notes))

    def rows(self, keep: BoolArray) -> RequestTable:
        """Only some of the requests. Kinds of errors are known of all of them alone: they stay where no row that
        failed was left out, and are left out themselves where one was.

        Args:
            keep: shape (n_requests,).
        """
        all_failed = bool(keep[~self.ok].all())
        return replace(with_rows(self, keep), errors_by_kind=self.errors_by_kind if all_failed else {})

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

        connect = {} if self.connect_s is None else {"connect_s": self.connect_s}
        return pd.DataFrame(
            {
                "start_epoch_s": self.start_epoch_s,
                "latency_s": self.latency_s,
                "ok": self.ok,
                "label": self.label,
                **connect,
            }
        )


def together(tables: Sequence[RequestTable], shifts_s: Sequence[float]) -> RequestTable:
    """Return the rows of several files as one table, by the time they began.

    Args:
        shifts_s: what to add to each one's wall times to have them all on one clock.
    """
    labels = tuple(dict.fromkeys(label for table in tables for label in table.labels))
    codes = [np.asarray([labels.index(label) for label in table.labels], dtype=np.int32) for table in tables]
    starts = [table.start_epoch_s + shift_s for table, shift_s in zip(tables, shifts_s, strict=True)]
    order = np.argsort(np.concatenate(starts), kind="stable")
    unreadable, kinds = Unreadable(), dict[str, int]()
    for table in tables:
        unreadable = unreadable.plus(table.unreadable)
        add_kinds(kinds, table.errors_by_kind)
    connects = [table.connect_s for table in tables if table.connect_s is not None]
    sides = [table.sides for table in tables if table.sides is not None]
    label_codes = [code[table.label_codes] for code, table in zip(codes, tables, strict=True)]
    return replace(
        tables[0],
        start_epoch_s=np.concatenate(starts)[order],
        latency_s=np.concatenate([table.latency_s for table in tables])[order],
        ok=np.concatenate([table.ok for table in tables])[order],
        label_codes=np.concatenate(label_codes)[order],
        labels=labels,
        resolution_s=max(table.resolution_s for table in tables),
        unreadable=unreadable,
        n_transactions_left_out=sum(table.n_transactions_left_out for table in tables),
        has_start_times=all(table.has_start_times for table in tables),
        ok_known=all(table.ok_known for table in tables),
        notes=tuple(dict.fromkeys(note for table in tables for note in table.notes)),
        connect_s=np.concatenate(connects)[order] if len(connects) == len(tables) else None,
        errors_by_kind=kinds,
        repeats=frozenset().union(*(table.repeats for table in tables)),
        sides=side_columns_together(sides) if len(sides) == len(tables) else None,
    )


@dataclass(frozen=True, kw_only=True)
class RequestChunk:
    """A stretch of consecutive rows of a file. ``transaction``: the row sums up other rows.

    ``label_codes``: which of ``labels`` each row has. ``error_codes``: which of ``error_kinds`` each row that is
    not ``ok`` has, shape (n_failed,).
    """

    start_epoch_s: FloatArray
    latency_s: FloatArray
    ok: BoolArray
    label_codes: CodeArray
    labels: tuple[str, ...]
    transaction: BoolArray
    unreadable: Unreadable
    connect_s: FloatArray | None = None
    error_codes: CodeArray
    error_kinds: tuple[str, ...]

    def rows(self, keep: BoolArray) -> RequestChunk:
        """Only some of the rows, with the kinds of their errors.

        Args:
            keep: shape (n,).
        """
        return replace(with_rows(self, keep, "error_codes"), error_codes=self.error_codes[keep[~self.ok]])


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


class HistoryPoint(Frozen):
    """One moment of a run, over all requests: rates of the last seconds, counts since the start."""

    epoch_s: float
    users: int | None
    answers_per_s: float | None
    errors_per_s: float | None
    n_requests: int | None
    n_errors: int | None
    latency_quantiles_s: dict[str, float] = Field(default_factory=dict)


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
    history: tuple[HistoryPoint, ...] = ()
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
