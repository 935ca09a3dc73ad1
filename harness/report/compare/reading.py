# SPDX-License-Identifier: Apache-2.0
"""From the words of a command line to runs: each as one number a metric and label, with what is to be known of it.

A file is a run. ``FILE+FILE`` is one run that several generators wrote. A folder stands for its runs: each result
file in it is one, and each folder in it is one whose files several generators wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.analysis.stats.quantiles import EXTREME, FEWEST_BEYOND_EXTREME, quantile_refused, rank
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.formats.detect import JOIN, files_of_run, open_any
from harness.formats.jtl_units import NOTHING_SAID, NumberStyle
from harness.formats.run_parts import clock_jump
from harness.formats.source import SourceNotes, read_text_pieces
from harness.formats.table import AggregateRow, AggregateTable, RequestTable
from harness.report.analyse import read_files, report_totals, study
from harness.report.compare.result import LATENCIES, QUANTILES, Key, Run
from harness.report.loop import Kind, by_design, ramp_of
from harness.report.selection import Selection, select

#: What Locust writes beside ``_stats.csv`` about the same run.
_BESIDE_STATS = ("_stats_history.csv", "_failures.csv", "_exceptions.csv")
#: Names with rows of their own, those with the most requests first.
MOST_LABELS = 20
#: Of a file without verdicts.
NO_VERDICTS = "the file does not say which requests failed: all are taken as successful"


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """One run: its name, as it is printed, and its files."""

    name: str
    paths: tuple[Path, ...]


def runs_named(words: Sequence[str], arm: str) -> tuple[tuple[RunFiles, ...], tuple[str, ...]]:
    """Return the runs that the words of one arm name, and what was left out of folders.

    ``words``: files, ``FILE+FILE`` and folders. ``arm``: its name, for messages. Raises InputError: nothing was named,
    a file is missing, or a folder holds no result.
    """
    runs: list[RunFiles] = []
    left_out: list[str] = []
    for word in words:
        paths = files_of_run(word)
        if len(paths) == 1 and paths[0].is_dir():
            runs += _of_folder(paths[0], left_out)
            continue
        runs.append(RunFiles(name=JOIN.join(map(str, paths)), paths=paths))
    if not runs:
        raise InputError("has no run", place=f"arm {arm}", allowed="files or folders: A... -- B...")
    return tuple(runs), tuple(left_out)


def _of_folder(folder: Path, left_out: list[str]) -> list[RunFiles]:
    runs = [RunFiles(name=str(path), paths=(path,)) for path in _results_in(folder, left_out)]
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        paths = _results_in(inner, left_out)
        if paths:
            runs.append(RunFiles(name=str(inner), paths=tuple(paths)))
    if not runs:
        raise InputError(
            "holds no result of a load tool",
            file=folder,
            allowed="result files, one a run, or folders of them, one folder a run",
        )
    return runs


def _results_in(folder: Path, left_out: list[str]) -> list[Path]:
    """Result files directly in a folder; what belongs to another file, or to no load tool, is left out."""
    results = []
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    names = {path.name for path in files}
    for path in files:
        stem = next((path.name.removesuffix(end) for end in _BESIDE_STATS if path.name.endswith(end)), None)
        if stem is not None and f"{stem}_stats.csv" in names:
            continue
        try:
            open_any(path)
        except InputError as problem:
            left_out.append(f"{path} was left out: {problem.problem}")
            continue
        results.append(path)
    return results


def read_run(files: RunFiles, *, skip_s: float = 0.0, how: NumberStyle = NOTHING_SAID) -> Run:
    """Read the files of one run.

    ``skip_s``: what to leave out at the beginning, such as a ramp. ``how``: of a JMeter file's ``elapsed``. Raises
    InputError: a file cannot be read, holds no request, or is a summary of which nothing can be left out; or one of
    several is a summary, which cannot be merged.
    """
    table = select(read_files(files.paths, how), Selection(skip_s=skip_s))
    if isinstance(table, AggregateTable):
        return _run_of_totals(files, table)
    return _run_of_requests(files, table, is_whole=not skip_s)


def _run_of_totals(files: RunFiles, table: AggregateTable) -> Run:
    report, total = report_totals(table), table.of_requests
    assert total is not None  # a report of totals has them
    named: dict[str, AggregateRow] = (
        dict(zip([row.label for row in report.labels], table.rows, strict=True))
        if len(table.rows) > 1
        else {}
    )
    rows = dict[str | None, AggregateRow]([(None, total), *named.items()])
    values: dict[Key, float] = {}
    reasons: dict[Key, str] = {}
    for label, row in rows.items():
        known = {name: row.latency_quantiles_s.get(name) for name in QUANTILES}
        known |= {"throughput": row.correct_per_s, "mean": row.latency_mean_s}
        known["errors"] = row.n_errors / row.n_requests if row.n_requests else None
        values |= {(label, name): value for name, value in known.items() if value is not None}
        reasons |= {
            (label, name): f"the summary has no {'rate' if name == 'throughput' else name}"
            for name in ("throughput", *LATENCIES)
            if known[name] is None
        }
    unknown = () if table.errors_known else (NO_VERDICTS,)
    bounded = () if table.bounds is None else (table.bounds.reason,)
    return Run(
        name=files.name,
        sources=(table.source,),
        n_requests=report.requests,
        n_errors=report.errors,
        resolution_s=table.resolution_s,
        values=values,
        reasons=reasons,
        start_epoch_s=table.start_epoch_s,
        duration_s=table.duration_s,
        rate_per_s=total.answers_per_s,
        loop="cannot say" if report.loop is None else report.loop.kind,
        users=None if report.loop is None else report.loop.users,
        labels={label: row.n_requests for label, row in named.items()},
        fingerprints=(_hash(read_text_pieces(table.path, SourceNotes())),),
        symptoms={"truncated_file": "has lines that cannot be read"} if table.unreadable_lines else {},
        warnings=tuple(dict.fromkeys((*unknown, *bounded, *table.notes))),
    )


def _run_of_requests(files: RunFiles, table: RequestTable, *, is_whole: bool) -> Run:
    sides, symptoms = table.sides, _symptoms_of(table)
    checks, runs, duration_s, _ = study(table)
    loop = checks.loop or by_design(table.source)
    users = None if loop is None else loop.users
    if checks.loop is not None and (sides is None or (sides.thread is None and sides.all_threads is None)):
        users = None  # estimated from the rhythm: too rough to compare
    kind: Kind = "cannot say" if loop is None else loop.kind
    if checks.units:
        symptoms["mixed_units"] = checks.units[0].text
    if table.has_start_times and "clock_jump" not in symptoms:
        ramp = ramp_of(table, sides=sides if is_whole else None, loop=kind)
        symptoms |= {} if ramp is None else {"ramp_included": f"{ramp.text}; {ramp.command} leaves it out"}
    warnings = list(dict.fromkeys(table.notes))
    if table.unreadable.n > table.unreadable.n_cut:
        warnings.append(f"left out: {table.unreadable}")
    if not table.ok_known:
        warnings.append(NO_VERDICTS)
    counts = np.bincount(table.label_codes, minlength=len(table.labels))
    names = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    if len(names) > MOST_LABELS:
        warnings.append(
            f"more than {MOST_LABELS} names of requests: the most frequent have rows of their own"
        )
    values: dict[Key, float] = {}
    reasons: dict[Key, str] = {}
    ok = table.ok
    for code in [None, *(names[:MOST_LABELS] if len(names) > 1 else [])]:
        own = np.ones(len(ok), dtype=np.bool_) if code is None else table.label_codes == code
        label = None if code is None else table.labels[code]
        result, missing = request_values(
            table.latency_s[own & ok], int(np.count_nonzero(own & ~ok)), duration_s
        )
        values |= {(label, metric): value for metric, value in result.items()}
        reasons |= {(label, metric): why for metric, why in missing.items()}
        if runs:
            reasons[label, "throughput"] = f"its file holds {len(runs)} runs"
    failed = table.latency_s[~ok]
    hosts = {} if sides is None else {"load generator": frozenset(sides.hosts), "service": sides.services}
    span_s = float(np.ptp(table.start_epoch_s)) if table.has_start_times and not runs else 0.0
    return Run(
        name=files.name,
        sources=(table.source,),
        n_requests=table.n_requests,
        n_errors=table.n_errors,
        resolution_s=table.resolution_s,
        values=values,
        reasons=reasons,
        start_epoch_s=None if table.from_zero else table.first_start_epoch_s,
        duration_s=duration_s,
        rate_per_s=(table.n_requests - 1) / span_s if span_s > 0 else None,
        loop=kind,
        users=users,
        labels={table.labels[i]: int(counts[i]) for i in names},
        # The same for a file that was renamed, compressed or written in another encoding.
        fingerprints=(_hash(map(np.ndarray.tobytes, (table.latency_s, table.start_epoch_s, ok))),),
        hosts={what: machines for what, machines in hosts.items() if machines},
        symptoms=symptoms,
        failed_median_s=float(np.median(failed)) if len(failed) else None,
        warnings=tuple(warnings),
    )


def _hash(pieces: Iterable[bytes]) -> str:
    made = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        made.update(piece)
    return made.hexdigest()


def _symptoms_of(table: RequestTable) -> dict[str, str]:
    """Traps that one file shows by itself; none of time where it has no time stamps."""
    results: dict[str, str] = {}
    if table.unreadable.n_cut or any("ends early" in note or "is damaged" in note for note in table.notes):
        results["truncated_file"] = "ends in the middle of a row: the tool was stopped, or the disk was full"
    if table.has_start_times and table.n_requests > 1:
        jump = clock_jump(table.start_epoch_s, table.latency_s)
        results |= {} if jump is None else {"clock_jump": jump}
    return results


def request_values(
    latency_s: FloatArray, n_errors: int, duration_s: float | None
) -> tuple[dict[str, float], dict[str, str]]:
    """Return metric -> value of some requests of one run, and why a value is missing.

    ``latency_s``: of the correct answers, shape (n,). ``duration_s``: of the whole run; None: unknown.
    """
    n = len(latency_s)
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    if n + n_errors:
        values["errors"] = n_errors / (n + n_errors)
    if duration_s:
        values["throughput"] = n / duration_s
    else:
        reasons["throughput"] = "no start times"
    if not n:
        return values, reasons | dict.fromkeys(LATENCIES, "no request succeeded")
    values["mean"] = float(latency_s.mean())
    wanted = {name: q for name, q in QUANTILES.items() if quantile_refused(n, q) is None}
    places = {name: rank(n, q) - 1 for name, q in wanted.items()}
    ordered = np.partition(latency_s, sorted(set(places.values()))) if places else latency_s
    values |= {name: float(ordered[place]) for name, place in places.items()}
    reasons |= {name: _needs(q) for name, q in QUANTILES.items() if name not in wanted}
    return values, reasons


def _needs(q: float) -> str:
    beyond = FEWEST_BEYOND_EXTREME if q >= EXTREME else 1
    return f"needs {round(beyond / (1 - q)):,} correct answers a run"
