# SPDX-License-Identifier: Apache-2.0
"""Read one run from its files. Requests of several generators are merged exactly; percentiles of summaries are not.

A quantile of requests taken together lies between the least and the greatest quantile of the parts, whatever the
parts are: that is all that summaries can say of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from harness.compare.arguments import RunFiles
from harness.compare.other_tools import ToolName, numbers_as
from harness.compare.run import (
    LATENCIES,
    NO_VERDICTS,
    Key,
    Run,
    Symptom,
    percentile_curve,
    request_values,
)
from harness.compare.totals import run_of_totals
from harness.errors import InputError
from harness.formats.collect import RequestStream
from harness.formats.detect import open_any
from harness.formats.jtl_units import Decimal, LatencyUnit
from harness.formats.run_parts import RunParts, clock_jump
from harness.formats.sides import SideColumns
from harness.formats.source import SourceNotes, read_text_pieces
from harness.formats.table import AggregateTable, RequestTable, together
from harness.report.checks import Checks
from harness.report.loop import Kind, Loop, by_design
from harness.report.ramp import ramp_of
from harness.report.requests import columns_beside, look_at_all, read_all
from harness.report.result import impossible
from harness.report.selection import Selection, select, select_rows

#: Names with rows of their own, those with the most requests first.
MOST_LABELS = 20
#: Traps that one file shows by itself.
RAMP, CLOCK, CUT = "ramp_included", "clock_jump", "truncated_file"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One file of a run."""

    table: RequestTable | AggregateTable
    fingerprint: str
    loop: Loop | None
    hosts: dict[str, frozenset[str]]
    symptoms: tuple[Symptom, ...] = ()


def read_run(
    files: RunFiles,
    *,
    skip_s: float = 0.0,
    as_tools: Sequence[ToolName] = (),
    latency_unit: LatencyUnit | None = None,
    decimal: Decimal | None = None,
) -> Run:
    """Read the files of one run.

    Args:
        skip_s: what to leave out at the beginning of each file, such as a ramp.
        as_tools: load tools whose own numbers are wanted, too.
        latency_unit, decimal: of a JMeter file's ``elapsed``, where it is not whole milliseconds.

    Raises:
        InputError: a file cannot be read, holds no request, or is a summary of which nothing can be left out.
    """
    parts = [_read_part(path, skip_s, latency_unit, decimal) for path in files.paths]
    tables = [part.table for part in parts]
    if any(isinstance(table, AggregateTable) for table in tables):
        run = run_of_totals(files.name, tables)
    else:
        run = _run_of_requests(
            files.name, [table for table in tables if isinstance(table, RequestTable)], as_tools
        )
    _check(run, files.paths[0])
    kinds: set[Kind] = {part.loop.kind if part.loop is not None else "cannot say" for part in parts}
    users = [part.loop.users if part.loop is not None else None for part in parts]
    hosts = {
        what: frozenset[str]().union(*(part.hosts.get(what, ()) for part in parts))
        for what in ("load generator", "service")
    }
    return replace(
        run,
        loop=kinds.pop() if len(kinds) == 1 else "cannot say",
        users=None if None in users else sum(n for n in users if n is not None),
        hosts={what: names for what, names in hosts.items() if names},
        fingerprints=tuple(part.fingerprint for part in parts),
        symptoms=tuple(dict.fromkeys(symptom for part in parts for symptom in part.symptoms)),
    )


def _check(run: Run, path: Path) -> None:
    """Refuse a run whose numbers cannot be.

    Raises:
        InputError: one of them cannot; names the file.
    """
    by_label: dict[str | None, dict[str, float | None]] = {}
    for (label, metric), value in run.values.items():
        if metric in LATENCIES:
            by_label.setdefault(label, {})[metric] = value * 1e3
    wrong = impossible(run.n_requests, run.n_errors, run.rate_per_s, run.duration_s, list(by_label.values()))
    if wrong is not None:
        raise InputError("contradicts itself, so it is not compared", file=path, found=wrong)


def _read_part(path: Path, skip_s: float, latency_unit: LatencyUnit | None, decimal: Decimal | None) -> Part:
    opened, selection = open_any(path, latency_unit, decimal), Selection(skip_s=skip_s)
    if isinstance(opened, AggregateTable):
        select(opened, selection)
        cut = (Symptom(trap=CUT, text="has lines that cannot be read"),) if opened.unreadable_lines else ()
        return Part(
            table=opened,
            fingerprint=_of_bytes(path),
            loop=by_design(opened.source, opened.users),
            hosts={},
            symptoms=cut,
        )
    sides, units = columns_beside(opened)
    hosts = _hosts(opened)
    table = read_all(opened)
    loop: Loop | None = None
    symptoms: list[Symptom] = []
    checks = Checks(table, None, sides, units)
    if table.has_start_times:
        result, answered = look_at_all(table, checks)
        symptoms += [Symptom(trap="mixed_units", text=item.text) for item in result]
        loop = checks.loop(answered)
        if loop is not None and (sides is None or (sides.thread is None and sides.all_threads is None)):
            loop = loop.model_copy(update={"users": None})  # estimated from the rhythm: too rough to compare
    table = select_rows(table, selection)
    symptoms += symptoms_of(table, sides=None if skip_s else sides, loop=loop.kind if loop else "cannot say")
    return Part(
        table=table, fingerprint=_of_requests(table), loop=loop or by_design(table.source), hosts=hosts,
        symptoms=tuple(symptoms),
    )  # fmt: skip


