# SPDX-License-Identifier: Apache-2.0
"""A comparison as one self-contained page: the answer, the traps, percentile curves, the order of the runs, tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jinja2 import Environment
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from harness.compare import words
from harness.compare.other_tools import ToolNumbers
from harness.compare.result import Comparison
from harness.compare.run import Run
from harness.compare.traps import NAMES
from harness.model.phrases import counted
from harness.report.html import page_style
from harness.report.limits import Checked
from harness.report.plots import axis_of_nines, svg

_PAGE = Path(__file__).with_name("templates") / "compare.html.jinja"
#: Okabe-Ito's blue and vermilion, with a line and a marker each.
_LOOKS: tuple[tuple[str, Literal["-", "--"], str], ...] = (("#0072B2", "-", "o"), ("#D55E00", "--", "s"))
_TICKS = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def render_html(
    comparison: Comparison, checked: Sequence[Checked] = (), numbers: Sequence[ToolNumbers] = ()
) -> str:
    """Return the page; nothing in it is loaded from anywhere."""
    plots = [plot for plot in (percentile_curves(comparison), run_order(comparison)) if plot is not None]
    tables = [
        (words.label_name(label), [words.cells(row) for row in comparison.rows if row.label == label])
        for label in comparison.labels
    ]
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _PAGE.read_text(encoding="utf-8")
    )
    return page.render(
        style=page_style(), verdict=words.verdict(comparison), summary=words.summary(comparison),
        traps=comparison.traps,
        limits=[words.limit_words(item) for item in checked],
        arms=[words.arm(comparison, place) for place in (0, 1)], order=words.order(comparison), plots=plots,
        heads=words.HEADS, overall=tables[0], labels=tables[1:], numbers=numbers,
        warnings=comparison.warnings,
    )  # fmt: skip


def percentile_curves(comparison: Comparison) -> dict[str, Any] | None:
    """Return a drawing with caption and alternative text; ``None``: no run has single requests."""
    drawn = [[run for run in runs if run.curve is not None] for runs in comparison.arms]
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
    axis_of_nines(axes, _TICKS, last)
    counts = " and ".join(
        f"{counted(len(runs), 'run')} of {name}" for name, runs in zip(NAMES, drawn, strict=True)
    )
    caption = f"Latency of correct answers by percentile, one line a run: {counts}."
    return {"svg": svg(figure), "alt": caption, "caption": caption}


def run_order(comparison: Comparison) -> dict[str, Any] | None:
    """Return a drawing of each run's mean in the order of the runs; ``None``: the order is not known."""
    order = comparison.order
    if order is None:
        return None
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    axes = figure.add_subplot()
    for name, runs, (colour, _, marker) in zip(NAMES, comparison.arms, _LOOKS, strict=True):
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
    greatest = max(
        (mean for runs in comparison.arms for mean in map(_mean_ms, runs) if mean > 0), default=1.0
    )
    axes.set_ylim(0, 1.1 * greatest)  # whole marks: the usual margin is that of the values' own range
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    axes.grid(visible=True, color="#888888", alpha=0.3)
    caption = (
        f"The mean of each run in the order in which the runs began: {' '.join(name for name, _ in order)}."
    )
    return {"svg": svg(figure), "alt": caption, "caption": caption}


def _mean_ms(run: Run) -> float:
    return 1e3 * run.values.get((None, "mean"), float(np.nan))
