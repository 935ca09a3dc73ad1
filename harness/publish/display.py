# SPDX-License-Identifier: Apache-2.0
"""What a publishing call shows of itself in a notebook: a text, or a table or figure as a page."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence

import pandas as pd

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
        return _paragraphs(self.text.splitlines()) if self._page is None else self._page


def joined_pages(parts: Sequence[Published]) -> Published:
    """Return several published things as one, to be shown below each other."""
    return Published("\n\n".join(map(repr, parts)), page="".join(part._repr_html_() for part in parts))


def shown_table(
    heads: Sequence[str], body: Sequence[Sequence[str]], caption: str, notes: Sequence[str]
) -> Published:
    """Return a table with caption and notes, its rows beyond ``MOST_ROWS`` folded."""
    frame = pd.DataFrame(body, columns=list(heads))
    first, rest = map(html_table, (frame[:MOST_ROWS], frame[MOST_ROWS:]))
    page = _paragraphs([caption] if caption else []) + first
    if len(frame) > MOST_ROWS:
        more = f"{len(frame) - MOST_ROWS} more of {len(frame)} rows"
        page += f"<details><summary>{more}</summary>{rest}</details>"
    text = "\n".join(" | ".join(row) for row in [heads, *body])
    return Published(text, page=page + _paragraphs(notes))


def html_table(frame: pd.DataFrame) -> str:
    """Return a frame of texts as a table, no text cut off."""
    with pd.option_context("display.max_colwidth", None):
        return str(frame.to_html(index=False, border=0))


def figure_page(png: bytes, alt: str, caption: str, inches: float) -> str:
    """Return a figure with its caption, as wide as in the paper at 150 pixels an inch."""
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<figure style="margin:0"><img style="width:{inches * 150:.0f}px;max-width:100%" alt="{html.escape(alt)}" '
        f'src="data:image/png;base64,{data}"><figcaption>{html.escape(caption)}</figcaption></figure>'
    )


def _paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)
