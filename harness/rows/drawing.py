# SPDX-License-Identifier: Apache-2.0
"""Figures of a notebook: axes in the paper's style for seaborn and matplotlib, and the intervals of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.model import Verdict
from harness.model.formatting import show
from harness.publish.figures.style import BAND, COLUMN_INCHES, FAINT, INK, VariantStyle, canvas, settings
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
        low, high = estimate.low or estimate.value, estimate.high or estimate.value
        ends = [[(estimate.value - low) * factor], [(high - estimate.value) * factor]]
        axes.errorbar(
            [estimate.value * factor], [row["label"]], xerr=ends, fmt="|", color=INK, markersize=9, elinewidth=1.2,
            zorder=3,
        )  # fmt: skip
        axes.text(1.01, row["label"], show(estimate).text, transform=axes.get_yaxis_transform(), va="center")


def forest(
    axes: Axes, rows: pd.DataFrame, looks: Mapping[str, VariantStyle], *, factor: str = "label"
) -> None:
    """Draw ratios with their intervals, a line each from top to bottom, on a logarithmic axis with 1 marked.

    The reference over itself is hollow, a ratio that is not about the services hollow and grey. The band holds the
    ratios that the largest margin calls negligible; without a margin there is none.

    Args:
        looks: variant -> how it is drawn. factor: column that names the lines.
    """
    lines = records(rows)
    margins = rows.loc[rows["variant"] != rows["reference"], "margin"].dropna()
    if len(margins):
        axes.axvspan(1 / (1 + margins.max()), 1 + margins.max(), color=BAND, linewidth=0)
    axes.axvline(1, color=INK, linewidth=0.7)
    for y, row in enumerate(reversed(lines)):
        look = looks[row["variant"]]
        refused = row["verdict"] == Verdict.NOT_ABOUT_SERVICES
        colour = FAINT if refused else look.colour
        if row["value"] is None:
            axes.text(1, y, "cannot be said", color=FAINT, va="center", ha="center")
            continue
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=1.6)
        face = "white" if refused or row["variant"] == row["reference"] else look.face
        dots = look.dots | {"markerfacecolor": face, "markeredgecolor": colour, "alpha": 1.0}
        axes.plot([row["value"]], [y], **dots)
    axes.set_yticks(range(len(lines)), [str(row[factor]) for row in reversed(lines)])
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.grid(axis="y", visible=False)
    axes.set_xscale("log")
    _plain_ticks(axes)


def _plain_ticks(axes: Axes) -> None:
    """Write plain numbers on a logarithmic axis of ratios, several within a decade."""
    # A ratio seldom spans a decade: powers of ten alone would leave the axis with one number.
    low, high = axes.get_xlim()
    steps = (1, 1.5, 2, 3, 5, 7) if high / low < 10 else (1, 2, 5) if high / low < 100 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
