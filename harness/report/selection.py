# SPDX-License-Identifier: Apache-2.0
"""``--label`` and ``--skip``: a part of a file, and a note of what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import InputError
from harness.formats.collect import RequestStream
from harness.formats.table import AggregateTable, BoolArray, RequestChunk, RequestTable
from harness.model.phrases import counted
from harness.report.labels import of_aggregate
from harness.report.numbers import length

_SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|min|m|)", re.ASCII)
#: Names of requests that an error message lists.
_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which part of a file is meant. ``label``: of one name of request; ``None``: all of them."""

    label: str | None = None
    skip_s: float = 0.0

    @property
    def is_all(self) -> bool:
        """Nothing is left out."""
        return self.label is None and not self.skip_s


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
    if isinstance(opened, RequestTable):
        return _table(opened, selection)
    if selection.skip_s and opened.layout.start is None:
        raise _no_times(opened)
    return replace(opened, chunks=_chunks(opened, selection))


def _table(table: RequestTable, selection: Selection) -> RequestTable:
    keep = np.ones(table.n_requests, dtype=np.bool_)
    if selection.skip_s and table.n_requests:
        if not table.has_start_times:
            raise _no_times(table)
        keep &= table.start_epoch_s >= table.start_epoch_s.min() + selection.skip_s
        if not keep.any():
            raise _too_short(table, selection)
    kept, note = _of_label(keep, table.labels, table.label_codes, selection.label)
    if not kept.any():
        raise _no_label(table, selection, table.labels)
    said = _words(selection, int(np.count_nonzero(~keep)), int(np.count_nonzero(kept)), note)
    return table.rows(kept).with_notes(*said)


def _chunks(stream: RequestStream, selection: Selection) -> Iterator[RequestChunk]:
    """The rows of a file that are meant; its last one says what was left out."""
    from_s: float | None = None
    labels: dict[str, None] = {}
    n_before = n_kept = n_others = n_rows = 0
    for chunk in stream.chunks:
        n_rows += len(chunk.latency_s)
        labels |= dict.fromkeys(chunk.labels)
        keep = np.ones(len(chunk.latency_s), dtype=np.bool_)
        if selection.skip_s and len(keep):
            if from_s is None:
                from_s = float(chunk.start_epoch_s.min()) + selection.skip_s
            keep = chunk.start_epoch_s >= from_s
            n_before += int(np.count_nonzero(~keep))
        kept, others = _of_label(keep, chunk.labels, chunk.label_codes, selection.label)
        n_kept += int(np.count_nonzero(kept))
        n_others += others
        yield chunk.rows(kept)
    if n_rows and n_before == n_rows:
        raise _too_short(stream, selection)
    if n_rows and not n_kept:
        raise _no_label(stream, selection, tuple(labels))
    for said in _words(selection, n_before, n_kept, n_others):
        stream.notes.say(said)


def _of_label(
    keep: BoolArray, labels: tuple[str, ...], codes: np.ndarray, label: str | None
) -> tuple[BoolArray, int]:
    """The rows of ``keep`` that have this name, and how many have another one."""
    if label is None:
        return keep, 0
    mine = keep & (codes == labels.index(label)) if label in labels else np.zeros(len(keep), dtype=np.bool_)
    return mine, int(np.count_nonzero(keep) - np.count_nonzero(mine))


def _words(selection: Selection, n_before: int, n_kept: int, n_others: int) -> list[str]:
    said = []
    if selection.skip_s:
        said.append(f"left out: the first {length(selection.skip_s * 1e3)}, {counted(n_before, 'request')}")
    if selection.label is not None:
        said.append(f"only {selection.label}: {n_kept:,} requests; {n_others:,} of other names left out")
    return said


def _of_totals(table: AggregateTable, selection: Selection) -> AggregateTable:
    if selection.skip_s:
        raise InputError(
            "is a summary: nothing of it can be left out",
            file=table.path,
            place="--skip",
            allowed="single requests",
        )
    names = [of_aggregate(row).label for row in table.rows]
    if selection.label not in names:
        raise _no_label(table, selection, tuple(names))
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


def _no_times(file: RequestStream | RequestTable) -> InputError:
    return InputError("has no start times", file=file.path, place="--skip", allowed="a file with time stamps")


def _too_short(file: RequestStream | RequestTable, selection: Selection) -> InputError:
    return InputError(
        "is no longer than that", file=file.path, place="--skip", found=f"{selection.skip_s:g} s", allowed="less"
    )  # fmt: skip


def _no_label(
    file: RequestStream | RequestTable | AggregateTable, selection: Selection, labels: tuple[str, ...]
) -> InputError:
    names = [label for label in labels if label]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return InputError(
        "has no request of that name",
        file=file.path,
        place="--label",
        found=selection.label,
        allowed=", ".join(names[:_LISTED]) + more if names else "none: its requests have no names",
    )
