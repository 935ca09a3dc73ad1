# SPDX-License-Identifier: Apache-2.0
"""Methods that tell more in the same minutes, each in its simulation: what it has to keep, and its control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from matplotlib.figure import Figure

from harness.errors import NothingToDraw
from harness.figures.style import BAND, INK, PAGE_INCHES, canvas, styled
from harness.publish.results import Tree, as_is
from harness.verify.simulated import VERIFICATIONS, run_verify
from harness.verify.simulated.result import Cell, VerifyResult

#: Row of ``verify`` -> by which part of its full number of simulations it is drawn here.
PARTS: Mapping[str, int] = {
    "duet": 20, "agreement": 4, "capacity": 20,
}  # fmt: skip
#: Signs of a line's name.
_LONGEST = 60
_HOLDS, _MISSES, _CONTROL = "#0072B2", "#D55E00", "#777777"


def verified_methods(seed: int = 1) -> tuple[VerifyResult, ...]:
    """Return each row of ``PARTS``, with fewer simulations than in ``docs/verify.md``."""
    return tuple(
        run_verify(name, VERIFICATIONS[name].sims // part, seed, rounds=1) for name, part in PARTS.items()
    )


def method_results(found: Sequence[VerifyResult]) -> Tree:
    """Return how many cells there are over all rows, how many keep their limits, and of the controls the same."""
    cells = [cell for one in found for cell in one.cells if cell.barred]
    what = "of simulations of the methods that tell more in the same minutes"
    return {
        name: {
            "cells": as_is(len(mine), "1", f"{name} {what}"),
            "kept": as_is(sum(not cell.refuted for cell in mine), "1", f"{name} {what} that are not refuted"),
        }
        for name, mine in (
            ("limits", [cell for cell in cells if not cell.control]),
            ("controls", [cell for cell in cells if cell.control]),
        )
    }


@styled
def method_cells(found: Sequence[VerifyResult]) -> Figure:
    """Return every cell of some rows as a dot, one line a kind of cell, beside the limits that it has to keep.

    Grey: where a cell may lie. Hollow: controls. Crosses: cells that miss a limit by more than the simulations leave
    open.

    Raises:
        NothingToDraw: no row has a cell with a limit.
    """
    lines = [(one.name, *line) for one in found for line in _lines(one)]
    if not lines:
        raise NothingToDraw("no cell to draw", found="0", allowed="at least one")
    figure, panels = canvas(width=PAGE_INCHES, height=0.7 + 0.15 * len(lines))
    axes = panels[0, 0]
    right = 1.15
    for y, (_, _, cells) in enumerate(reversed(lines)):
        low = max((cell.at_least or 0.0) for cell in cells)
        high = min((right if cell.at_most is None else cell.at_most) for cell in cells)
        axes.plot([low, high], [y, y], color=BAND, linewidth=6, solid_capstyle="butt", zorder=0)
        for cell in cells:
            colour = _MISSES if cell.refuted else _CONTROL if cell.control else _HOLDS
            axes.plot(
                [cell.value], [y], "X" if cell.refuted else "o", color=colour, markersize=3.5,
                markerfacecolor="white" if cell.control else colour,
            )  # fmt: skip
    names = [f"{row}: {words}{' (control)' if cells[0].control else ''}" for row, words, cells in lines]
    axes.set_yticks(range(len(lines)), names[::-1])
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.set_xlim(-0.02, right)
    last = 0
    for _, mine in groupby(lines, key=lambda line: line[0]):
        last += len(list(mine))
        axes.axhline(len(lines) - last - 0.5, color=INK, linewidth=0.3)
    axes.set_xlabel("share of simulated experiments, or ratio")
    return figure


def _lines(one: VerifyResult) -> list[tuple[str, list[Cell]]]:
    """Return cells of one kind together: those whose names agree up to the first comma, and whose limits agree.

    A kind has the words that the names of its cells share.
    """
    kinds: dict[tuple[object, ...], list[Cell]] = {}
    for cell in one.cells:
        if cell.barred:
            key = (cell.name.split(",")[0], cell.at_least, cell.at_most, cell.control)
            kinds.setdefault(key, []).append(cell)
    return [(_shared([cell.name for cell in cells]), cells) for cells in kinds.values()]


def _shared(names: Sequence[str]) -> str:
    """Return the parts between commas that are the same in each name, from the first on; of a long one the first."""
    parts = zip(*(name.split(", ") for name in names), strict=False)
    words = ", ".join(same[0] for same in parts if len(set(same)) == 1)
    return words if len(words) <= _LONGEST else words.split(", ")[0]
