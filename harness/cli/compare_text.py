# SPDX-License-Identifier: Apache-2.0
"""A comparison for a person: the answer first, then the tables, then what there is to doubt."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.lines import say, table
from harness.compare import words
from harness.compare.other_tools import ToolNumbers
from harness.compare.result import Comparison, Row
from harness.model import Verdict
from harness.model.phrases import counted
from harness.report.limits import Checked

#: Names of requests with a table; all of them stand in the JSON and on the page.
LABELS_SHOWN = 5
_HEADS = words.HEADS[:5]


def print_comparison(
    comparison: Comparison, checked: Sequence[Checked], numbers: Sequence[ToolNumbers]
) -> None:
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
    for number in numbers:
        print()
        say(number.title)
        print(table(number.heads, number.rows, right=range(1, len(number.heads) - 1)))
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
