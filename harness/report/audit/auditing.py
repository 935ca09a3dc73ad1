# SPDX-License-Identifier: Apache-2.0
"""From the words of a command line to audited files: single requests, a tool's own totals, or published tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.run_parts import clock_jump
from harness.formats.source import read_head
from harness.formats.table import AggregateRow, AggregateTable, RequestTable, SideColumns
from harness.formats.totals_csv import ROUNDED
from harness.model.load_tools import title_of
from harness.report.analyse import not_empty
from harness.report.audit.laws import (
    LITTLE,
    UNITS,
    Audited,
    Check,
    Figures,
    Plan,
    Printed,
    judged,
    laws,
    sums,
)
from harness.report.audit.tables import audit_table, looks_published, published_tables
from harness.report.checks import Checks, check_requests

CLOCK = "time stamps go on with the clock"
READABLE = "every line can be read"
THREAD = "a thread sends one request after another"
PARTS = "time to connect and time to the first byte are parts of the response time"
_STEPS = 2
#: What the rounding of a printed percentile may take or add, as a share.
_TWO_DIGITS, _THREE_DIGITS = 0.05, 0.01
#: What a mean or a rate in three digits may be off.
_PRINTED = 0.005
#: Of requests of one thread that begin before its last one ended: more are no accident of rounding.
_MOST_OVERLAPS = 0.01


def audit_paths(paths: Sequence[Path], plan: Plan) -> tuple[tuple[Audited, ...], tuple[str, ...]]:
    """Audit files, and all files of folders; return what was found, and what was left out of folders; raises
    InputError: a file that was named cannot be audited, or a folder holds none that can."""
    results: list[Audited] = []
    left_out: list[str] = []
    for path in paths:
        if not path.is_dir():
            results.append(_audit(path, plan))
            continue
        files = sorted(
            item
            for item in path.rglob("*")
            if item.is_file() and not item.relative_to(path).as_posix().startswith(".")
        )
        inside = _audit_each(files, plan, left_out, _audit)
        if not inside:
            raise InputError(
                "holds no result of a load tool and no published table",
                file=path,
                allowed="files that `rematch report` reads, or tables as docs/your-own-results.md says",
            )
        results += inside
    return tuple(results), tuple(left_out)


def audit_published(root: Path, plan: Plan) -> tuple[tuple[Audited, ...], tuple[str, ...]]:
    """Audit the project's own tables of published numbers; raises InputError: there are none."""
    left_out: list[str] = []
    return tuple(_audit_each(published_tables(root), plan, left_out, audit_table)), tuple(left_out)


def _audit_each(
    files: Sequence[Path], plan: Plan, left_out: list[str], audit: Callable[[Path, Plan], Audited]
) -> list[Audited]:
    results = []
    for file in files:
        try:
            results.append(audit(file, plan))
        except InputError as problem:
            left_out.append(f"{file} was left out: {problem.problem}")
    return results


def _audit(path: Path, plan: Plan) -> Audited:
    if not path.exists():
        raise InputError("does not exist", file=path, allowed="a file or a folder")
    if looks_published(read_head(path)):
        return audit_table(path, plan)
    return audit_file(path, plan)


def audit_file(path: Path, plan: Plan) -> Audited:
    """Hold a file that ``report`` reads against itself.

    ``plan``: what is known of the load. Raises InputError: it cannot be read, or holds no request.
    """
    table = read_any(path)
    if isinstance(table, AggregateTable):
        return _totals(table, plan)
    sides = table.sides
    checks = [_readable(not_empty(table)), _clock(table)]
    table.sort_by_start()
    checks += _units(table, check_requests(table))
    checks += _threads(table, sides) if sides is not None else ()
    known = plan if plan.users is not None or sides is None else replace(plan, users=_users(sides))
    checks += laws(_figures(table), known)
    return Audited(
        path=path,
        kind=f"requests of {title_of(table.source)}",
        rows=table.n_requests,
        checks=tuple(checks),
        notes=table.notes,
    )


def _figures(table: RequestTable) -> Figures:
    latency = table.latency_s
    step = table.resolution_s
    duration = table.duration_s
    rate = None if not duration else Printed(value=table.n_requests / duration)
    return Figures(
        rate_per_s=rate,
        mean_s=Printed(value=float(latency.mean()), half=step / 2),
        min_s=Printed(value=float(latency.min()), half=step / 2),
        max_s=Printed(value=float(latency.max()), half=step / 2),
        requests=Printed(value=table.n_requests),
        errors=Printed(value=table.n_errors),
    )


def _readable(table: RequestTable) -> Check:
    if not table.unreadable.n:
        return Check(law=READABLE, outcome="holds", text=f"{table.n_requests:,} requests")
    return Check(law=READABLE, outcome="remarkable", text=str(table.unreadable))


