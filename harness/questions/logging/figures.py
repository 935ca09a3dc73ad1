# SPDX-License-Identifier: Apache-2.0
"""CPU time per request of each program with each of its loggers, by sink."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import NothingToDraw
from harness.figures.means import rows_of_trials
from harness.figures.style import PAGE_INCHES, canvas, styled
from harness.figures.variant_style import ordered, variant_styles
from harness.questions.logging.analysis import CPU, SINK, SINKS


@styled
def cost_by_logger(trials: pd.DataFrame) -> Figure:
    """Return CPU time per request, one panel a sink and one row a variant: every trial a dot, the mean with its
    interval beside it.

    Raises:
        NothingToDraw: no trial has a CPU time.
    """
    told = trials[~trials["excluded"].astype(bool)].dropna(subset=[CPU])
    if told.empty:
        raise NothingToDraw("no CPU time per request", place=CPU)
    rows, styles = ordered(told), variant_styles(told)
    sinks = [sink for sink in SINKS if sink in set(told[SINK])]
    figure, panels = canvas(
        1, len(sinks), width=PAGE_INCHES, height=0.8 + 0.22 * len(rows), sharex=True, sharey=True
    )
    for axes, sink in zip(panels[0], sinks, strict=True):
        rows_of_trials(axes, told[told[SINK] == sink], CPU, factor=1e6, rows=rows, styles=styles)
        axes.set_title(f"sink: {sink}", loc="left", pad=3)
        axes.set_xlim(left=0)
    panels[0, 0].set_yticks(range(len(rows)), [styles[name].label for name in rows])
    figure.supxlabel("CPU time per request / µs")
    return figure


__all__ = ["cost_by_logger"]
