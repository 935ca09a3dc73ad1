# SPDX-License-Identifier: Apache-2.0
"""Figures of a notebook: axes in the paper's style for seaborn and matplotlib, and the intervals of rows."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.figures.style import COLUMN_INCHES, INK, canvas, settings
from harness.model.formatting import show
from harness.rows.schema import records
from harness.rows.text import estimate_of


def page(
    rows: int = 1, columns: int = 1, *, width: float = COLUMN_INCHES, height: float = 2.4, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure and its axes, one or an array of shape (rows, columns), in the style of the paper.

    Args:
        width, height: in inches; a column of the paper is 3.5 wide, a page 7.16. options: as of ``Figure.subplots``.
    """
    mpl.rcParams.update(settings())
    figure, axes = canvas(rows, columns, width=width, height=height, **options)
    return figure, axes[0, 0] if rows == columns == 1 else axes


def intervals(axes: Axes, rows: pd.DataFrame, *, factor: float = 1.0) -> None:
    """Draw value and interval of each row on the line of its label, and its number right of the axes.

    Args:
        factor: from the unit of the rows to that of the axis.
    """
    for row in records(rows):
        estimate = estimate_of(row)
        if estimate.value is None:
            continue
        ends = [
            [estimate.value - (estimate.low or estimate.value)],
            [(estimate.high or estimate.value) - estimate.value],
        ]
        axes.errorbar(
            [estimate.value * factor], [row["label"]], xerr=[[end * factor for end in side] for side in ends],
            fmt="|", color=INK, markersize=9, elinewidth=1.2, zorder=3,
        )  # fmt: skip
        axes.text(1.01, row["label"], show(estimate).text, transform=axes.get_yaxis_transform(), va="center")
