# SPDX-License-Identifier: Apache-2.0
"""The segments of a load, side by side."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import NothingToDraw
from harness.figures.curves import line_of_each_trial, line_of_medians
from harness.figures.marks import name_last
from harness.figures.style import canvas, label_ends, log_scale, styled
from harness.figures.variant_style import ordered, variant_styles
from harness.model.digits import plain


@styled
def by_part(parts: pd.DataFrame, metric: str, *, label: str, factor: float = 1.0, log: bool = True) -> Figure:
    """Return a metric over the parts of one long load, a thin line a trial, a thick one the median over trials.

    Raises:
        NothingToDraw: no part has this metric.
    """
    told = parts[~parts["duplicate"].astype(bool)].dropna(subset=[metric])
    if told.empty:
        raise NothingToDraw("no part has this metric", place=metric)
    styles = variant_styles(parts)
    figure, panels = canvas(height=2.3)
    axes = panels[0, 0]
    names = list(dict.fromkeys(told["part"]))
    place = {name: x for x, name in enumerate(names)}
    ends = []
    for name in ordered(told):
        mine = told[told["variant"] == name].assign(x=lambda frame: frame["part"].map(place))
        look = styles[name]
        mine = mine.assign(drawn=mine[metric] * factor)
        line_of_each_trial(axes, mine, "x", "drawn", look.colour)
        middle = line_of_medians(
            axes, mine, "x", "drawn", look, marker=look.marker, markerfacecolor=look.face,
            markeredgecolor=look.colour,
        )  # fmt: skip
        name_last(
            axes, look.label, [f"{part}: {plain(value)}" for part, value in zip(names, middle, strict=False)]
        )
        ends.append((float(middle.iloc[-1]), look.label, look.colour))
    if log:
        log_scale(axes, "y")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.2, len(names) - 0.8)
    axes.set_xlabel("part of the load\n(the process was fresh before the first)")
    axes.set_ylabel(f"{label} (log)" if log else label)
    label_ends(axes, ends)
    return figure
