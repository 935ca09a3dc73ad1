# SPDX-License-Identifier: Apache-2.0
"""A report as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from harness.errors import printable
from harness.formats.rows import RequestStream
from harness.formats.table import Rows
from harness.model.digits import plain
from harness.model.formatting import counted
from harness.report import words
from harness.report.limits import Checked
from harness.report.result import Report

#: Stalls shown on a page; all of them stand in the JSON.
SHOWN = 10
#: Names of requests shown on a page of text.
LABELS_SHOWN = 20


def show(report: Report, limits: Sequence[Checked] = ()) -> None:
    """Print one report, its limits below the summary."""
    console = Console()
    for part, style in _parts(report, limits):
        if isinstance(part, str):
            console.print(printable(part), style=style, markup=False, highlight=False)
        elif part.rows:
            _print_table(console, part)
    console.print()


def _parts(report: Report, limits: Sequence[Checked]) -> Iterator[tuple[str | words.Table, str]]:
    """Lines and tables with their style."""
    yield words.summary(report), "bold"
    for limit in limits:
        yield f"limit {limit.text}", "" if limit.outcome == "kept" else "bold red"
    about = (
        str(report.path),
        f"{report.source}, resolution {words.resolution(report.resolution_ms)}",
        words.when(report),
    )
    yield "; ".join(filter(None, about)), ""
    failed = f", {report.errors:,} of them failed" if report.errors else ""
    if report.errors and report.correct_per_s:
        failed += f"; {plain(report.correct_per_s)} correct answers/s"
    yield f"{counted(report.requests, 'request')}{failed}", ""
    if report.loop is not None:
        yield f"{report.loop.words}: {'; '.join(report.loop.evidence)}", ""
    yield from ((unit.text, "bold red") for unit in report.units)
    yield from ((f"warning: {warning}", "yellow") for warning in words.weighty(report))
    yield words.latency_table(report), ""
    yield words.kinds_table(report, SHOWN), ""
    yield words.labels_table(report, LABELS_SHOWN), ""
    if report.stalls is not None:
        counts = (words.count_stalls(report), words.shortest_visible(report))
        yield "; ".join(filter(None, counts)), ""
        yield words.stalls_table(report, SHOWN), ""
        yield from ((line, "") for line in filter(None, [words.shorter_stalls(report)]))
    yield words.causes_table(report), ""
    yield from ((f"note: {note}", "dim") for note in words.background(report))


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


def with_progress(opened: RequestStream) -> RequestStream:
    """Return the same stream with a bar on stderr: how much of the file was read, and how long the rest takes."""

    def parts() -> Iterator[Rows]:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(escape(printable(opened.path.name)), total=opened.path.stat().st_size)
            for part in opened.parts:
                progress.update(task, completed=opened.notes.n_bytes)
                yield part

    return replace(opened, parts=parts())
