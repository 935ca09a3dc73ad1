# SPDX-License-Identifier: Apache-2.0
"""Print a report: for a person as a page, for a program as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.analysis.report import report_table
from harness.analysis.report_requests import Gathered, gather_file
from harness.analysis.report_result import QUANTILES, Report
from harness.analysis.report_words import latency_cell, latency_cells, share_words
from harness.errors import InputError
from harness.formats.detect import open_any
from harness.formats.gc_events import GcLog
from harness.formats.gctrace import read_gctrace
from harness.formats.jfr_json import read_jfr_json
from harness.formats.jtl_units import LatencyUnit
from harness.formats.jvm_log import read_jvm_log
from harness.formats.source import read_head
from harness.formats.table import AggregateTable
from harness.formats.unified_log import rotated_parts
from harness.model.digits import percent, plain

#: Stalls shown on a page; all of them stand in the JSON.
SHOWN = 10
_MIB = 1024**2


def main(
    paths: Sequence[Path],
    *,
    gc: Path | None = None,
    process_start_epoch_s: float | None = None,
    samples: Path | None = None,
    latency_unit: LatencyUnit | None = None,
    as_json: bool = False,
    html: Path | None = None,
) -> None:
    """Report on each of ``paths``; print one JSON object for one path, a list for several.

    ``latency_unit``: of ``elapsed`` in JMeter's files; None: milliseconds.
    ``samples``: a csv of resource samples taken beside it; for one path only.
    ``html``: also write a self-contained page with plots there; for one path only.

    Raises:
        InputError: a file cannot be used; names the file, the place, what was found and what is allowed.
    """
    log = read_runtime_log(gc, process_start_epoch_s) if gc else None
    for option, given, why in (
        ("--html", html, "a page shows one file"),
        ("--samples", samples, "samples belong to one file"),
    ):
        if given is not None and len(paths) != 1:
            raise InputError(why, place=option, found=f"{len(paths)} files", allowed="1 file")
    reports = []
    for path in paths:
        opened = open_any(path, latency_unit)
        if isinstance(opened, AggregateTable):
            gathered, report = None, report_table(opened, log)
        else:
            gathered = gather_file(opened, log)
            report = gathered.report()
        if samples is not None:
            report = report.with_samples(samples)
        reports.append(report)
        if html is not None:
            _write_page(html, report, gathered, log)
    if as_json:
        plain = [report.as_json() for report in reports]
        print(json.dumps(plain[0] if len(plain) == 1 else plain, indent=2, allow_nan=False))
        return
    console = Console()
    for report in reports:
        show(report, console)


def _write_page(target: Path, report: Report, gathered: Gathered | None, log: GcLog | None) -> None:
    from harness.analysis.report_html import render_html  # its plots cost a second that no other report needs

    events = log.events if log is not None and log.clock == "epoch" else ()
    pauses = [(event.cause, (event.start_s, event.end_s)) for event in events]
    page = render_html(
        report,
        latency_s=gathered.latency_s if gathered else None,
        slowest=gathered.slowest if gathered else None,
        pauses=pauses,
    )
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}",
            file=target,
            place="--html",
            allowed="a file in a folder that exists",
        ) from error


def read_runtime_log(path: Path, process_start_epoch_s: float | None = None) -> GcLog:
    """Read a JVM's unified log (with its rotated parts), a flight recording as JSON or Go's gctrace, whichever it is.

    ``process_start_epoch_s`` places a log that counts from the start of its process.

    Raises:
        InputError: it is none of them.
    """
    if read_head(path).lstrip().startswith("{"):
        return read_jfr_json(path).log
    trace = read_gctrace(path)
    log = trace if trace.n_collections else read_jvm_log(*rotated_parts(path))
    if log.clock == "epoch" or process_start_epoch_s is None:
        return log
    return log.placed(process_start_epoch_s)


def show(report: Report, console: Console) -> None:
    """Print one report for a person."""
    console.print(f"[bold]{report.path}[/bold]  ({report.source}, resolution {report.resolution_ms:g} ms)")
    share = f" ({percent(report.errors / report.requests)})" if report.requests else ""
    console.print(f"{report.requests:,} requests, {report.errors:,} errors{share}")
    if report.start_epoch_s is not None and report.duration_s is not None:
        began = datetime.fromtimestamp(report.start_epoch_s, UTC).isoformat(sep=" ", timespec="milliseconds")
        console.print(f"from {began} for {report.duration_s:.3f} s")
    if report.throughput_per_s is not None:
        correct = (
            f", {plain(report.correct_per_s)} of them correct"
            if report.errors and report.correct_per_s
            else ""
        )
        console.print(f"{plain(report.throughput_per_s)} answers per second{correct}")
    if report.loop is not None:
        console.print(
            f"{report.loop.words}: {'; '.join(report.loop.evidence)}", markup=False, highlight=False
        )
    for one in report.units:
        console.print(one.text, style="bold red", markup=False, highlight=False)
    console.print(_latency_table(report))
    for kind, count in report.errors_by_kind.items():
        console.print(f"  {count:,} x {kind}", markup=False)
    _show_stalls(report, console)
    _show_attribution(report, console)
    _show_resources(report, console)
    shown = {one.text for one in report.units}
    for warning in (said for said in report.warnings if said not in shown):
        console.print(f"note: {warning}", style="yellow", markup=False, highlight=False)
    console.print()


def _latency_table(report: Report) -> Table:
    table = Table(title="latency, ms", title_justify="left", show_edge=False)
    for column in ("", "value", "95 % interval, this trial"):
        table.add_column(column, justify="left" if not column else "right")
    loop = report.loop
    corrected = None if loop is None else loop.corrected_ms
    if corrected is not None:
        table.add_column("with what waiting left out", justify="right")
    for name in ("mean", *QUANTILES, "max"):
        value, interval = report.latency_ms.get(name), report.intervals.get(name)
        table.add_row(
            name,
            *latency_cells(value, interval),
            *(() if corrected is None else (latency_cell(corrected[name]) if name in corrected else "",)),
        )
    return table


def _show_stalls(report: Report, console: Console) -> None:
    if report.stalls is None:
        return
    hard = [stall for stall in report.stalls if stall.kind == "stall"]
    console.print(f"{len(hard)} stalls, {len(report.stalls) - len(hard)} slow periods")
    if report.shortest_visible_ms is not None:
        console.print(
            f"  a stall shorter than {plain(report.shortest_visible_ms)} ms would not show", highlight=False
        )
    longest = sorted(zip(report.stalls, report.causes, strict=True), key=lambda pair: -pair[0].duration_s)[
        :SHOWN
    ]
    for stall, cause in sorted(longest, key=lambda pair: pair[0].start_s):
        since = stall.start_s - (report.start_epoch_s or 0.0)
        because = f", {cause}" if cause else ""
        console.print(
            f"  at {since:9.3f} s  {stall.duration_s * 1e3:8.1f} ms  {stall.n_requests:6,} requests  "
            f"{stall.kind.replace('_', ' ')}{because}"
        )
    if len(report.stalls) > SHOWN:
        console.print(f"  the longest {SHOWN} of {len(report.stalls)}; all of them with --json")


def _show_attribution(report: Report, console: Console) -> None:
    if report.attribution is None:
        return
    if "refused" in report.attribution:
        console.print("unexplained: 100 %, no pause was laid over the requests")
        return
    for name in ("p99", "p99.9"):
        part = report.attribution[name]
        share = part["share"]
        causes = ", ".join(
            f"{cause} {percent(share['value'])}"
            for cause, share in part["causes"].items()
            if share["value"] is not None
        )
        if causes:
            console.print(f"{name}: time beyond the median in that tail: {causes}", highlight=False)
        if share["value"] is None:
            console.print(f"  too few requests clear of pauses to say how much of {name} they explain")
            continue
        console.print(f"  {share_words(share)} of {name} goes away with the pauses and their wakes")


def _show_resources(report: Report, console: Console) -> None:
    for name, used in (report.resources or {}).items():
        said = [f"{used.n_samples:,} samples over {used.lasted_s:.1f} s"]
        if used.rss_max_bytes is not None and used.rss_median_bytes is not None:
            said.append(
                f"memory {plain(used.rss_median_bytes / _MIB)} MiB (median), "
                f"{plain(used.rss_max_bytes / _MIB)} MiB (most)"
            )
        if used.cpu_s is not None and used.cores is not None:
            said.append(f"CPU {plain(used.cpu_s)} s, {plain(used.cores)} cores")
        console.print(f"{name}: {'; '.join(said)}", markup=False, highlight=False)
