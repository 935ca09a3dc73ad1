# SPDX-License-Identifier: Apache-2.0
"""A row of trials with its estimate: what a figure marks is the number that text and tables print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from harness.analysis.stats.summaries import summarise
from harness.figures.style import INK
from harness.figures.variant_style import Look
from harness.model import Estimate
from harness.model.digits import decimals, fixed


def row_of_trials(axes: Axes, y: float, mine: pd.DataFrame, metric: str, factor: float, look: Look) -> None:
    """Draw one variant's kept trials at height ``y``, the geometric mean as a bar with its interval and its number.

    Trials of the duplicated reference are hollow and no part of the mean, as in ``summarise``.
    """
    ordered = mine.dropna(subset=[metric]).sort_values("block")
    if ordered.empty:
        return
    rank = ordered["block"].rank(method="dense")
    spread = (rank - rank.mean()) / max(len(ordered), 2) * 0.5
    duplicate = ordered["duplicate"].astype(bool)
    for chosen, dots in ((~duplicate, look.dots), (duplicate, _hollow(look.dots))):
        if chosen.any():
            axes.plot(ordered[metric][chosen] * factor, y - spread[chosen], **dots)
    found: Estimate = summarise(ordered, metric).iloc[0]["estimate"]
    if found.value is None:
        return
    middle = found.value * factor
    axes.plot([middle, middle], [y - 0.32, y + 0.32], color=INK, linewidth=1.0)
    low, high = (None if bound is None else bound * factor for bound in (found.low, found.high))
    if low is not None and high is not None:
        axes.plot([low, high], [y - 0.32, y - 0.32], color=INK, linewidth=1.0)
    said = fixed(middle, decimals(middle, low, high))  # the digits of the tables, in the unit of the axis
    axes.text(1.01, y, said, transform=axes.get_yaxis_transform(), fontsize=6, va="center")


def _hollow(dots: Mapping[str, Any]) -> dict[str, Any]:
    return {**dots, "markerfacecolor": "none"}
