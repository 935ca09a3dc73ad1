# SPDX-License-Identifier: Apache-2.0
"""What the adapters share: a command with the order beside it, and the way from a tool's files to its summary."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from pydantic import ValidationError

from harness.errors import InputError, MissingTool, TrialFailure
from harness.formats.arrays import BoolArray
from harness.formats.table import RequestTable
from harness.loadgen.base import Installed, LoadCommand, LoadSpec, refuse
from harness.loadgen.flow import closed_s, in_order, is_flow
from harness.model import AnswerCount, ClosedLoad, LoadProfile, LoadSummary, OpenLoad, Request

#: Every adapter leaves its order here, so that the folder explains itself later.
ORDER_FILE = "order.json"
Totals = TypeVar("Totals")


@dataclass(frozen=True, kw_only=True)
class Tool(ABC):
    """A tool that is one program; see ``LoadGenerator``. ``program``: where it is; ``None``: not on this machine."""

    program: Path | None = None
    name: str = ""
    how_to_get: ClassVar[str] = "make setup"
    #: For planning only: seconds to start and stop, requests a second of a quick service on a small machine, and rows
    #: that it writes in a second when the load is over.
    start_and_stop_s: ClassVar[float] = 2.0
    assumed_per_s: ClassVar[float] = 4000.0
    written_per_s: ClassVar[float] = math.inf
    #: Files that it leaves beside its order.
    outputs: ClassVar[tuple[str, ...]] = ()
    stdout: ClassVar[str] = "generator.stdout.txt"
    environment: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @classmethod
    def of(cls, installed: Installed) -> Self:
        """Return the adapter of what is installed."""
        return cls(program=installed.programs.get(cls.name))

    @abstractmethod
    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        """See ``LoadGenerator.supports``."""

    @abstractmethod
    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        """Return the command line of a load that it supports."""

    @abstractmethod
    def read(self, folder: Path) -> LoadSummary:
        """See ``LoadGenerator.read``."""

    def files(self, spec: LoadSpec) -> dict[str, str]:
        """Return name -> content of what stands in the folder before the command starts, the order apart."""
        return {}

    def after(self, spec: LoadSpec) -> tuple[tuple[str, ...], ...]:
        """Return the command lines to run when the load is over."""
        return ()

    def expected_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        """See ``LoadGenerator.expected_s``."""
        per_s = profile.rate_per_s if isinstance(profile, OpenLoad) else self.assumed_per_s
        offering_s = profile.whole_s
        if offering_s is None:
            assert isinstance(profile, ClosedLoad)  # an open loop has a duration
            offering_s = closed_s(profile, requests, per_s)
        return self.start_and_stop_s + offering_s * (1 + per_s / self.written_per_s)

    def require(self) -> None:
        """See ``LoadGenerator.require``."""
        if self.program is None or not self.program.exists():
            raise MissingTool(self.name, why="to offer the load", how_to_get=self.how_to_get)

    def command(self, spec: LoadSpec) -> LoadCommand:
        """See ``LoadGenerator.command``."""
        refuse(self, spec.profile, spec.requests)
        return LoadCommand(
            argv=self.argv(spec),
            after=self.after(spec),
            environment=dict(self.environment),
            files={**self.files(spec), ORDER_FILE: order_text(spec)},
            outputs=(*self.outputs, ORDER_FILE),
            stdout=self.stdout,
            expected_s=self.expected_s(spec.profile, spec.requests),
        )


class RowTool(Tool):
    """A tool that writes a row for each request, the names of whose errors may be made better."""

    title: ClassVar[str]
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
        """Totals of the rows. ``n_dropped``: arrivals of the schedule that left none."""
        order, path = read_order(folder), folder / self.samples
        table = read_rows(self.rows, path, self.title, *self.logs)
        kinds = self.errors_by_kind(table, path) if table.n_errors else {}
        dropped = None
        if isinstance(order.profile, OpenLoad):
            dropped = n_dropped(table, order, order.profile.parts * order.profile.n_arrivals)
        return summarise(
            table, order, errors_by_kind=kinds, n_dropped=dropped, bodies_checked=self.bodies_checked
        )


def order_text(spec: LoadSpec) -> str:
    """Return the order as it stands in the folder."""
    return spec.model_dump_json(by_alias=True, indent=1) + "\n"


def read_order(folder: Path) -> LoadSpec:
    """Read the order back.

    Raises:
        TrialFailure: it is not there or damaged.
    """
    path = folder / ORDER_FILE
    try:
        return LoadSpec.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as problem:
        raise TrialFailure("failed", f"{path} cannot be read: {problem}") from problem


def last_words(folder: Path, *names: str, limit: int = 300) -> str:
    """Return the end of what the tool said in the first of these files that is not empty."""
    for name in names:
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if text:
            return " | ".join(text[-limit:].splitlines())
    return "none"


def last_output(folder: Path, *logs: str) -> str:
    """Return what the tool said last, in its logs or on its streams."""
    return f"output: {last_words(folder, *logs, 'generator.stderr.txt', 'generator.stdout.txt')}"


def read_totals(read: Callable[[Path], Totals], path: Path, tool: str, *logs: str) -> Totals:
    """Read the totals that a tool writes at its end.

    Raises:
        TrialFailure: there are none; with its last words.
    """
    try:
        return read(path)
    except (OSError, InputError, ValidationError) as problem:
        words = last_output(path.parent, *logs)
        reason = f"{tool} ended before it wrote its totals ({path.name}); {words}"
        raise TrialFailure("failed", reason) from problem


def read_rows(read: Callable[[Path], RequestTable], path: Path, tool: str, *logs: str) -> RequestTable:
    """Read the rows that a tool wrote.

    Raises:
        TrialFailure: there are none; with its last words in ``logs`` or on its streams.
    """
    try:
        table = read(path)
    except InputError as problem:
        reason = f"{tool} left no samples ({problem}); {last_output(path.parent, *logs)}"
        raise TrialFailure("failed", reason) from problem
    if not table.n_requests:
        reason = f"{tool} sent nothing: {path} has no rows; {last_output(path.parent, *logs)}"
        raise TrialFailure("failed", reason)
    return table


class Passes(NamedTuple):
    """How many passes through a flow began, and how many ended with a right last answer."""

    begun: int
    right: int


def passes(table: RequestTable, spec: LoadSpec) -> Passes | None:
    """Count the passes by the rows of the first and last step; None for a plain mix."""
    if not is_flow(spec.requests):
        return None
    steps = in_order(spec.requests)
    of_last = _rows_of(table, steps[-1].name)
    return Passes(
        int(np.count_nonzero(_rows_of(table, steps[0].name))), int(np.count_nonzero(of_last & table.ok))
    )


def _rows_of(table: RequestTable, name: str) -> BoolArray:
    code = table.labels.index(name) if name in table.labels else -1
    return np.asarray(table.label_codes == code)


def n_dropped(table: RequestTable, spec: LoadSpec, n_arrivals: int) -> int:
    """Return how many arrivals left no row; of a flow, no row of its first step."""
    counted = passes(table, spec)
    return max(0, n_arrivals - (table.n_requests if counted is None else counted.begun))


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
    rate_per_s, paused_s = None, 0.0
    if isinstance(spec.profile, OpenLoad):
        rate_per_s, paused_s = spec.profile.rate_per_s, spec.profile.paused_s
    asking_s = duration_s - paused_s
    if rate_per_s is not None and counted is not None:
        rate_per_s *= len(spec.requests)  # the rate is that of passes; what is compared with it are requests
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