def _hosts(opened: RequestStream | RequestTable) -> dict[str, frozenset[str]]:
    """Machines that the file names, by what they do."""
    sides = opened.sides
    if sides is None:
        return {}
    hosts = {"load generator": frozenset(sides.hosts), "service": sides.services}
    return {what: names for what, names in hosts.items() if names}


def _of_requests(table: RequestTable) -> str:
    """A name of the content: the same for a file that was renamed, compressed or written in another encoding."""
    made = hashlib.blake2b(digest_size=16)
    for column in (table.latency_s, table.start_epoch_s, table.ok):
        made.update(np.ascontiguousarray(column).tobytes())
    return made.hexdigest()


def _of_bytes(path: Path) -> str:
    made = hashlib.blake2b(digest_size=16)
    for piece in read_text_pieces(path, SourceNotes()):
        made.update(piece)
    return made.hexdigest()


def _run_of_requests(name: str, tables: Sequence[RequestTable], as_tools: Sequence[ToolName]) -> Run:
    table = tables[0] if len(tables) == 1 else together(tables, [0.0] * len(tables))
    warnings = list(dict.fromkeys(table.notes))
    if len(tables) > 1:
        warnings += _not_at_once(tables)
    if table.unreadable.n > table.unreadable.n_cut:
        warnings.append(f"left out: {table.unreadable}")
    if not table.ok_known:
        warnings.append(NO_VERDICTS)
    ok = table.ok
    duration_s = table.duration_s
    if duration_s is not None and bool((table.start_epoch_s == np.floor(table.start_epoch_s)).all()):
        duration_s = duration_s if duration_s >= 10 else None  # whole seconds: a few steps say no rate
    runs = RunParts(from_zero=table.from_zero)
    if table.has_start_times:
        runs.take(table.start_epoch_s, table.latency_s, ok)
    n_runs = len(runs.runs())
    if n_runs > 1:
        duration_s = None
    values: dict[Key, float] = {}
    reasons: dict[Key, str] = {}
    counts = np.bincount(table.label_codes, minlength=len(table.labels))
    names = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    shown = names[:MOST_LABELS] if len(names) > 1 else []
    if len(names) > MOST_LABELS:
        warnings.append(
            f"more than {MOST_LABELS} names of requests: the most frequent have rows of their own"
        )
    for code in [None, *shown]:
        own = np.ones(len(ok), dtype=np.bool_) if code is None else table.label_codes == code
        result, missing = request_values(
            table.latency_s[own & ok], int(np.count_nonzero(own & ~ok)), duration_s
        )
        label = None if code is None else table.labels[code]
        values |= {(label, metric): value for metric, value in result.items()}
        reasons |= {(label, metric): why for metric, why in missing.items()}
        if n_runs > 1:
            reasons[label, "throughput"] = f"its file holds {n_runs} runs"
    start = None
    rate_per_s = None
    if table.has_start_times:
        start = None if table.from_zero else float(table.start_epoch_s.min())
        span_s = float(np.ptp(table.start_epoch_s))
        rate_per_s = (table.n_requests - 1) / span_s if span_s > 0 and n_runs == 1 else None
    failed = table.latency_s[~ok]
    return Run(
        name=name,
        sources=tuple(dict.fromkeys(item.source for item in tables)),
        n_requests=table.n_requests,
        n_errors=table.n_errors,
        resolution_s=table.resolution_s,
        values=values,
        reasons=reasons,
        start_epoch_s=start,
        duration_s=duration_s,
        rate_per_s=rate_per_s,
        labels={table.labels[i]: int(counts[i]) for i in names},
        curve=percentile_curve(table.latency_s[ok]),
        failed_median_s=float(np.median(failed)) if len(failed) else None,
        as_tools={tool: numbers_as(tool, table) for tool in as_tools},
        warnings=tuple(warnings),
    )


def _not_at_once(tables: Sequence[RequestTable]) -> list[str]:
    """Files of one run overlap in time: else they are several runs, or the clocks of their machines differ."""
    if not all(table.has_start_times for table in tables):
        return ["its files have no start times: they are taken as written at the same time"]
    spans = sorted(
        (float(table.start_epoch_s.min()), float((table.start_epoch_s + table.latency_s).max()))
        for table in tables
    )
    if any(after[0] >= before[1] for before, after in pairwise(spans)):
        return [
            "its files do not overlap in time: several runs, or clocks that differ? Its rate is too low then"
        ]
    return []


def symptoms_of(table: RequestTable, *, sides: SideColumns | None, loop: Kind) -> list[Symptom]:
    """Return what one file shows; nothing of time where it has no time stamps.

    Args:
        sides: threads and users of its first rows; None: it does not name them.
    """
    results = []
    if table.unreadable.n_cut or any("ends early" in note or "is damaged" in note for note in table.notes):
        results.append(
            Symptom(trap=CUT, text="ends in the middle of a row: the tool was stopped, or the disk was full")
        )
    if not table.has_start_times or table.n_requests < 2:
        return results
    if (jump := clock_jump(table.start_epoch_s, table.latency_s)) is not None:
        results.append(Symptom(trap=CLOCK, text=jump))
    elif (ramp := ramp_of(table, sides=sides, loop=loop)) is not None:
        results.append(Symptom(trap=RAMP, text=f"{ramp.text}; {ramp.command} leaves it out"))
    return results
