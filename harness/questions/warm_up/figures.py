# SPDX-License-Identifier: Apache-2.0
"""Warm-up curves with the class of each trial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from harness.analysis.warmup.curves import WarmUpCurve
from harness.errors import InputError
from harness.figures.style import FAINT, PAGE_INCHES, canvas, log_scale, styled

_LEVELS = "#D55E00"


#: Points of a line that are nearer to it than this, in points of the page, are left out: a curve has thousands.
_SMOOTHED_PT = 0.4


@styled
def warm_up(curves: Sequence[WarmUpCurve]) -> Figure:
    """Return latency over time, one panel a variant: every trial a thin line, the first one's levels between its
    change points as steps, and its class in words."""
    if not curves:
        raise InputError("no curve to draw", found="0 trials", allowed="at least one")
    variants = list(dict.fromkeys(curve.variant for curve in curves))
    columns = min(len(variants), 3)
    rows = -(-len(variants) // columns)
    figure, panels = canvas(
        rows, columns, width=PAGE_INCHES, height=0.4 + 1.5 * rows, sharex=True, sharey=True
    )
    for axes in panels.ravel()[len(variants) :]:
        axes.set_visible(False)
    for axes in panels[-2, columns - (rows * columns - len(variants)) :] if rows > 1 else ():
        axes.tick_params(labelbottom=True)  # the last panel of its column
    for axes, name in zip(panels.ravel(), variants, strict=False):
        mine = sorted((curve for curve in curves if curve.variant == name), key=lambda curve: curve.block)
        for curve in mine:
            (line,) = axes.plot(
                curve.at_s, np.array(curve.latency_s) * 1e3, color=FAINT, linewidth=0.4, alpha=0.7
            )
            line.get_path().simplify_threshold = _SMOOTHED_PT
        for begin, end, level in mine[0].levels:
            axes.plot([begin, end], [level * 1e3, level * 1e3], color=_LEVELS, linewidth=1.6)
            axes.axvline(begin, color=_LEVELS, linewidth=0.5, linestyle=":")
        axes.set_title(f"{mine[0].label}: {mine[0].found.kind}", loc="left", pad=2)
    log_scale(panels[0, 0], "y")
    figure.supxlabel("time since the first request / s")
    figure.supylabel("mean latency of\na window / ms (log)")
    return figure
