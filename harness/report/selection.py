# SPDX-License-Identifier: Apache-2.0
"""``--label`` and ``--skip``: a part of a file, and a note of what was left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from harness.errors import InputError
from harness.formats.arrays import BoolArray, FloatArray
from harness.formats.collect import RequestStream
from harness.formats.table import AggregateTable, RequestChunk, RequestTable
from harness.model.phrases import counted
from harness.report.latencies import of_aggregate
from harness.report.numbers import length

_SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|min|m|)", re.ASCII)
#: Names of requests that an error message lists.
_LISTED = 20
Part = TypeVar("Part", RequestChunk, RequestTable)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which part of a file is meant. ``label``: of one name of request; ``None``: all of them.

    ``skip_s``, ``until_s``: requests that begin from then on and before then, in seconds after the first of the file.
    ``place``: the option that says so.
    """

    label: str | None = None
    skip_s: float = 0.0
    until_s: float | None = None
    place: str = "--skip"

    @property
    def of_time(self) -> bool:
        """A span of time is meant."""
        return bool(self.skip_s) or self.until_s is not None

    @property
    def is_all(self) -> bool:
        """Nothing is left out."""
        return self.label is None and not self.of_time

    def within(self, start_s: FloatArray, first_s: float) -> BoolArray:
        """Return which requests begin in the span, shape of ``start_s``."""
        # A thousandth of a step less: a stamp that stands for exactly this moment is in.
        since_s = start_s - first_s + 1e-6
        return (since_s >= self.skip_s) & (since_s < (np.inf if self.until_s is None else self.until_s))


def selection_named(*, label: str | None, skip: str, begin: str | None, end: str | None) -> Selection:
    """Return the part that the options ``--label``, ``--skip``, ``--from`` and ``--to`` mean.

    Raises:
        InputError: one of them is no span, or the part is empty.
    """
    skip_s, place = seconds_named(skip, "--skip"), "--skip"
    if begin is not None:
        if skip_s:
            raise InputError("both mean the beginning", place="--skip and --from", allowed="one of them")
        skip_s, place = seconds_named(begin, "--from"), "--from"
    until_s = None if end is None else seconds_named(end, "--to")
    if until_s is not None and until_s <= skip_s:
        raise InputError("ends before it begins", place="--to", found=end, allowed=f"more than {skip_s:g} s")
    return Selection(label=label, skip_s=skip_s, until_s=until_s, place=place if skip_s else "--to")


def seconds_named(text: str, place: str) -> float:
    """Return the seconds that ``10``, ``10s``, ``500ms`` or ``2m`` mean.

    Raises:
        InputError: it means none; names the option ``place``.
    """
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise InputError("is no span of time", place=place, found=text, allowed="10s, 500ms, 2m; 10: seconds")
    return float(match[1]) * _SECONDS[match[2]]


def select(
    opened: RequestStream | RequestTable | AggregateTable, selection: Selection
) -> RequestStream | RequestTable | AggregateTable:
    """Return the part that is meant.

    The beginning is that of the requests that a file has first; rows that began before it, which some tools write
    later, are left out with it.

    Raises:
        InputError: the file has no such name, is no longer than what is left out, has no time stamps, or is a summary
            of which nothing can be left out. Of a file that is read later, then.
    """
    if selection.is_all:
        return opened
    if isinstance(opened, AggregateTable):
        return _of_totals(opened, selection)
    has_times = (
        opened.has_start_times if isinstance(opened, RequestTable) else opened.layout.start is not None
    )
    if selection.of_time and not has_times:
        raise InputError(
            "has no start times", file=opened.path, place=selection.place, allowed="a file with time stamps"
        )
    if isinstance(opened, RequestStream):
        return replace(opened, chunks=_selected(opened.chunks, opened.path, selection, opened.notes.say))
    notes: list[str] = []
    (selected,) = _selected([opened], opened.path, selection, notes.append)
    return selected.with_notes(*notes)


def _selected(
    parts: Iterable[Part], path: Path, selection: Selection, say: Callable[[str], None]
) -> Iterator[Part]:
    """The rows of a file that are meant; at its end it says what was left out."""
    first_s: float | None = None
    labels: dict[str, None] = {}
    n_rows = n_within = n_kept = 0
    for part in parts:
        labels |= dict.fromkeys(part.labels)
        keep = np.ones(len(part.latency_s), dtype=np.bool_)
        if selection.of_time and len(keep):
            first_s = float(part.start_epoch_s.min()) if first_s is None else first_s
            keep = selection.within(part.start_epoch_s, first_s)
        n_rows += len(keep)
        n_within += int(np.count_nonzero(keep))
        if selection.label is not None:
            keep &= part.label_codes == (
                part.labels.index(selection.label) if selection.label in part.labels else -1
            )
        n_kept += int(np.count_nonzero(keep))
        yield part.rows(keep)
    if n_rows and not n_within:
        raise InputError(
            "is no longer than that", file=path, place=selection.place, found=f"{selection.skip_s:g} s", allowed="less"
        )  # fmt: skip
    if n_rows and not n_kept:
        raise _no_label(path, selection, tuple(labels))
    for text in _words(selection, n_rows - n_within, n_kept, n_within - n_kept):
        say(text)


def _words(selection: Selection, n_before: int, n_kept: int, n_others: int) -> list[str]:
    notes = []
    if selection.until_s is not None:
        begin, end = length(selection.skip_s * 1e3), length(selection.until_s * 1e3)
        notes.append(f"only from {begin} to {end}: {counted(n_before, 'request')} left out")
    elif selection.skip_s:
        notes.append(f"left out: the first {length(selection.skip_s * 1e3)}, {counted(n_before, 'request')}")
    if selection.label is not None:
        notes.append(f"only {selection.label}: {n_kept:,} requests; {n_others:,} of other names left out")
    return notes


def _of_totals(table: AggregateTable, selection: Selection) -> AggregateTable:
    if selection.of_time:
        raise InputError(
            "is a summary: nothing of it can be left out",
            file=table.path,
            place=selection.place,
            allowed="single requests",
        )
    names = [of_aggregate(row).label for row in table.rows]
    if selection.label not in names:
        raise _no_label(table.path, selection, tuple(names))
    row = table.rows[names.index(selection.label)]
    return table.model_copy(
        update={
            "rows": (),
            "total": row,
            "history": (),
            "errors_by_kind": {},
            "notes": (*table.notes, f"only {selection.label}"),
        }
    )


def _no_label(path: Path, selection: Selection, labels: tuple[str, ...]) -> InputError:
    names = [label for label in labels if label]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return InputError(
        "has no request of that name",
        file=path,
        place="--label",
        found=selection.label,
        allowed=", ".join(names[:_LISTED]) + more if names else "none: its requests have no names",
    )
