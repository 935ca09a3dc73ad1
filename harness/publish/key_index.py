# SPDX-License-Identifier: Apache-2.0
"""Which notebook published which keys: a table of the paper, made from what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.publish.contribution import KINDS, Contribution
from harness.publish.latex import render_table

#: The key of the table, and its file below ``paper/generated``.
KEY, FILE = "paper.keys", "tables/paper-keys.tex"
_CAPTION = (
    "Where every number comes from: the notebooks of this paper, the first words of the keys that each published, and "
    "how many numbers and words, tables and figures."
)


def index_rows(contributions: Sequence[Contribution]) -> list[list[str]]:
    """Return a row a notebook, by its name: first words of its keys, and how many of each kind it published."""
    rows = []
    for one in sorted(contributions, key=lambda each: str(each["notebook"])):
        first = dict.fromkeys(key.split(".")[0] for kind in KINDS for key in sorted(one[kind]))
        counts = [str(len(one[kind])) for kind in KINDS]
        if first:
            rows.append([str(one["notebook"]), ", ".join(sorted(first)), *counts])
    return rows


def index_table(contributions: Sequence[Contribution], *, notebook: str) -> tuple[str, Mapping[str, object]]:
    """Return the table as LaTeX, and its entry among the published tables.

    Args:
        contributions: what each notebook published. notebook: who publishes the table.
    """
    header = ["notebook", "keys begin with", "values", "tables", "fig."]
    rows = index_rows(contributions)
    text = render_table(
        notebook=notebook,
        key=KEY,
        header=header,
        rows=rows,
        caption=_CAPTION,
        notes=(),
        wide=False,
        numeric=[False, False, True, True, True],
        widths=[None, 0.4, None, None, None],
    )
    entry = {
        "caption": _CAPTION,
        "columns": ["notebook", "keys", *KINDS],
        "header": header,
        "rows": rows,
        "notes": [],
        "files": [FILE],
        "inputs": [],
        "estimates": [],
    }
    return text, entry
