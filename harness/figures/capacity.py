# SPDX-License-Identifier: Apache-2.0
"""The trials of a search for the capacity, in the order in which they were made."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.errors import NothingToDraw
from harness.figures.marks import name_last
from harness.figures.style import BAND, INK, PAGE_INCHES, canvas, log_scale, styled
from harness.model import CapacitySearch

_GOOD, _BAD = "#0072B2", "#D55E00"
_MOST_COLUMNS = 3


@styled
def capacity_trials(searches: Mapping[str, CapacitySearch]) -> Figure:
    """Return the rate of every trial against the load time before it, log rates, one panel a variant.

    Circles kept the goals, crosses missed them, and short trials are small; the line is the capacity, and the band
    reaches up to the lowest rate that is too high.

    Raises:
        NothingToDraw: no search has a trial.
    """
    told = {name: one for name, one in searches.items() if one.trials}
    if not told:
        raise NothingToDraw("no search to draw", found="0", allowed="at least one")
    columns = min(len(told), _MOST_COLUMNS)
    rows = ceil(len(told) / columns)
    figure, panels = canvas(rows, columns, width=PAGE_INCHES, height=0.5 + 1.8 * rows)
    for number, axes in enumerate(panels.ravel()):
        if number >= len(told):
            axes.set_axis_off()
            continue
        name = list(told)[number]
        _draw(axes, told[name], name)
    handles = [
        Line2D([], [], marker="o", linestyle="none", color=_GOOD, label="kept its goals"),
        Line2D([], [], marker="X", linestyle="none", color=_BAD, label="missed one"),
        Line2D([], [], color=INK, label="capacity"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw(axes: Axes, search: CapacitySearch, name: str) -> None:
    before_s = list(accumulate((one.duration_s for one in search.trials), initial=0.0))[:-1]
    axes.axhspan(search.lower_per_s, search.upper_per_s or search.lower_per_s, color=BAND, zorder=0)
    axes.axhline(search.lower_per_s, color=INK, linewidth=0.8)
    for good in (True, False):
        for long in (False, True):
            drawn = [
                (at_s, one.rate_per_s)
                for at_s, one in zip(before_s, search.trials, strict=True)
                if one.good is good and (one.duration_s >= search.goals.trial_s) is long
            ]
            axes.plot(
                [at_s for at_s, _ in drawn], [rate for _, rate in drawn], "o" if good else "X", linestyle="none",
                color=_GOOD if good else _BAD, markersize=4.5 if long else 2.8,
            )  # fmt: skip
            if drawn:
                name_last(axes, f"{name}, {'kept' if good else 'missed'} its goals")
    log_scale(axes, "y")
    axes.set(title=name, xlabel="load time before / s", ylabel="rate / 1/s (log)")
