# SPDX-License-Identifier: Apache-2.0
"""Comparisons with the reference: ratios with their intervals, and what speed costs in memory."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.analysis.comparisons import Comparison
from harness.errors import InputError
from harness.figures.looks import looks, ordered
from harness.figures.style import BAND, INK, cannot_be_said, canvas, label_ends, log_scale, styled
from harness.model import Verdict

_SIGNS = {
    Verdict.DIFFERENT: "different",
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: "negligible",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.INCONCLUSIVE: "inconclusive",
}


@styled
def forest(comparisons: Sequence[Comparison], trials: pd.DataFrame, *, quantity: str) -> Figure:
    """Return ratios to the reference with 95 % intervals, one panel per cell, the band of equivalence behind.

    Args:
        comparisons: of one metric against one reference. trials: only for labels and looks.
        quantity: what the ratio is of, such as "throughput".
    """
    if not comparisons:
        raise InputError("no comparison to draw", found="none", allowed="at least one")
    cells = list(dict.fromkeys(_cell(comparison) for comparison in comparisons))
    styles, order = looks(trials), ordered(trials)
    n_rows = max(sum(_cell(c) == cell for c in comparisons) for cell in cells)
    height = 0.55 + len(cells) * (0.3 + 0.17 * n_rows)
    figure, panels = canvas(len(cells), 1, height=height, sharex=True)
    reference = comparisons[0].reference
    for axes, cell in zip(panels[:, 0], cells, strict=True):
        rows = sorted((c for c in comparisons if _cell(c) == cell), key=lambda c: -order.index(c.variant))
        margin = rows[0].margin
        axes.axvspan(1 / (1 + margin), 1 + margin, color=BAND, linewidth=0)
        axes.axvline(1, color=INK, linewidth=0.7)
        axes.set_title(cell, loc="left", pad=3)
        for y, row in enumerate(rows):
            look = styles[row.variant]
            if row.ratio.value is None:
                cannot_be_said(axes, y)
                continue
            if row.ratio.low is not None and row.ratio.high is not None:
                axes.plot([row.ratio.low, row.ratio.high], [y, y], color=look.colour, linewidth=1.6)
            axes.plot([row.ratio.value], [y], **look.dots)
            axes.text(
                1.01, y, _SIGNS[row.verdict], transform=axes.get_yaxis_transform(), fontsize=5.8, va="center"
            )
        axes.set_yticks(range(len(rows)), [styles[row.variant].label for row in rows])
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xscale("log")
        axes.grid(axis="y", visible=False)
    last = panels[-1, 0]
    # A ratio seldom spans a decade: powers of ten alone would leave the axis with one number.
    last.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    last.xaxis.set_major_formatter(FuncFormatter(_plain_ratio))
    last.xaxis.set_minor_formatter(NullFormatter())
    last.set_xlabel(f"{quantity}, ratio to {styles[reference].label} (log scale)")
    return figure


@styled
def pareto(
    trials: pd.DataFrame, *, latency: str = "latency_mean_s", memory: str = "rss_after_bytes"
) -> Figure:
    """Return latency against memory: every trial a dot, one colour and marker a variant; lower left is better.

    Raises:
        InputError: no trial has both.
    """
    kept = trials[~trials["excluded"].astype(bool)].dropna(subset=[latency, memory])
    if kept.empty:
        raise InputError("no trial has both", found="0 trials", allowed=f"{latency} and {memory}")
    styles = looks(trials)
    figure, panels = canvas(height=2.5)
    axes = panels[0, 0]
    ends = []
    for name in ordered(kept):
        mine = kept[kept["variant"] == name]
        axes.plot(mine[memory] / 2**20, mine[latency] * 1e3, **styles[name].dots)
        ends.append((float(mine[latency].median() * 1e3), styles[name].label, styles[name].colour))
    log_scale(axes, "x", "y")
    axes.set_xlabel("resident memory after the load / MiB (log)")
    axes.set_ylabel(f"{latency.removeprefix('latency_').removesuffix('_s')} latency / ms (log)")
    label_ends(axes, ends)
    return figure


def _cell(comparison: Comparison) -> str:
    words = [f"{factor.replace('_', '-')} {level}" for factor, level in comparison.levels.items()]
    return ", ".join(words) or "all trials"


def _plain_ratio(value: float, _: object) -> str:
    return f"{value:.3g}"
