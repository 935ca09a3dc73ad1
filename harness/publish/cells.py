# SPDX-License-Identifier: Apache-2.0
"""The cells of a table as texts: each column in one unit, and why a cell is empty or a number stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.model import Estimate
from harness.model.formatting import DASH, show

Cell = Estimate | str | int | None
Line = Mapping[str, Cell]


def cell_texts(
    columns: Mapping[str, str], rows: Sequence[Line]
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the heads of columns with their units, the rows, and the reasons to print below them.

    A reason says why a cell is empty, or why a number has no interval.
    """
    heads, like = [], {}
    for name, head in columns.items():
        cells = [cell for row in rows if isinstance(cell := row.get(name), Estimate) and cell.value]
        like[name] = _middle([abs(cell.value) for cell in cells if cell.value])
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
