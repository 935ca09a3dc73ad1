# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the published rounds: printed throughputs against those that printed latencies imply."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.errors import NothingToDraw
from harness.figures.marks import name_last
from harness.figures.style import BAND, INK, canvas, styled
from harness.figures.variant_style import COLOURS, OTHER_COLOUR
from harness.model.digits import plain

_MARKERS = ("o", "s", "^", "D", "v")
#: What the audit of a plan tolerates (``audit_plan``), for rounding and for what a generator spends between requests.
_TOLERANCE = 0.10


@styled
def published_arithmetic(*published: pd.DataFrame) -> Figure:
    """Return printed over implied throughput against the ramp's share of the run, a dot for each printed row.

    Marker: the printed table; colour: the language. Grey: within the audit's tolerance of one.

    Args:
        published: rows with the columns ``table``, ``application``, ``language``, ``audit_ratio``, ``ramp_share``,
            ``throughput_per_s`` and ``predicted_per_s``.

    Raises:
        NothingToDraw: there is no row.
    """
    rows = pd.concat(published) if published else pd.DataFrame()
    if rows.empty:
        raise NothingToDraw("no published row to draw", found="0", allowed="at least one")
    figure, panels = canvas(height=2.7)
    axes = panels[0, 0]
    axes.axhspan(1 - _TOLERANCE, 1 + _TOLERANCE, color=BAND, linewidth=0)
    axes.axhline(1, color=INK, linewidth=0.7)
    tables = list(dict.fromkeys(rows["table"].astype(str)))
    languages = sorted(set(rows["language"].astype(str)))
    for marker, table in zip(_MARKERS * len(tables), tables, strict=False):
        for language in languages:
            mine = rows[(rows["table"].astype(str) == table) & (rows["language"] == language)]
            axes.plot(
                100 * mine["ramp_share"], mine["audit_ratio"], marker, color=COLOURS.get(language, OTHER_COLOUR),
                alpha=0.85,
            )  # fmt: skip
            name_last(axes, f"{table}, {language.capitalize()}", [_said(row) for _, row in mine.iterrows()])
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the run in which users were started / %")
    axes.set_ylabel("printed over implied\nthroughput")
    handles = [
        *(
            Line2D([], [], marker=marker, linestyle="none", color=INK, label=table)
            for marker, table in zip(_MARKERS * len(tables), tables, strict=False)
        ),
        *(
            Line2D([], [], color=COLOURS.get(one, OTHER_COLOUR), linewidth=4, label=one.capitalize())
            for one in languages
        ),
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        handlelength=1.0,
        columnspacing=1.2,
    )
    return figure


def _said(row: pd.Series) -> str:
    return (
        f"{row['application']}: printed {plain(row['throughput_per_s'])}/s, "
        f"implied {plain(row['predicted_per_s'])}/s"
    )


__all__ = ["published_arithmetic"]
