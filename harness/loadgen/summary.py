# SPDX-License-Identifier: Apache-2.0
"""From a tool's files to its summary; shared by the tools that write one row per request."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from pydantic import ValidationError

from harness.errors import InputError, TrialFailure
from harness.formats.table import RequestTable
from harness.loadgen.base import ORDER_FILE, LoadGenerator, LoadSpec
from harness.loadgen.flow import in_order, is_flow
from harness.model import AnswerCount, LoadSummary, OpenLoad

Totals = TypeVar("Totals")


class RowTool(LoadGenerator):
    """A tool that writes a row for each request, the names of whose errors may be made better."""

    samples: ClassVar[str] = "samples.csv"
    #: Files in which it says what went wrong.
    logs: ClassVar[tuple[str, ...]] = ()
    bodies_checked: ClassVar[bool] = True

    @abstractmethod
    def rows(self, path: Path) -> RequestTable:
        """Read the rows. Raises InputError: there are none."""

    def errors_by_kind(self, table: RequestTable, path: Path) -> Mapping[str, int]:
        """Return the rows' errors by name."""
        return table.errors_by_kind

    def read(self, folder: Path) -> LoadSummary:
        """Return totals of the rows. ``n_dropped``: arrivals that left none, of a flow none of its first step."""
        order, path = read_order(folder), folder / self.samples
        table = read_rows(self.rows, path, self.name, *self.logs)
        kinds = self.errors_by_kind(table, path) if table.n_errors else {}
        dropped = None
        if isinstance(order.profile, OpenLoad):
            counted, n_arrivals = passes(table, order), order.profile.parts * order.profile.n_arrivals
            dropped = max(0, n_arrivals - (table.n_requests if counted is None else counted.begun))
        return summarise(
            table, order, errors_by_kind=kinds, n_dropped=dropped, bodies_checked=self.bodies_checked
        )


def read_order(folder: Path) -> LoadSpec:
    """Read the order back. Raises TrialFailure: it is not there or damaged."""
    path = folder / ORDER_FILE
    try:
        return LoadSpec.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as problem:
        raise TrialFailure("failed", f"{path} cannot be read: {problem}") from problem


def without_result(what: str, folder: Path, *logs: str) -> TrialFailure:
    """Return a failure with the end of what the tool wrote to its logs or its streams."""
    for name in (*logs, "generator.stderr.txt", "generator.stdout.txt"):
        file = folder / name
        text = file.read_text(encoding="utf-8", errors="replace").strip() if file.is_file() else ""
        if text:
            return TrialFailure("failed", f"{what}; output: {' | '.join(text[-300:].splitlines())}")
    return TrialFailure("failed", f"{what}; output: none")


def read_json_totals(path: Path) -> dict[str, Any]:
    """Return the totals that a script or program of this project wrote. Raises ValueError: they are not whole."""
    totals: dict[str, Any] = json.loads(path.read_bytes())
    return totals


def read_totals(read: Callable[[Path], Totals], path: Path, tool: str, *logs: str) -> Totals:
    """Read the totals that a tool writes at its end. Raises TrialFailure: there are none; with its last output."""
    try:
        return read(path)
    except (OSError, InputError, ValueError) as problem:
        what = f"{tool} ended before it wrote its totals ({path.name})"
        raise without_result(what, path.parent, *logs) from problem


def read_rows(
    read: Callable[[Path], RequestTable], path: Path, tool: str, *logs: str, n_more: int = 0
) -> RequestTable:
    """Read the rows that a tool wrote; ``n_more``: requests that left none.

    Raises TrialFailure: there are none; with its last output.
    """
    try:
        table = read(path)
    except InputError as problem:
        raise without_result(f"{tool} left no samples ({problem})", path.parent, *logs) from problem
    if not table.n_requests + n_more:
        raise without_result(f"{tool} sent nothing: {path} has no rows", path.parent, *logs)
    return table


class Passes(NamedTuple):
    """How many passes through a flow began, and how many ended with a right last answer."""

    begun: int
    right: int


def passes(table: RequestTable, spec: LoadSpec) -> Passes | None:
    """Count the passes by the rows of the first and last step; None for a plain mix."""
    if not is_flow(spec.requests):
        return None
    counts, steps = answers_by_name(table), in_order(spec.requests)
    first, last = counts.get(steps[0].name), counts.get(steps[-1].name)
    return Passes(first.n_requests if first else 0, last.n_right if last else 0)


def summarise(
    table: RequestTable,
    spec: LoadSpec,
    *,
    errors_by_kind: Mapping[str, int] | None = None,
    n_dropped: int | None = None,
    bodies_checked: bool = True,
) -> LoadSummary:
    """Return the totals of a table with at least one row; ``errors_by_kind``: default: those of the table."""
    kinds = Counter(table.errors_by_kind if errors_by_kind is None else errors_by_kind)
    duration_s = table.duration_s or 0.0
    counted = passes(table, spec)
    rate_per_s, asking_s = None, duration_s
    if isinstance(spec.profile, OpenLoad):
        # the rate of a flow is that of passes; what is compared with it are requests
        rate_per_s = spec.profile.rate_per_s * (1 if counted is None else len(spec.requests))
        asking_s -= spec.profile.paused_s
    return LoadSummary(
        n_requests=table.n_requests,
        n_errors=table.n_errors,
        start_epoch_s=table.first_start_epoch_s,
        duration_s=duration_s,
        offered_per_s=rate_per_s,
        achieved_per_s=table.n_requests / asking_s if asking_s > 0 else 0.0,
        latency_mean_s=float(table.latency_s.mean()),
        resolution_s=table.resolution_s,
        has_requests=True,
        n_dropped=n_dropped,
        n_flows=None if counted is None else counted.begun,
        n_flows_right=None if counted is None else counted.right,
        bodies_checked=bodies_checked,
        unreadable_lines=table.unreadable.n,
        errors_by_kind=dict(kinds.most_common()),
        answers=answers_by_name(table),
    )


def answers_by_name(table: RequestTable) -> dict[str, AnswerCount]:
    """Count a table's requests by the name they have in the mix."""
    sent = np.bincount(table.label_codes, minlength=len(table.labels))
    right = np.bincount(table.label_codes[table.ok], minlength=len(table.labels))
    return {
        name: AnswerCount(n_requests=int(n), n_right=int(ok))
        for name, n, ok in zip(table.labels, sent, right, strict=True)
        if name and n
    }
