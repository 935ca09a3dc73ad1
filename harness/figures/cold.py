# SPDX-License-Identifier: Apache-2.0
"""Becoming warm: throughput and CPU time per request from the first request on."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.errors import NothingToDraw
from harness.figures.curves import line_of_each_trial, line_of_medians
from harness.figures.marks import name_last
from harness.figures.style import PAGE_INCHES, canvas, log_scale, styled
from harness.figures.variant_style import VariantStyle, ordered, variant_styles

#: column -> (axis label, factor)
_PANELS = {
    "per_s": ("right answers per second (log)", 1.0),
    "cpu_s_per_request": ("CPU time per request / µs (log)", 1e6),
}
#: Places of markers on a median, in windows, about evenly spaced on the axis.
_MARKED = (1, 2, 3, 5, 8, 13, 20, 32, 50, 80)


@styled
def cold_curves(windows: pd.DataFrame) -> Figure:
    """Return throughput and CPU time per request by window of the warm-up, log axes: every process a thin line, and
    the median of each variant's processes, for as long as half of them were still being warmed up.

    Args:
        windows: as of ``cold_windows``.

    Raises:
        NothingToDraw: no window has an answer.
    """
    styles, order = variant_styles(windows), ordered(windows)
    if not (windows["per_s"] > 0).any():
        raise NothingToDraw("no window with an answer", place="per_s")
    figure, panels = canvas(1, len(_PANELS), width=PAGE_INCHES, height=2.7)
    for axes, (column, (label, factor)) in zip(panels[0], _PANELS.items(), strict=True):
        told = windows[windows[column] > 0].assign(value=windows[column] * factor)
        for name in order:
            _curves(axes, told[told["variant"] == name], styles[name])
        log_scale(axes, "x", "y")
        axes.set_xlabel("since the first request / s (log)")
        axes.set_ylabel(label)
    handles = [Line2D([], [], label=styles[name].label, **_looks(styles[name])) for name in order]
    panels[0, -1].legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False,
        handlelength=3.0, labelspacing=0.7,
    )  # fmt: skip
    return figure


def _curves(axes: Axes, mine: pd.DataFrame, look: VariantStyle) -> None:
    if mine.empty:
        return
    line_of_each_trial(axes, mine, "at_s", "value", look.colour)
    n = mine.groupby("window")["value"].count()
    joined = mine[mine["window"].isin(n[2 * n >= n.max()].index)]
    # windows of different processes begin at slightly different times
    joined = joined.assign(at_s=joined.groupby("window")["at_s"].transform("median"))
    places = [place - 1 for place in _MARKED if place <= joined["window"].nunique()]
    line_of_medians(axes, joined, "at_s", "value", look, **_marks(look), markevery=places)
    name_last(axes, look.label)
    axes.set_xlabel("")


def _marks(look: VariantStyle) -> dict[str, Any]:
    return {"marker": look.marker, "markerfacecolor": look.face, "markeredgecolor": look.colour}


def _looks(look: VariantStyle) -> dict[str, Any]:
    return _marks(look) | {"color": look.colour, "linestyle": look.line}
