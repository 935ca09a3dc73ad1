# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown, for the comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from harness.compare import words
from harness.compare.limits import Checked
from harness.compare.result import Comparison, Row

_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|~"} | {"\n": " ", "\r": " "})


def render_markdown(found: Comparison, checked: Sequence[Checked] = ()) -> str:
    """Return the comparison: its summary, limits and traps, then a table; those of labels are folded."""
    lines = [f"**{escaped(words.summary(found))}**", ""]
    lines += [f"- {escaped(words.limit_words(one))}" for one in checked]
    lines += [f"- trap `{trap.name}`: {escaped(trap.text)}" for trap in found.traps]
    if checked or found.traps:
        lines.append("")
    lines += _table([row for row in found.rows if row.label is None])
    labels = [label for label in found.labels if label is not None]
    if labels:
        lines += ["", "<details><summary>By request</summary>", ""]
        for label in labels:
            lines += [f"**{escaped(words.label_name(label))}**", ""]
            lines += [*_table([row for row in found.rows if row.label == label]), ""]
        lines.append("</details>")
    order = words.order(found)
    lines += ["", *(f"- {escaped(words.arm(found, place))}" for place in (0, 1))]
    lines += [f"- order of the runs: {order}"] if order else []
    lines += [f"- {escaped(warning)}" for warning in found.warnings]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return text that Markdown and its HTML show as it is: names of requests come from files."""
    return text.replace("&", "&amp;").translate(_SPECIAL).replace("@", "@\u200b")


def _table(rows: Sequence[Row]) -> list[str]:
    heads = words.HEADS
    aligned = ["---", "--:", "--:", "--:", "---", "---"]
    return [
        "| " + " | ".join(heads) + " |",
        "|" + "|".join(aligned) + "|",
        *("| " + " | ".join(map(escaped, words.cells(row))) + " |" for row in rows),
    ]
