# SPDX-License-Identifier: Apache-2.0
"""A comparison as one self-contained page: the answer, the traps, tables, percentile curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.compare import words
from harness.compare.result import Comparison
from harness.compare.traps import NAMES
from harness.model.phrases import counted
from harness.report.html import render_page
from harness.report.limits import Checked
from harness.report.plots import axis_of_nines, svg
from harness.report.words import Table

_PAGE = Path(__file__).with_name("templates") / "compare.html.jinja"
#: Okabe-Ito's blue and vermilion, with a line each.
_LOOKS: tuple[tuple[str, Literal["-", "--"]], ...] = (("#0072B2", "-"), ("#D55E00", "--"))
_TICKS = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def render_html(comparison: Comparison, checked: Sequence[Checked] = ()) -> str:
    """Return the page; nothing in it is loaded from anywhere."""
    overall, *labels = (
        Table(
            words.label_name(label),
            words.HEADS,
            [words.cells(row) for row in comparison.rows if row.label == label],
            texts=(0, 4, 5),
        )
        for label in comparison.labels
    )
    return render_page(
        _PAGE,
        verdict=words.verdict(comparison),
        summary=words.summary(comparison),
        traps=comparison.traps,
        limits=[words.limit_words(item) for item in checked],
        about=[
            *(words.arm(comparison, place) for place in (0, 1)),
            f"order of the runs: {words.order(comparison) or 'unknown'}",
        ],
        plot=percentile_curves(comparison),
        overall=overall,
        labels=labels,
        warnings=comparison.warnings,
    )


def percentile_curves(comparison: Comparison) -> dict[str, Any] | None:
    """Return a drawing with caption and alternative text; ``None``: no run has single requests."""
    drawn = [[run.curve for run in runs if run.curve is not None] for runs in comparison.arms]
    if not any(drawn):
        return None
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for curves, (colour, line) in zip(drawn, _LOOKS, strict=True):
        for curve in curves:
            axes.plot(
                curve.nines, 1e3 * curve.latency_s, color=colour, linestyle=line, linewidth=0.8, alpha=0.7
            )
    shown = [(look, name) for look, name, curves in zip(_LOOKS, NAMES, drawn, strict=True) if curves]
    axes.legend(
        handles=[Line2D([], [], color=colour, linestyle=line, label=name) for (colour, line), name in shown],
        loc="upper left", fontsize=8, frameon=False,
    )  # fmt: skip
    axis_of_nines(axes, _TICKS, max(float(curve.nines[-1]) for curves in drawn for curve in curves))
    counts = " and ".join(
        f"{counted(len(curves), 'run')} of {name}" for name, curves in zip(NAMES, drawn, strict=True)
    )
    caption = f"Latency of correct answers by percentile, one line a run: {counts}."
    return {"svg": svg(figure), "alt": caption, "caption": caption}
