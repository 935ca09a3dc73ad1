# SPDX-License-Identifier: Apache-2.0
"""``--label`` and ``--skip``: a part of a file, and a note of what was left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.formats.arrays import BoolArray, FloatArray, with_rows
from harness.formats.table import AggregateTable, RequestTable
from harness.model.formatting import counted
from harness.report.latencies import of_aggregate
from harness.report.words import length

_SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|min|m|)", re.ASCII)
#: Names of requests that an error message lists.
_LISTED = 20


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

    def within(self, start_s: FloatArray, first_s: float) -> BoolArray:
        """Return which requests begin in the span, shape of ``start_s``."""
        # A thousandth of a step less: a stamp that stands for exactly this moment is in.
        since_s = start_s - first_s + 1e-6
        return (since_s >= self.skip_s) & (since_s < (np.inf if self.until_s is None else self.until_s))


def selection_named(*, label: str | None, skip: str, begin: str | None, end: str | None) -> Selection:
    """Return the part that the options ``--label``, ``--skip``, ``--from`` and ``--to`` mean; raises InputError: one of
    them is no span, or the part is empty."""
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
    """Return the seconds that ``10``, ``10s``, ``500ms`` or ``2m`` mean; raises InputError: it means none; names the
    option ``place``."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise InputError("is no span of time", place=place, found=text, allowed="10s, 500ms, 2m; 10: seconds")
    return float(match[1]) * _SECONDS[match[2]]


def select(table: RequestTable | AggregateTable, selection: Selection) -> RequestTable | AggregateTable:
    """Return the part that is meant; it begins with the first request.

    Raises InputError: the file has no such name, is no longer than what is left out, has no time stamps, or is a
    summary of which nothing can be left out.
    """
    if selection.label is None and not selection.of_time:
        return table
    if isinstance(table, AggregateTable):
        return _of_totals(table, selection)
    label, notes = selection.label, list[str]()
    code = table.labels.index(label) if label in table.labels else -1
    if code >= 0 and table.sums is not None and not (table.label_codes == code).any():
        table = replace(table, **vars(table.sums), sums=None)  # rows that are left out unless they are meant
    keep = np.ones(table.n_requests, dtype=np.bool_)
    if selection.of_time:
        if not table.has_start_times:
            raise InputError(
                "has no start times",
                file=table.path,
                place=selection.place,
                allowed="a file with time stamps",
            )
        keep = selection.within(table.start_epoch_s, table.first_start_epoch_s or 0.0)
        n_out = counted(int(np.count_nonzero(~keep)), "request")
        begin = length(selection.skip_s * 1e3)
        if selection.until_s is not None:
            notes.append(f"only from {begin} to {length(selection.until_s * 1e3)}: {n_out} left out")
        else:
            notes.append(f"left out: the first {begin}, {n_out}")
    n_within = int(np.count_nonzero(keep))
    if table.n_requests and not n_within:
        raise InputError(
            "is no longer than that", file=table.path, place=selection.place, found=f"{selection.skip_s:g} s",
            allowed="less",
        )  # fmt: skip
    if label is not None:
        keep &= table.label_codes == code
        n = int(np.count_nonzero(keep))
        if n_within and not n:
            raise _no_label(table.path, selection, table.labels)
        notes.append(f"only {label}: {n:,} requests; {n_within - n:,} of other names left out")
    return with_rows(table, keep).with_notes(*notes)


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
        raise _no_label(table.path, selection, names)
    row = table.rows[names.index(selection.label)]
    changes = {"rows": (), "total": row, "errors_by_kind": {}}
    return table.model_copy(update={**changes, "notes": (*table.notes, f"only {selection.label}")})


def _no_label(path: Path, selection: Selection, labels: Sequence[str]) -> InputError:
    names = [label for label in labels if label]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return InputError(
        "has no request of that name",
        file=path,
        place="--label",
        found=selection.label,
        allowed=", ".join(names[:_LISTED]) + more if names else "none: its requests have no names",
    )