def _clock(table: RequestTable) -> Check:
    if not table.has_start_times or table.n_requests < 2:
        return Check(law=CLOCK, outcome="not checked", text="the file has no time stamps")
    jump = clock_jump(table.start_epoch_s, table.latency_s)
    return judged(CLOCK, jump is None, jump or "neither back nor away for long")


def _units(table: RequestTable, checks: Checks) -> Iterator[Check]:
    if not table.has_start_times:
        return
    if checks.coarse:
        yield Check(law=UNITS, outcome="not checked", text="time stamps are whole seconds")
        return
    for finding in checks.units:
        yield Check(
            law=UNITS, outcome="contradiction" if finding.contradicted else "remarkable", text=finding.text
        )
    if not checks.units:
        yield Check(law=UNITS, outcome="holds", text="nothing in the file speaks against it")


def _users(sides: SideColumns) -> int | None:
    """How many users the first rows name; ``None``: not of a whole file, whose later rows may name more."""
    if not sides.is_whole_file:
        return None
    if sides.users is not None:
        return sides.users
    return len(np.unique(sides.thread)) if sides.thread is not None else None


def _threads(table: RequestTable, sides: SideColumns) -> Iterator[Check]:
    """What the rows' own threads and times say; of the first rows of a long file."""
    if sides.n_requests < 2:
        return
    rows = "" if sides.is_whole_file else f" (first {sides.n_requests:,} rows)"
    latency_s, gap_s = sides.pairs
    if len(gap_s):
        n = int(np.count_nonzero(gap_s < latency_s - _STEPS * table.resolution_s))
        text = f"{n:,} of {len(gap_s):,} requests begin before the last one of their thread has ended{rows}"
        yield Check(
            law=THREAD, outcome="remarkable" if n > _MOST_OVERLAPS * len(gap_s) else "holds", text=text
        )
    known = {"Latency": sides.first_byte_ms, "Connect": sides.connect_ms}
    parts = {name: part for name, part in known.items() if part is not None}
    longer = {name: int(np.count_nonzero(part > sides.latency_s * 1e3 + 1)) for name, part in parts.items()}
    wrong = [
        f"{name} is longer than elapsed in {n:,} of {sides.n_requests:,} rows{rows}"
        for name, n in longer.items()
        if n
    ]
    if parts:
        yield judged(PARTS, not wrong, "; ".join(wrong) or f"in all of {sides.n_requests:,} rows")


def _totals(table: AggregateTable, plan: Plan) -> Audited:
    plan = plan if plan.users is not None else replace(plan, users=table.users)
    rounds = _TWO_DIGITS if ROUNDED in table.notes else _THREE_DIGITS
    parts = [_of_row(row, table, rounds) for row in table.rows]
    checks: list[Check] = []
    for row, figures in zip(table.rows, parts, strict=True):
        name = " ".join(filter(None, (row.method, row.name)))
        checks += [check.at(name, None) for check in laws(figures, Plan(users=plan.users))]
    if table.bounds is not None:
        checks.append(Check(law=LITTLE, outcome="remarkable", text=table.bounds.reason, row="total"))
    if table.of_requests is not None:
        total = _of_row(table.of_requests, table, rounds)
        if table.duration_s and table.kind == "summary":
            duration = Printed(value=table.duration_s, half=_PRINTED * table.duration_s)
            total = replace(total, duration_s=duration)
        checks += [check.at("total", None) for check in (*laws(total, plan), *sums(total, parts))]
    if table.unreadable_lines:
        text = f"{table.unreadable_lines:,} lines cannot be read"
        checks.append(Check(law=READABLE, outcome="remarkable", text=text))
    if not checks:
        checks.append(Check(law="any", outcome="not checked", text=f"a list of {table.kind} has no loads"))
    rows, kind = max(len(table.rows), int(table.total is not None)), title_of(table.source)
    return Audited(
        path=table.path, kind=f"totals of {kind}", rows=rows, checks=tuple(checks), notes=table.notes
    )


def _of_row(row: AggregateRow, table: AggregateTable, rounds: float) -> Figures:
    """A tool's own numbers; percentiles are rounded, by up to ``rounds`` of their value."""

    def printed(value: float | None) -> Printed | None:
        return None if value is None else Printed(value=value, half=_PRINTED * value)

    return Figures(
        rate_per_s=None if row.answers_per_s is None else printed(row.answers_per_s),
        mean_s=printed(row.latency_mean_s),
        min_s=printed(row.latency_min_s),
        max_s=printed(row.latency_max_s),
        quantiles_s={
            float(name[1:]) / 100: Printed(value=value, half=rounds * value + table.resolution_s)
            for name, value in row.latency_quantiles_s.items()
            if name.startswith("p")
        },
        requests=Printed(value=row.n_requests),
        errors=Printed(value=row.n_errors),
        unanswered=row.n_unanswered,
    )
