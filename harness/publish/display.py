# SPDX-License-Identifier: Apache-2.0
"""The cells of a table as texts, and what a publishing call shows of itself in a notebook."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence

import pandas as pd

from harness.model import Estimate
from harness.model.formatting import DASH, show

Cell = Estimate | str | int | None
Line = Mapping[str, Cell]
#: A table in a notebook shows so many rows unasked.
MOST_ROWS = 12


class Published:
    """What a publishing call returns: shows itself in a notebook, as ``page``, HTML, or else as its text."""

    def __init__(self, text: str = "", *, page: str | None = None) -> None:
        self.text = text
        self._page = page

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _paragraphs(self.text.splitlines()) if self._page is None else self._page


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


def cell_texts(
    columns: Mapping[str, str], rows: Sequence[Line]
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the heads of columns with their units, the rows, and the reasons to print below them.

    A reason says why a cell is empty, or why a number has no interval. The unit of a column is the one in which its
    middle value reads best: one small value must not make microseconds of seconds.
    """
    heads: list[str] = []
    like: dict[str, float | None] = {}
    for name, head in columns.items():
        cells = [cell for row in rows if isinstance(cell := row.get(name), Estimate) and cell.value]
        sizes = sorted(abs(cell.value) for cell in cells if cell.value)
        like[name] = sizes[(len(sizes) - 1) // 2] if sizes else None
        unit = show(cells[0], like=like[name]).unit if cells else ""
        heads.append(f"{head} ({unit})" if unit else head)
    reasons: dict[str, None] = {}
    body = []
    for row in rows:
        texts = []
        for name in columns:
            cell = row.get(name)
            if isinstance(cell, Estimate):
                shown = show(cell, like=like[name])
                texts.append(shown.bare)
                if shown.reason:
                    reasons[f"{DASH}: {shown.reason}."] = None
                elif cell.low is None and cell.high is None:
                    whys = [warning for warning in cell.warnings if "no interval" in warning]
                    reasons |= {f"A number alone: {why}.": None for why in whys if cell.value is not None}
            else:
                texts.append(DASH if cell is None else f"{cell:,}" if isinstance(cell, int) else cell)
        body.append(texts)
    return heads, body, list(reasons)


def inputs_of(rows: Sequence[Line]) -> list[str]:
    """Return the trials behind all estimates of a table, sorted."""
    cells = [cell for row in rows for cell in row.values()]
    return sorted({key for cell in cells if isinstance(cell, Estimate) for key in cell.inputs})


def estimates_of(rows: Sequence[Line], columns: Mapping[str, str]) -> list[dict[str, object]]:
    """Return each printed estimate with a value: its ``row`` and ``column``, and the places of its trials (``inputs``)
    in ``inputs_of``."""
    place = {key: index for index, key in enumerate(inputs_of(rows))}
    return [
        {"row": number, "column": name, "inputs": [place[key] for key in cell.inputs]}
        for number, row in enumerate(rows)
        for name in columns
        if isinstance(cell := row.get(name), Estimate) and cell.value is not None
    ]
