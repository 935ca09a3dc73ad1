# SPDX-License-Identifier: Apache-2.0
"""A duel as Markdown, for the comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.results_text import HEADS, cells
from harness.compare.limits import Checked
from harness.compare.markdown import escaped
from harness.compare.words import limit_words
from harness.duel import Agreement, Side
from harness.evidence.results import Results


def render_markdown(
    both: tuple[Side, Side], agreed: Agreement, found: Results | None, checked: Sequence[Checked]
) -> str:
    """Return what both versions are, where their answers differ, limits, and a table of all metrics."""
    before, after = both
    lines = [f"**{escaped(after.label)} against {escaped(before.label)}**", ""]
    lines += [
        f"- `{side.label}`: {escaped(', '.join(filter(None, (side.what, side.remark))))}" for side in both
    ]
    n_alike = agreed.n_cases - len(agreed.cases)
    lines.append(f"- answers: {n_alike} of {agreed.n_cases} cases as recorded")
    for label, faults in agreed.differences.items():
        lines += [f"- {escaped(label)}: {escaped(case)}: {escaped(text)}" for case, text in faults.items()]
    lines += [f"- {escaped(limit_words(one))}" for one in checked]
    if found is None:
        return "\n".join([*lines, "- not measured"]) + "\n"
    lines += ["", "| metric | " + " | ".join(HEADS) + " |", "|---|---|--:|--:|---|---|"]
    for one in found.metrics:
        for cell in one.cells:
            for row in cells(cell, one.metric, conclusive=found.conclusive):
                name = f"{one.metric.words}, {one.metric.better} is better"
                lines.append("| " + " | ".join(map(escaped, (name, *row))) + " |")
    kept = f"{found.n_kept} of {found.n_made} trials in {found.n_blocks} blocks"
    return "\n".join([*lines, "", f"- session {escaped(found.session)}: {kept}"]) + "\n"
