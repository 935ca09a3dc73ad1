# SPDX-License-Identifier: Apache-2.0
"""How far each form of a program is ahead of the program on a whole JDK, by requests answered since launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.errors import NothingToDraw
from harness.figures.style import INK, PAGE_INCHES, canvas, log_scale, styled

#: Forms are told apart by marker and line, programs by colour and filling, in grey too (Okabe and Ito without the blue,
#: which is Go's in every figure).
_MARKS: tuple[tuple[str, Any], ...] = (("o", "-"), ("s", "--"), ("D", ":"))
_COLOURS = ("#E69F00", "#8C3B00", "#009E73", "#CC79A7")
_PANELS = {"time": "seconds ahead of the whole JDK", "cpu": "CPU seconds ahead of the whole JDK"}


@styled
def leads_of_forms(leads: pd.DataFrame, labels: Mapping[str, str]) -> Figure:
    """Return the lead of each form in time and in CPU time; thin: blocks, thick: their median.

    Where a line falls below zero, the whole JDK has caught up.

    Args:
        leads: as of ``forms_load.leads``. labels: variant -> how it is named.

    Raises:
        NothingToDraw: there is none.
    """
    if leads.empty:
        raise NothingToDraw("no form was measured beside its whole JDK", place="leads")
    figure, panels = canvas(1, len(_PANELS), width=PAGE_INCHES, height=2.6)
    looks = _looks(leads)
    for axes, (spent, label) in zip(panels[0], _PANELS.items(), strict=True):
        axes.axhline(0, color=INK, linewidth=0.7)
        for name, look in looks.items():
            mine = leads[(leads["variant"] == name) & (leads["spent"] == spent)]
            for _, block in mine.groupby("block"):
                some = block.iloc[
                    ::2
                ]  # beside the median: the scatter of blocks is seen as well with half the points
                axes.plot(some["n_requests"], some["lead"], color=look["color"], linewidth=0.4, alpha=0.5)
            middle = mine.groupby(mine.groupby("block").cumcount())[["n_requests", "lead"]].median()
            axes.plot(middle["n_requests"], middle["lead"], markevery=8, **look)
        log_scale(axes, "x")
        axes.set_xlabel("requests answered since launch (log)")
        axes.set_ylabel(label)
    panels[0, -1].legend(
        handles=[Line2D([], [], label=labels.get(name, name), **look) for name, look in looks.items()],
        loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.0,
        labelspacing=0.7,
    )  # fmt: skip
    return figure


def _looks(leads: pd.DataFrame) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    programs = leads.groupby("plain", sort=False)
    for number, (colour, (_, mine)) in enumerate(zip(_COLOURS * 9, programs, strict=False)):
        for mark, name in zip(_MARKS * 9, dict.fromkeys(mine["variant"]), strict=False):
            face = "white" if number % 2 else colour
            found[str(name)] = {
                "marker": mark[0], "linestyle": mark[1], "color": colour, "markerfacecolor": face,
            }  # fmt: skip
    return found
