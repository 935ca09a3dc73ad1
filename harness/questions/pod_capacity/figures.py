# SPDX-License-Identifier: Apache-2.0
"""Capacity against pods; read across, it is the number of pods that a rate needs."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from harness.analysis.stats.pairing import counting
from harness.errors import NothingToDraw
from harness.figures.curves import line_of_medians
from harness.figures.style import COLUMN_INCHES, canvas, label_ends, styled
from harness.figures.variant_style import ordered, variant_styles
from harness.model.digits import plain
from harness.questions.pod_capacity.analysis import CAPACITY, PODS, SIZES


@styled
def against_pods(trials: pd.DataFrame) -> Figure:
    """Return capacity against the number of pods: every trial a dot, lines join the medians of each variant.

    Raises:
        NothingToDraw: no trial that counts found a capacity.
    """
    kept = counting(trials)
    kept = kept.dropna(subset=[CAPACITY])
    if kept.empty:
        raise NothingToDraw("no search to draw", found="0", allowed="at least one")
    kept = kept.assign(x=kept[PODS].astype(str).map(SIZES))
    styles = variant_styles(trials)
    figure, panels = canvas(1, 1, width=COLUMN_INCHES, height=2.6)
    axes, ends = panels[0, 0], []
    for name in ordered(kept):
        look, mine = styles[name], kept[kept["variant"] == name]
        axes.plot(mine["x"], mine[CAPACITY], **look.dots)
        middle = line_of_medians(axes, mine, "x", CAPACITY, look)
        ends.append((float(middle.iloc[-1]), look.label, look.colour))
    sizes = sorted(set(kept["x"]))
    axes.set(xlabel="pods", ylabel="capacity / 1/s", ylim=(0, None))
    axes.set_xlim(sizes[0] - 0.25, sizes[-1] + 0.25)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    label_ends(axes, ends)
    return figure


__all__ = ["against_pods"]
