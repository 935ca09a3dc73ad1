# SPDX-License-Identifier: Apache-2.0
"""Latency under an open and a closed loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from harness.analysis.stats.inputs import Floats
from harness.errors import InputError
from harness.figures.curves import median_and_range, quantile_notes
from harness.figures.marks import name_last
from harness.figures.style import FAINT, PAGE_INCHES, canvas, log_scale, styled

_LINES = {"open": ("#222222", "-"), "closed": ("#0072B2", "--")}
_TAIL_REQUESTS = 10


@styled
def open_and_closed(
    latencies: Mapping[str, Mapping[str, Sequence[Floats]]], labels: Mapping[str, str]
) -> Figure:
    """Return latency by percentile on an axis of nines, one panel a variant, one line a kind of loop: the median
    over trials, the band their range.

    Args:
        latencies: variant -> open or closed -> one array in seconds per trial. labels: names of the variants.
    """
    drawn = [name for name in labels if latencies.get(name)]
    if not drawn:
        raise InputError("no latencies to draw", found="0 trials", allowed="at least one trial of each loop")
    figure, panels = canvas(1, len(drawn), width=PAGE_INCHES, height=2.3, sharey=True)
    for axes, name in zip(panels[0], drawn, strict=True):
        for loop, arrays in latencies[name].items():
            colour, line = _LINES.get(loop, (FAINT, ":"))
            depth = np.log10(max(min(len(one) for one in arrays) / _TAIL_REQUESTS, 3.0))
            grid = np.linspace(0, min(depth, 4.0), 100)
            curves = [np.quantile(one, 1 - 10.0**-grid) * 1e3 for one in arrays]
            middle = median_and_range(axes, grid, curves, colour=colour, line=line, label=f"{loop} loop")
            name_last(axes, f"{labels[name]}, {loop} loop", quantile_notes(1 - 10.0**-grid, middle))
        axes.set_xticks([0, 1, 2, 3, 4], ["0", "90 %", "99 %", "99.9 %", "99.99 %"])
        axes.set_xlim(0, max(1.0, axes.dataLim.x1))
        axes.set_title(labels[name], loc="left")
    log_scale(panels[0, 0], "y")
    panels[0, 0].set_ylabel("latency / ms (log)")
    panels[0, 0].legend(frameon=False)
    figure.supxlabel("percentile of requests (axis of nines)")
    return figure
