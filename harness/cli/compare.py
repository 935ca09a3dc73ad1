# SPDX-License-Identifier: Apache-2.0
"""``rematch compare``: the answer first, then the tables, then what there is to doubt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import BETWEEN_ARMS, end_with, limits_as_plain, say, table
from harness.errors import InputError
from harness.formats.jtl_units import how_named
from harness.model import Verdict
from harness.model.formatting import counted
from harness.report.compare import words
from harness.report.compare.comparing import check_limit, compare_files, limit_named
from harness.report.compare.result import Comparison, Row
from harness.report.limits import Checked
from harness.report.output import write_page
from harness.report.selection import seconds_named

#: Names of requests with a table; all of them stand in the JSON and on the page.
LABELS_SHOWN = 5
_HEADS = words.HEADS[:5]


def compare_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="A... -- B...",
            help="runs of both arms. A file is a run; FILE+FILE is one run that several load generators wrote. Of a "
            "folder, each result file is a run, and each folder in it is one run that several generators wrote",
            show_default=False,
        ),
    ],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="limit on a ratio, B over A, such as 'p99 > 1.05', 'throughput < 0.95' or 'p90 of GET /orders > 1.1'; "
            "may be repeated"
        ),
    ] = None,
    skip: Annotated[
        str,
        typer.Option(help="span to leave out at the beginning of each run, such as a ramp: 10s, 500ms, 2m"),
    ] = "0",
    accept: Annotated[
        list[str] | None,
        typer.Option(
            help="trap that does not apply here: it is still listed, but withholds no verdict; may be repeated"
        ),
    ] = None,
    latency_unit: Annotated[
        str | None,
        typer.Option(help="unit of the column `elapsed` of JMeter's files: s, ms, us or ns; default: ms"),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="decimal sign of JMeter's files that a spreadsheet has written: . or ,"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(help="also write a Markdown page to this file, for a pull request; -: print it only"),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="also write a self-contained page to this file")] = None,
) -> None:
    """Compare two arms of load-test runs, B over A: ratio, interval and verdict for each metric.

    The run is the unit: verdicts need 5 or more runs of each arm. With one run each, differences are shown without a
    verdict.

    Exit status 1: a limit of --fail-if is exceeded, that is, the whole 95 % interval lies beyond it. Exit status 2:
    a limit cannot be judged, or a file cannot be read.

    \b
    Examples:
        rematch compare before/*.jtl -- after/*.jtl
        rematch compare before -- after --html page.html
        rematch compare before -- after --fail-if "p99 > 1.05" --markdown comment.md
        rematch compare a/gen1.csv+a/gen2.csv -- b/gen1.csv+b/gen2.csv --json
        rematch compare monday -- tuesday --accept order_confounded
    """
    if (n := paths.count(BETWEEN_ARMS)) != 1:
        raise InputError(
            "two arms are compared", found=f"{n} x --", allowed="A... -- B..., with one -- between them"
        )
    place = paths.index(BETWEEN_ARMS)
    limits = [limit_named(text) for text in fail_if or ()]
    result = compare_files(
        paths[:place],
        paths[place + 1 :],
        skip_s=seconds_named(skip, "--skip"),
        accept=accept or (),
        how=how_named(latency_unit, decimal),
    )
    checked = [check_limit(limit, result) for limit in limits]
    if html is not None:
        write_page(html, _page(result, checked), "--html")
    printed = markdown is not None and str(markdown) == "-"
    if printed:
        print(words.render_markdown(result, checked), end="")
    elif markdown is not None:
        write_page(markdown, words.render_markdown(result, checked), "--markdown")
    if as_json:
        plain = result.as_json() | {"limits": limits_as_plain(checked)}
        print(json.dumps(plain, indent=1, allow_nan=False))
    elif not printed:
        _print(result, checked)
    end_with(checked)


def _page(comparison: Comparison, checked: Sequence[Checked]) -> str:
    """A page that loads nothing from anywhere."""
    from harness.report.html import render_page  # matplotlib: a second that no other form needs

    return render_page(
        words.PAGE,
        verdict=words.verdict(comparison),
        summary=words.summary(comparison),
        traps=comparison.traps,
        limits=[words.limit_words(item) for item in checked],
        about=[
            *(words.arm(comparison, place) for place in (0, 1)),
            f"order of the runs: {words.order(comparison) or 'unknown'}",
        ],
        tables=words.tables(comparison),
        warnings=comparison.warnings,
    )


def _print(comparison: Comparison, checked: Sequence[Checked]) -> None:
    say(words.summary(comparison))
    for limit in checked:
        say(words.limit_words(limit))
    for trap in comparison.traps:
        say(f"trap {trap.name}: {trap.text}", hang="  ")
    print()
    for place in (0, 1):
        say(words.arm(comparison, place), hang="  ")
    say(f"order: {words.order(comparison) or 'unknown'}", hang="  ")
    labels = comparison.labels[: 1 + LABELS_SHOWN]
    for label in labels:
        print()
        say(f"{words.label_name(label)}: throughput in correct answers/s, times in ms")
        print(table(_HEADS, [_cells(row) for row in comparison.rows if row.label == label], right=(1, 2, 3)))
    more = len(comparison.labels) - len(labels)
    if more:
        print(f"\n{counted(more, 'name')} more with --html or --json")
    if comparison.warnings:
        print()
    for warning in comparison.warnings:
        say(f"warning: {warning}", hang="  ")


def _cells(row: Row) -> tuple[str, ...]:
    """Without a verdict the reason stands in its place; with one that decides nothing, beside it."""
    *cells, verdict, why = words.cells(row, units=False)
    if row.verdict is None:
        verdict = why
    elif row.verdict is Verdict.INCONCLUSIVE:
        verdict = f"{verdict}: {why}"
    return (*cells, verdict)
