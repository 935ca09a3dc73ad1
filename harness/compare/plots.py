# SPDX-License-Identifier: Apache-2.0
"""The plots of a comparison's page: percentiles of every run, and the runs in their order.

Arms differ in colour, line and marker, so the page reads in grey.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator

from harness.compare.result import Comparison
from harness.compare.run import Run
from harness.compare.traps import NAMES
from harness.model.phrases import counted
from harness.report.plots import plain_log, svg

#: Okabe-Ito's blue and vermilion, with a line and a marker each.
_LOOKS: tuple[tuple[str, Literal["-", "--"], str], ...] = (("#0072B2", "-", "o"), ("#D55E00", "--", "s"))
_TICKS = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def percentile_curves(found: Comparison) -> dict[str, Any] | None:
    """Return a drawing with caption and alternative text; ``None``: no run has single requests."""
    drawn = [[run for run in runs if run.curve is not None] for runs in found.arms]
    if not any(drawn):
        return None
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.add_subplot()
    last = 1.0
    for runs, (colour, line, _) in zip(drawn, _LOOKS, strict=True):
        for run in runs:
            assert run.curve is not None  # chosen above
            axes.plot(
                run.curve.nines,
                1e3 * run.curve.latency_s,
                color=colour,
                linestyle=line,
                linewidth=0.8,
                alpha=0.7,
            )
            last = max(last, float(run.curve.nines[-1]))
    shown = [(look, name) for look, name, runs in zip(_LOOKS, NAMES, drawn, strict=True) if runs]
    axes.legend(
        handles=[
            Line2D([], [], color=colour, linestyle=line, label=name) for (colour, line, _), name in shown
        ],
        loc="upper left", fontsize=8, frameon=False,
    )  # fmt: skip
    ticks = [q for q in _TICKS if 100 / (100 - q) <= last]
    axes.set(xscale="log", yscale="log", xlabel="percentile", ylabel="latency, ms")
    axes.set_xticks([100 / (100 - q) for q in ticks], ["least", *(f"p{q:g}" for q in ticks[1:])])
    axes.xaxis.set_minor_locator(NullLocator())
    plain_log(axes)
    axes.grid(visible=True, color="#888888", alpha=0.3)
    counts = " and ".join(
        f"{counted(len(runs), 'run')} of {name}" for name, runs in zip(NAMES, drawn, strict=True)
    )
    caption = f"Latency of correct answers by percentile, one line a run: {counts}."
    return {"svg": svg(figure), "alt": caption, "caption": caption}


def run_order(found: Comparison) -> dict[str, Any] | None:
    """Return a drawing of each run's mean in the order of the runs; ``None``: the order is not known."""
    order = found.order
    if order is None:
        return None
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    axes = figure.add_subplot()
    for name, runs, (colour, _, marker) in zip(NAMES, found.arms, _LOOKS, strict=True):
        places = [
            (place, _mean_ms(runs[number]))
            for place, (arm, number) in enumerate(order, start=1)
            if arm == name
        ]
        axes.plot(
            *zip(*places, strict=True),
            linestyle="",
            marker=marker,
            color=colour,
            fillstyle="none",
            label=name,
        )
    axes.set(xlabel="runs in the order in which they began", ylabel="mean latency, ms")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    greatest = max((mean for runs in found.arms for mean in map(_mean_ms, runs) if mean > 0), default=1.0)
    axes.set_ylim(0, 1.1 * greatest)  # whole marks: the usual margin is that of the values' own range
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    axes.grid(visible=True, color="#888888", alpha=0.3)
    caption = (
        f"The mean of each run in the order in which the runs began: {' '.join(name for name, _ in order)}."
    )
    return {"svg": svg(figure), "alt": caption, "caption": caption}


def _mean_ms(run: Run) -> float:
    return 1e3 * run.values.get((None, "mean"), float(np.nan))
