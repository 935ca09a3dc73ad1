# SPDX-License-Identifier: Apache-2.0
"""A comparison for a person: the answer first, then the tables, then what there is to doubt."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.lines import say, table
from harness.compare import words
from harness.compare.limits import Checked
from harness.compare.other_tools import ToolNumbers
from harness.compare.result import Comparison, Row
from harness.model import Verdict
from harness.model.phrases import counted

#: Names of requests with a table; all of them stand in the JSON and on the page.
LABELS_SHOWN = 5
_HEADS = words.HEADS[:5]


def print_comparison(found: Comparison, checked: Sequence[Checked], numbers: Sequence[ToolNumbers]) -> None:
    """Print all of it."""
    say(words.summary(found))
    for limit in checked:
        say(words.limit_words(limit))
    for trap in found.traps:
        say(f"trap {trap.name}: {trap.text}", hang="  ")
    print()
    for place in (0, 1):
        say(words.arm(found, place), hang="  ")
    say(f"order: {words.order(found) or 'unknown'}", hang="  ")
    labels = found.labels[: 1 + LABELS_SHOWN]
    for label in labels:
        print()
        say(f"{words.label_name(label)}: throughput in correct answers/s, times in ms")
        print(table(_HEADS, [_cells(row) for row in found.rows if row.label == label], right=(1, 2, 3)))
    more = len(found.labels) - len(labels)
    if more:
        print(f"\n{counted(more, 'name')} more with --html or --json")
    for one in numbers:
        print()
        say(one.title)
        print(table(one.heads, one.rows, right=range(1, len(one.heads) - 1)))
    if found.warnings:
        print()
    for warning in found.warnings:
        say(f"warning: {warning}", hang="  ")


def _cells(row: Row) -> tuple[str, ...]:
    """Without a verdict the reason stands in its place; with one that decides nothing, beside it."""
    *cells, verdict, why = words.cells(row, units=False)
    if row.verdict is None:
        verdict = why
    elif row.verdict is Verdict.INCONCLUSIVE:
        verdict = f"{verdict}: {why}"
    return (*cells, verdict)
