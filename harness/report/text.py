# SPDX-License-Identifier: Apache-2.0
"""A report as text for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.errors import printable
from harness.model.digits import plain
from harness.model.phrases import counted
from harness.report import words
from harness.report.limits import Checked
from harness.report.numbers import length, percent, percent_between, rate, resolution
from harness.report.result import Report

#: Stalls shown on a page; all of them stand in the JSON.
SHOWN = 10
#: Names of requests shown on a page of text.
LABELS_SHOWN = 20
_MIB = 1024**2


def show(report: Report, limits: Sequence[Checked] = ()) -> None:
    """Print one report, its limits below the summary."""
    console = Console()

    def line(text: str, style: str = "") -> None:
        console.print(printable(text), style=style, markup=False, highlight=False)

    line(words.summary(report), "bold")
    for limit in limits:
        line(f"limit {limit.text}", "" if limit.outcome == "kept" else "bold red")
    about = [
        str(report.path),
        f"{report.source}, resolution {resolution(report.resolution_ms)}",
        words.when(report),
    ]
    line("; ".join(filter(None, about)))
    failed = f", {report.errors:,} of them failed" if report.errors else ""
    correct = (
        f"; {rate(report.correct_per_s)} correct answers/s" if report.errors and report.correct_per_s else ""
    )
    line(f"{counted(report.requests, 'request')}{failed}{correct}")
    if report.loop is not None:
        line(f"{report.loop.words}: {'; '.join(report.loop.evidence)}")
    for unit in report.units:
        line(unit.text, "bold red")
    for warning in words.weighty(report):
        line(f"warning: {warning}", "yellow")
    console.print(_latency_table(report))
    if report.errors_by_kind:
        console.print(_kinds_table(report))
    if report.labels:
        console.print(_labels_table(report))
    _show_stalls(report, console)
    _show_attribution(report, console)
    _show_resources(report, console)
    for note in words.background(report):
        line(f"note: {note}", "dim")
    console.print()


def _latency_table(report: Report) -> Table:
    table = Table(title="latency, ms", title_justify="left", show_edge=False)
    for column in ("", "value", "95 % interval, this trial"):
        table.add_column(column, justify="left" if not column else "right")
    loop = report.loop
    if loop is not None and loop.corrected_ms is not None:
        table.add_column("corrected for coordinated omission", justify="right", max_width=24)
    for row in words.latency_rows(report):
        table.add_row(*row)
    return table


def _kinds_table(report: Report) -> Table:
    shown = list(report.errors_by_kind.items())[:SHOWN]
    more = len(report.errors_by_kind) - len(shown)
    title = "errors by kind" + (f", the first {SHOWN}; {more} more with --json" if more else "")
    table = Table(title=title, title_justify="left", show_edge=False)
    for column in ("requests", "share", "kind"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind, n in shown:
        table.add_row(f"{n:,}", percent(n / max(report.requests, 1)), Text(printable(kind)))
    return table


def _labels_table(report: Report) -> Table:
    shown = report.labels[:LABELS_SHOWN]
    more = len(report.labels) - len(shown)
    title = "by request, latency in ms" + (
        f", the first {len(shown)}; {more} more with --json" if more else ""
    )
    caption = None if report.intervals.get("mean") is None else "intervals: --html or --json"
    table = Table(title=title, title_justify="left", show_edge=False, caption=caption, caption_justify="left")
    for column in ("request", "number", "errors", "1/s", "mean", "p50", "p90", "p99", "max"):
        table.add_column(column, justify="left" if column == "request" else "right", overflow="fold")
    for row in shown:
        table.add_row(Text(printable(row.label or "(no name)")), *words.label_cells(report, row))
    return table


def _show_stalls(report: Report, console: Console) -> None:
    if report.stalls is None:
        return

    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    line("; ".join(filter(None, (words.count_stalls(report), words.shortest_visible(report)))))
    worst = report.listed_stalls[:SHOWN]
    for stall, cause, harm_s in worst:
        at_s = stall.start_s - (report.start_epoch_s or 0.0)
        line(
            f"  {stall.kind.replace('_', ' ')} at {at_s:.3f} s: {length(stall.duration_s * 1e3)}, "
            f"{counted(stall.n_requests, 'request')}"
            + (f", {length(harm_s * 1e3)} taken from requests" if harm_s is not None else "")
            + (f", {cause.replace('_', ' ')}" if cause is not None else "")
        )
    if len(report.stalls) > len(worst):
        line(f"  the most harmful {SHOWN} of {len(report.stalls)}; all of them with --json")
    shorter = words.shorter_stalls(report)
    if shorter is not None:
        line(f"  {shorter}")


def _show_attribution(report: Report, console: Console) -> None:
    if report.attribution is None:
        return
    if "refused" in report.attribution:
        console.print("unexplained: 100 %; pauses could not be aligned with the requests", highlight=False)
        return
    for name in ("p99", "p99.9"):
        part = report.attribution[name]
        share = part["share"]
        causes = ", ".join(
            f"{cause} {percent_between(share['value'])}"
            for cause, share in part["causes"].items()
            if share["value"] is not None
        )
        if causes:
            console.print(
                f"time that the slowest requests ({name} and above) took beyond the median: {causes}",
                highlight=False,
            )
        if share["value"] is None:
            console.print(
                f"  how much of {name} the pauses explain cannot be said: too few requests met none"
            )
            continue
        text = percent_between(share["value"], share["low"], share["high"])
        console.print(f"  without the pauses and the queues behind them {name} would be lower by {text}")


def _show_resources(report: Report, console: Console) -> None:
    for name, used in (report.resources or {}).items():
        notes = [f"{used.n_samples:,} samples over {plain(used.lasted_s)} s"]
        if used.rss_max_bytes is not None and used.rss_median_bytes is not None:
            median, most = plain(used.rss_median_bytes / _MIB), plain(used.rss_max_bytes / _MIB)
            notes.append(f"memory {median} MiB (median), {most} MiB (most)")
        if used.cpu_s is not None and used.cores is not None:
            notes.append(f"CPU {plain(used.cpu_s)} s, {plain(used.cores)} cores")
        console.print(printable(f"{name}: {'; '.join(notes)}"), markup=False, highlight=False)
