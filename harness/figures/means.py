# SPDX-License-Identifier: Apache-2.0
"""Rows of trials with their estimates: what a figure marks is the number that text and tables print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes

from harness.analysis.stats.summaries import summarised
from harness.figures.dots import rows_of_dots
from harness.figures.style import INK
from harness.figures.variant_style import VariantStyle
from harness.model import Estimate
from harness.model.digits import decimals, fixed


def rows_of_trials(
    axes: Axes,
    trials: pd.DataFrame,
    metric: str,
    *,
    factor: float,
    rows: Sequence[str],
    styles: Mapping[str, VariantStyle],
) -> None:
    """Draw every variant's trials as a row of dots, the geometric mean as a bar with its interval and its number.

    Trials of the duplicated reference are hollow and no part of the mean, as in ``summarise``; all others are filled,
    as a row has its name.
    """
    told = trials.dropna(subset=[metric])
    duplicate = told["duplicate"].astype(bool)
    filled = {name: replace(look, face=look.colour) for name, look in styles.items()}
    for mine, hollow in ((told[~duplicate], False), (told[duplicate], True)):
        if len(mine):
            rows_of_dots(axes, mine, mine[metric] * factor, rows=rows, styles=filled, hollow=hollow)
    for y, name in enumerate(rows):
        mine = told[told["variant"] == name]
        if len(mine):
            _mean(axes, y, summarised(mine, metric), factor)


def _mean(axes: Axes, y: int, found: Estimate, factor: float) -> None:
    if found.value is None:
        return
    middle = found.value * factor
    axes.plot([middle, middle], [y - 0.32, y + 0.32], color=INK, linewidth=1.0)
    low, high = (None if bound is None else bound * factor for bound in (found.low, found.high))
    if low is not None and high is not None:
        axes.plot([low, high], [y + 0.32, y + 0.32], color=INK, linewidth=1.0)
    said = fixed(middle, decimals(middle, low, high))  # the digits of the tables, in the unit of the axis
    axes.text(1.01, y, said, transform=axes.get_yaxis_transform(), va="center")
