# SPDX-License-Identifier: Apache-2.0
"""What a publishing call shows of itself in a notebook: a text, or a table or figure as a page."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence

#: A table in a notebook shows so many rows unasked.
MOST_ROWS = 12


class Published:
    """What a publishing call returns: shows itself in a notebook, text and picture alike.

    Args:
        text: what it says, for readers without HTML. page: the same as HTML; ``None``: the text.
    """

    def __init__(self, text: str = "", *, page: str | None = None) -> None:
        self.text = text
        self._page = page

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        if self._page is not None:
            return self._page
        return "".join(f"<p>{html.escape(line)}</p>" for line in self.text.splitlines())


def joined_pages(parts: Sequence[Published]) -> Published:
    """Return several published things as one, to be shown below each other."""
    return Published("\n\n".join(map(repr, parts)), page="".join(part._repr_html_() for part in parts))


def plain_table(heads: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of text."""
    return "\n".join(" | ".join(row) for row in [heads, *body])


def table_page(
    heads: Sequence[str],
    body: Sequence[Sequence[str]],
    caption: str,
    notes: Sequence[str],
    numeric: Sequence[bool],
) -> str:
    """Return a table with caption and notes, its rows beyond ``MOST_ROWS`` folded; ``numeric`` columns flush right."""

    def line(row: Sequence[str], tag: str) -> str:
        cells = (
            f'<{tag} style="text-align:{"right" if right else "left"}">{html.escape(cell)}</{tag}>'
            for cell, right in zip(row, numeric, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    rows = [line(row, "td") for row in body]
    head = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    below = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in notes)
    first, rest = rows[:MOST_ROWS], rows[MOST_ROWS:]
    if rest:
        more = f"<table>{line(heads, 'th')}{''.join(rest)}</table>"
        below = f"<details><summary>{len(rest)} more of {len(rows)} rows</summary>{more}</details>{below}"
    return f"<table>{head}{line(heads, 'th')}{''.join(first)}</table>{below}"


def figure_page(png: bytes, alt: str, caption: str, inches: float) -> str:
    """Return a figure with its caption, as wide as in the paper at 150 pixels an inch."""
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<figure style="margin:0"><img style="width:{inches * 150:.0f}px;max-width:100%" alt="{html.escape(alt)}" '
        f'src="data:image/png;base64,{data}"><figcaption>{html.escape(caption)}</figcaption></figure>'
    )
