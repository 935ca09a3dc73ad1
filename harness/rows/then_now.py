# SPDX-License-Identifier: Apache-2.0
"""Effects of a factorial experiment as contrasts of logarithms within blocks, and what became of a claim since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Literal

import numpy as np
import pandas as pd

from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.pairing import counting, inputs_of
from harness.errors import InputError
from harness.rows.results import of_estimate
from harness.rows.schema import tidy

#: Column of the trials -> its value, for each column that tells a cell from the others.
Cell = Mapping[str, str]
#: Whether a number fulfils a claim; ``open``: its interval holds the limit, or it was not measured.
Answer = Literal["holds", "fails", "open"]
_BLOCK = ["session_id", "block"]


def contrast(
    trials: pd.DataFrame,
    metric: str,
    name: str,
    plus: Sequence[Cell],
    minus: Sequence[Cell],
    *,
    level: float = 0.95,
    **about: Any,
) -> pd.DataFrame:
    """Return the product of the cells of ``plus`` over that of ``minus`` as one row: an effect, or an interaction.

    With one cell on each side it is a ratio; with two it says by how much a ratio differs from another, and so on.
    The interval is Student's over blocks, of the contrast of logarithms within each block, in which every cell has a
    trial with a value; so what a block has in common drops out.

    Args:
        name: of the result, whose kind is ``fit``. level: of the interval. about: further columns, such as a label.

    Raises:
        InputError: unequal numbers of cells, or a cell with several trials in one block.
    """
    if len(plus) != len(minus) or not plus:
        raise InputError(
            "a contrast has as many cells on either side", place=name, found=f"{len(plus)} and {len(minus)}"
        )
    counted = counting(trials).dropna(subset=[metric])
    members = [_of_cell(counted, cell, name) for cell in (*plus, *minus)]
    blocks = reduce(pd.Index.intersection, [member.index for member in members])
    row = {"name": name, "kind": "fit", "metric": metric, "n_blocks": len(blocks), **about}
    if blocks.empty:
        return tidy([row | {"unit": "ratio", "why": "no block has a trial of every cell"}])
    sides = [
        np.exp(sum(np.log(member.loc[blocks, metric].to_numpy(dtype=np.float64)) for member in side))
        for side in (members[: len(plus)], members[len(plus) :])
    ]
    used = pd.concat([member.loc[blocks].reset_index() for member in members])
    estimate = effect_size_ci(*sides, paired=True, level=level, inputs=tuple(dict.fromkeys(inputs_of(used))))
    words = " x ".join(_words(cell) for cell in plus) + " over " + " x ".join(_words(cell) for cell in minus)
    return tidy([row | of_estimate(estimate) | {"estimand": f"contrast of log {metric}: {words}"}])


def answer(low: float, high: float, *, above: float | None = None, below: float | None = None) -> Answer:
    """Return whether an interval lies wholly on the side of a limit that a claim says.

    Args:
        low, high: its ends; NaN: not measured. above, below: the limit; one of them.
    """
    limit = above if above is not None else below
    if limit is None or np.isnan(low) or np.isnan(high) or low <= limit <= high:
        return "open"
    return "holds" if (low > limit) == (above is not None) else "fails"


def fate(by_article: Answer, by_ours: Answer, today: Answer) -> str:
    """Return what became of a claim, in words.

    Args:
        by_article: with the programs of its time, by its own method. by_ours: with them, by ours.
        today: with today's programs, by ours.
    """
    if by_article == "fails":
        return "wrong then"
    if "open" in (by_article, by_ours):
        return "open"
    if by_ours == "fails":
        return "artefact of the method"
    return {"holds": "holds then and now", "fails": "outdated", "open": "held then, open today"}[today]


def _of_cell(counted: pd.DataFrame, cell: Cell, name: str) -> pd.DataFrame:
    """Return the trials of a cell by their block."""
    for column, value in cell.items():
        counted = counted[counted[column] == value]
    indexed = counted.set_index(_BLOCK)
    if indexed.index.has_duplicates:
        raise InputError("a cell has several trials in one block", place=name, found=_words(cell))
    return indexed


def _words(cell: Cell) -> str:
    return ",".join(cell.values())
