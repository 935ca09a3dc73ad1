# SPDX-License-Identifier: Apache-2.0
"""A comparison for a person: the answer first, then the tables, then what there is to doubt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from harness.cli.lines import say, table
from harness.cli.options import end_with, limits_as_plain
from harness.compare import words
from harness.compare.comparing import compare_files
from harness.compare.limits import check_limit, limit_named
from harness.compare.result import Comparison, Row
from harness.formats.jtl_units import decimal_named, latency_unit_named
from harness.model import Verdict
from harness.model.phrases import counted
from harness.report.limits import Checked
from harness.report.output import write_page
from harness.report.selection import seconds_named

#: Names of requests with a table; all of them stand in the JSON and on the page.
LABELS_SHOWN = 5
_HEADS = words.HEADS[:5]


def run(
    a: Sequence[str], b: Sequence[str], *, fail_if: Sequence[str], skip: str, accept: Sequence[str],
    latency_unit: str | None, decimal: str | None, as_json: bool, markdown: Path | None, html: Path | None,
) -> None:  # fmt: skip
    """Compare two arms, write what was asked for, and end with the status that a program reads.

    Raises:
        InputError: a file, a limit or an option cannot be used. typer.Exit: a limit is exceeded.
    """
    limits = [limit_named(text) for text in fail_if]
    result = compare_files(
        a,
        b,
        skip_s=seconds_named(skip, "--skip"),
        accept=accept,
        latency_unit=latency_unit_named(latency_unit),
        decimal=decimal_named(decimal),
    )
    checked = [check_limit(limit, result) for limit in limits]
    if html is not None:
        from harness.compare.html import render_html  # matplotlib: a second that no other form needs

        write_page(html, render_html(result, checked), "--html")
    printed = markdown is not None and str(markdown) == "-"
    if printed:
        print(words.render_markdown(result, checked), end="")
    elif markdown is not None:
        write_page(markdown, words.render_markdown(result, checked), "--markdown")
    if as_json:
        plain = result.as_json() | {"limits": limits_as_plain(checked)}
        print(json.dumps(plain, indent=1, allow_nan=False))
    elif not printed:
        print_comparison(result, checked)
    end_with(checked)


def print_comparison(comparison: Comparison, checked: Sequence[Checked]) -> None:
    """Print all of it."""
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
