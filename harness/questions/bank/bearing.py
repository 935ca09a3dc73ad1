# SPDX-License-Identifier: Apache-2.0
"""How much of a load was borne, by the levels of one factor: every trial a dot, the overloaded ones too."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.errors import InputError
from harness.figures.style import FAINT, INK, PAGE_INCHES, canvas, legend, styled
from harness.figures.variant_style import Look, looks, ordered

#: How far apart the variants of one level lie, and how far the blocks of one variant spread.
APART, SPREAD = 0.36, 0.22


@styled
def borne(table: pd.DataFrame, *, factor: str) -> Figure:
    """Return the time to the last answer, and the share of what was asked for that was answered rightly.

    One row a level of the factor, in the order of the table, and within it one line of dots a variant, blocks from
    top to bottom. A cross lies on the dot of a trial that was overloaded.

    Raises:
        InputError: no trial has either.
    """
    told = table[~table["duplicate"].astype(bool)].dropna(subset=["measurement_s", "right_share"])
    if told.empty:
        raise InputError("no trial says what was answered", found="0 trials", allowed="at least one")
    levels, names, styles = list(dict.fromkeys(told[factor].astype(str))), ordered(told), looks(table)
    figure, panels = canvas(1, 2, width=PAGE_INCHES, height=0.7 + 0.36 * len(levels), sharey=True)
    for axes, column, times in ((panels[0, 0], "measurement_s", 1), (panels[0, 1], "right_share", 100)):
        for row, level in enumerate(levels):
            for place, name in enumerate(names):
                mine = told[(told[factor].astype(str) == level) & (told["variant"] == name)]
                middle = row + (place - (len(names) - 1) / 2) * APART
                _dots(axes, mine.assign(value=mine[column] * times), middle, styles[name])
        for row in range(1, len(levels)):
            axes.axhline(row - 0.5, color=FAINT, linewidth=0.4)
        axes.grid(axis="y", visible=False)
    left, right = panels[0]
    left.set_yticks(range(len(levels)), levels)
    left.set_ylim(len(levels) - 0.5, -0.5)
    left.set_xlim(0, max(1.0, float(told["measurement_s"].max()) * 1.05))
    right.set_xlim(-2, 102)
    left.set_xlabel("time to the last answer / s")
    right.set_xlabel("of what was asked for, answered rightly / % (cross: overloaded)")
    legend(right, names, styles, lines=False)
    return figure


def _dots(axes: Axes, mine: pd.DataFrame, middle: float, look: Look) -> None:
    if mine.empty:
        return
    rank = mine["block"].rank(method="dense").to_numpy(dtype=np.float64)
    y = middle + (rank - rank.mean()) / max(len(rank), 2) * SPREAD  # later blocks lower: no random jitter
    axes.plot(mine["value"], y, **look.dots)
    over = (mine["outcome"] == "overloaded").to_numpy()
    axes.plot(mine["value"][over], y[over], "x", color=INK, markersize=5, markeredgewidth=0.8)
