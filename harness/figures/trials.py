# SPDX-License-Identifier: Apache-2.0
"""Every trial as a dot: by variant and cell, and against the order in which the trials were made."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from harness.errors import InputError, NothingToDraw
from harness.figures.dots import any_failed, failed_strip, rows_of_dots
from harness.figures.marks import name_last
from harness.figures.style import (
    FAINT,
    INK,
    PAGE_INCHES,
    canvas,
    in_lines,
    legend_below,
    log_scale,
    short,
    styled,
)
from harness.figures.variant_style import ordered, variant_styles
from harness.model.digits import plain
from harness.model.level_words import level_words

#: With more panels than this beside each other there is room for the levels, not for the factor before each.
CROWDED = 4
#: So many signs of a title fit above all panels of a row together.
PAGE_SIGNS = 76


@styled
def by_cell(
    trials: pd.DataFrame,
    metric: str,
    *,
    by: Sequence[str],
    label: str,
    factor: float = 1.0,
    log: bool = False,
    errors: bool = False,
) -> Figure:
    """Return a metric of every trial, one panel per cell, one row of dots a variant, blocks from left to right.

    Args:
        by: factor columns that make the cells. label: axis label with the unit after ``factor``.
        errors: add a strip with the share of failed requests under each panel, where any request failed.
    """
    kept = trials[~trials["excluded"].astype(bool)].dropna(subset=[metric])
    if kept.empty:
        raise NothingToDraw("no trial has this metric", place=metric)
    cells = [key for key, _ in kept.groupby(list(by), sort=False)] if by else [()]
    order, styles = ordered(kept), variant_styles(trials)
    errors = errors and any_failed(kept)
    rows = 2 if errors else 1
    figure, panels = canvas(
        rows,
        len(cells),
        width=PAGE_INCHES,
        height=(1.0 + 0.26 * len(order)) * (1.35 if errors else 1.0),
        sharey="row",
        sharex="row" if log else False,
        gridspec_kw={"height_ratios": [3, 1]} if errors else {},
    )
    for index, cell in enumerate(cells):
        mine = kept
        for column, level in zip(by, cell, strict=True):
            mine = mine[mine[column] == level]
        axes = panels[0, index]
        rows_of_dots(axes, mine, mine[metric] * factor, rows=order, styles=styles)
        axes.set_yticks(range(len(order)), [styles[name].label for name in order])
        title = _title(by, cell, crowded=len(cells) > CROWDED)
        axes.set_title(in_lines(title, PAGE_SIGNS // len(cells)), loc="left")
        if log:
            log_scale(axes, "x")
        elif kept[metric].max() * factor >= 1000:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        if not log:
            axes.set_xlim(left=0)
        if errors:
            failed_strip(panels[1, index], mine, rows=order, styles=styles)
            panels[1, index].tick_params(axis="y", left=False, labelleft=False)
    if errors:  # a name for the whole figure would be that of the strips
        for axes in panels[0]:
            axes.set_xlabel(label)
    else:
        figure.supxlabel(label)
    return figure


@styled
def run_order(trials: pd.DataFrame, metric: str, *, label: str) -> Figure:
    """Return each trial's value over the mean of its configuration, against its place in the session.

    A level line means that the machine stayed the same; a slope or a step is drift. Marked trials were excluded.
    """
    frame = trials.dropna(subset=[metric, "position"]).copy()
    counted = frame[~frame["excluded"].astype(bool)]
    if counted.empty:
        raise InputError("no trial has this metric", place=metric, found="0 trials", allowed="at least one")
    centre = counted.groupby("configuration")[metric].mean()
    frame["relative"] = frame[metric] / frame["configuration"].map(centre)
    styles = variant_styles(trials)
    figure, panels = canvas(height=2.5)
    axes = panels[0, 0]
    axes.axhline(1, color=INK, linewidth=0.7)
    for _, block in frame.groupby("block"):
        axes.axvline(float(block["position"].max()) + 0.5, color=FAINT, linewidth=0.4, linestyle=":")
    for name in ordered(frame):
        mine = frame[frame["variant"] == name]
        axes.plot(mine["position"], mine["relative"], **styles[name].dots)
        name_last(axes, styles[name].label, _places(mine))
    out = frame[frame["excluded"].astype(bool)]
    axes.plot(out["position"], out["relative"], "x", color=INK, markersize=5)
    axes.set_xlabel("order in the session (dotted: end of a block)")
    axes.set_ylabel(f"{label} / mean of\nits configuration")
    legend_below(figure, ordered(frame), styles, lines=False)
    return figure


def _places(trials: pd.DataFrame) -> list[str]:
    return [
        f"trial {row['trial_id']}, block {row['block']}: {plain(row['relative'])} of the mean of its configuration"
        for _, row in trials.iterrows()
    ]


def _title(by: Sequence[str], cell: Sequence[object], *, crowded: bool) -> str:
    named = zip(by, cell, strict=True)
    return ", ".join(str(v) if crowded else level_words(c, v) for c, v in named)
