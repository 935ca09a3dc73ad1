# SPDX-License-Identifier: Apache-2.0
"""A report as text for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.errors import printable
from harness.model.phrases import counted
from harness.report import words
from harness.report.limits import Checked
from harness.report.numbers import length, percent_between, rate, resolution
from harness.report.result import Report

#: Stalls shown on a page; all of them stand in the JSON.
SHOWN = 10
#: Names of requests shown on a page of text.
LABELS_SHOWN = 20


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
    tables = (
        words.latency_table(report),
        words.kinds_table(report, SHOWN),
        words.labels_table(report, LABELS_SHOWN),
    )
    for table in tables:
        if table.rows:
            _print_table(console, table)
    _show_stalls(report, console)
    _show_attribution(report, console)
    for note in words.background(report):
        line(f"note: {note}", "dim")
    console.print()


def _print_table(console: Console, table: words.Table) -> None:
    shown = Table(
        title=table.title,
        title_justify="left",
        show_edge=False,
        caption=table.note or None,
        caption_justify="left",
    )
    for place, head in enumerate(table.heads):
        shown.add_column(
            head,
            justify="left" if place in table.texts else "right",
            max_width=24 if head == words.CORRECTED else None,
            overflow="fold",
        )
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    console.print(shown)


def _show_stalls(report: Report, console: Console) -> None:
    if report.stalls is None:
        return

    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    line("; ".join(filter(None, (words.count_stalls(report), words.shortest_visible(report)))))
    worst = report.stalls[:SHOWN]
    for stall in worst:
        at_s = stall.start_s - (report.start_epoch_s or 0.0)
        line(
            f"  {stall.kind.replace('_', ' ')} at {at_s:.3f} s: {length(stall.duration_s * 1e3)}, "
            f"{counted(stall.n_requests, 'request')}, {length(stall.harm_s * 1e3)} taken from requests"
            + (f", {stall.cause.replace('_', ' ')}" if stall.cause is not None else "")
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
