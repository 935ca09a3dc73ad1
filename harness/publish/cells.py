# SPDX-License-Identifier: Apache-2.0
"""The cells of a table as texts: each column in one unit, and why a cell is empty or a number stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from harness.model import Estimate
from harness.model.formatting import DASH, show

Cell = Estimate | str | int | None


def gapped(rows: Sequence[Mapping[str, Cell]], *by: str) -> list[Mapping[str, Cell] | None]:
    """Return the rows with a gap (``None``) wherever one of the cells ``by`` changes."""
    found: list[Mapping[str, Cell] | None] = [*rows[:1]]
    for before, row in pairwise(rows):
        found += [None, row] if any(row[name] != before[name] for name in by) else [row]
    return found


def cell_texts(
    columns: Mapping[str, str], rows: Sequence[Mapping[str, Cell] | None]
) -> tuple[list[str], list[list[str] | None], list[str]]:
    """Return the heads of columns with their units, the rows, and the reasons to print below them.

    A reason says why a cell is empty, or why a number has no interval. A gap among the rows stays ``None``.
    """
    heads, like = [], {}
    for name, head in columns.items():
        found = [row[name] for row in rows if row is not None and isinstance(row.get(name), Estimate)]
        sizes = [cell.value for cell in found if isinstance(cell, Estimate) and cell.value is not None]
        like[name] = _middle([abs(size) for size in sizes if size])
        unit = next((show(c, like=like[name]).unit for c in found if isinstance(c, Estimate) and c.value), "")
        heads.append(f"{head} ({unit})" if unit else head)
    reasons: dict[str, None] = {}
    body: list[list[str] | None] = []
    for row in rows:
        if row is None:
            body.append(None)
            continue
        texts = []
        for name in columns:
            cell = row.get(name)
            if isinstance(cell, Estimate):
                shown = show(cell, like=like[name])
                texts.append(shown.bare)
                if shown.reason:
                    reasons[f"{DASH}: {shown.reason}."] = None
                reasons |= {f"A number alone: {why}.": None for why in _alone(cell)}
            else:
                texts.append(DASH if cell is None else f"{cell:,}" if isinstance(cell, int) else cell)
        body.append(texts)
    return heads, body, list(reasons)


def _alone(cell: Estimate) -> list[str]:
    """Say why a number that should have an interval has none."""
    if cell.value is None or cell.low is not None or cell.high is not None:
        return []
    return [warning for warning in cell.warnings if "no interval" in warning]


def _middle(sizes: Sequence[float]) -> float | None:
    """The magnitude in whose unit a column reads best: one small value must not make microseconds of seconds."""
    return sorted(sizes)[(len(sizes) - 1) // 2] if sizes else None


def inputs_of(rows: Sequence[Mapping[str, Cell] | None]) -> list[str]:
    """Return the trials behind all estimates of a table, sorted."""
    cells = [cell for row in rows if row is not None for cell in row.values()]
    return sorted({key for cell in cells if isinstance(cell, Estimate) for key in cell.inputs})


def estimates_of(
    rows: Sequence[Mapping[str, Cell] | None], columns: Mapping[str, str]
) -> list[dict[str, object]]:
    """Return what each printed estimate with a value is of: its row and column, ``value``, ``estimand``, and the
    places of its trials in ``inputs_of``."""
    place = {key: index for index, key in enumerate(inputs_of(rows))}
    return [
        {
            "row": number,
            "column": name,
            "value": cell.value,
            "estimand": cell.estimand,
            "inputs": [place[key] for key in cell.inputs],
        }
        for number, row in enumerate(rows)
        for name in columns
        if row is not None and isinstance(cell := row.get(name), Estimate) and cell.value is not None
    ]
