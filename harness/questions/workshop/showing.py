# SPDX-License-Identifier: Apache-2.0
"""Figures of the workshop with their alternative text, and two that only teaching needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.errors import NothingToDraw
from harness.figures.style import PAGE_INCHES, canvas, log_scale, png_of, styled
from harness.publish.display import Published, figure_page

_COLOUR = "#0072B2"
#: Of a load that is looked at closely, so many seconds on both sides of the pause.
_AROUND_S = 1.5


def show_figure(figure: Figure, *, alt: str, caption: str = "") -> Published:
    """Return a figure for a notebook, with what a reader who does not see it has to know."""
    page = figure_page(png_of(figure), alt, caption, float(figure.get_size_inches()[0]))
    return Published(f"figure: {alt}", page=page)


@styled
def small_panels(curves: pd.DataFrame, *, x: str, y_label: str, x_label: str) -> Figure:
    """Return one panel for each column but ``x``, drawn over it as points."""
    names = [str(name) for name in curves if name != x]
    figure, panels = canvas(1, len(names), width=PAGE_INCHES, height=1.8, sharey=True)
    for axes, name in zip(panels[0], names, strict=True):
        axes.plot(curves[x], curves[name], ".", color=_COLOUR, markersize=2)
        axes.set_title(name, loc="left")
    panels[0, 0].set_ylabel(y_label)
    figure.supxlabel(x_label)
    return figure


@styled
def cumulative(samples: Mapping[str, Sequence[float]], *, x_label: str) -> Figure:
    """Return the share of values up to each value, a panel for each sample, on one logarithmic axis."""
    if not samples:
        raise NothingToDraw("no sample to draw", place="samples")
    figure, panels = canvas(1, len(samples), width=PAGE_INCHES, height=1.8, sharex=True, sharey=True)
    for axes, (name, values) in zip(panels[0], samples.items(), strict=True):
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        axes.step(ordered, np.arange(1, len(ordered) + 1) / len(ordered), where="post", color=_COLOUR)
        axes.set_title(name, loc="left")
    log_scale(panels[0, 0], "x")
    panels[0, 0].set_ylabel("share of requests")
    figure.supxlabel(x_label)
    return figure


@styled
def around_pause(logs: Mapping[str, pd.DataFrame], at_s: float) -> Figure:
    """Return latency by start of the requests around a moment, a panel for each log (``start_s``, ``latency_s``)."""
    figure, panels = canvas(1, len(logs), width=PAGE_INCHES, height=1.9, sharex=True, sharey=True)
    for axes, (name, log) in zip(panels[0], logs.items(), strict=True):
        near = log[(log["start_s"] > at_s - _AROUND_S) & (log["start_s"] < at_s + _AROUND_S)]
        axes.plot(near["start_s"], near["latency_s"] * 1e3, ".", color=_COLOUR, markersize=2.5)
        axes.set_title(name, loc="left")
    log_scale(panels[0, 0], "y")
    panels[0, 0].set_ylabel("latency / ms (log)")
    figure.supxlabel("time at which the request was sent / s")
    return figure


@styled
def curve(points: Mapping[float, float], *, x_label: str, y_label: str) -> Figure:
    """Return a line through points."""
    figure, panels = canvas(1, 1, height=1.9)
    axes = panels[0, 0]
    axes.plot(list(points), list(points.values()), "o-", color=_COLOUR)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure
