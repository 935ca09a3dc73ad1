# SPDX-License-Identifier: Apache-2.0
"""What latency costs in throughput: p99 against right answers per second, with the knee where it bends."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from harness.errors import NothingToDraw
from harness.figures.curves import line_of_medians
from harness.figures.dots import rows_of_dots
from harness.figures.marks import name_last
from harness.figures.style import (
    FAINT,
    INK,
    PAGE_INCHES,
    canvas,
    in_lines,
    legend,
    legend_below,
    log_scale,
    styled,
)
from harness.figures.variant_style import VariantStyle, ordered, variant_styles
from harness.model import Estimate
from harness.model.level_words import level_words

#: Points of a curve between two loads.
FINE = 200


@styled
def throughput_latency(table: pd.DataFrame, knees: Mapping[str, Estimate]) -> Figure:
    """Return p99 against right answers per second, every trial a dot, one curve a variant.

    The curve goes through the medians at each offered load, from the lowest on. It turns back where more is
    offered and less is answered. The knee is a load, so it is a place on the curve: a large open marker, and
    the curve drawn thick over its interval, with a + at each end (to the curve's end where it is open).

    Raises:
        NothingToDraw: no trial has a p99 and a throughput under a known load.
    """
    wanted = ["offered_per_s", "sustained_per_s", "latency_p99_s"]
    told = table[~table["duplicate"].astype(bool)].dropna(subset=wanted)
    told = told[(told["sustained_per_s"] > 0) & (told["latency_p99_s"] > 0)]
    if told.empty:
        raise NothingToDraw("no trial has a p99 under a known load")
    styles = variant_styles(table)
    figure, panels = canvas(height=2.7)
    axes = panels[0, 0]
    for name in ordered(told):
        mine, look = told[told["variant"] == name], styles[name]
        axes.plot(mine["sustained_per_s"], mine["latency_p99_s"] * 1e3, zorder=2, **look.dots)
        curve = _Curve(mine)
        x, y = curve.along(*curve.ends)
        axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=0.9, zorder=3)
        name_last(axes, look.label)
        _knee(axes, curve, knees.get(name), look)
    log_scale(axes, "y")
    axes.set_xlim(left=0)
    axes.set_xlabel("right answers / s,\nwhile requests were offered")
    axes.set_ylabel("p99 latency / ms (log)")
    _legend(figure, ordered(told), styles, any(one.value is not None for one in knees.values()))
    return figure


class _Curve:
    """The medians at each offered load, and what lies between: straight in throughput, and in log latency."""

    def __init__(self, mine: pd.DataFrame) -> None:
        middle = mine.groupby("offered_per_s")[["sustained_per_s", "latency_p99_s"]].median().sort_index()
        self._load = middle.index.to_numpy(dtype=np.float64)
        self._right = middle["sustained_per_s"].to_numpy(dtype=np.float64)
        self._log_ms = np.log(middle["latency_p99_s"].to_numpy(dtype=np.float64) * 1e3)

    @property
    def ends(self) -> tuple[float, float]:
        return float(self._load[0]), float(self._load[-1])

    def along(self, low: float, high: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return right answers and p99 in ms from one load to another, corners included."""
        within = self._load[(self._load >= low) & (self._load <= high)]
        load = np.unique(np.concatenate([np.linspace(low, high, FINE), within]))
        return np.interp(load, self._load, self._right), np.exp(np.interp(load, self._load, self._log_ms))


def _knee(axes: Axes, curve: _Curve, found: Estimate | None, look: VariantStyle) -> None:
    if found is None or found.value is None:
        return
    first, last = curve.ends
    low = first if found.low is None else max(found.low, first)
    high = last if found.high is None else min(found.high, last)
    axes.plot(
        *curve.along(low, high), color=look.colour, linewidth=6, alpha=0.35, solid_capstyle="butt", zorder=1
    )
    told = [
        curve.along(end, end) for end in (found.low, found.high) if end is not None and first <= end <= last
    ]
    axes.plot(
        [x[0] for x, _ in told], [y[0] for _, y in told], marker="+", markersize=6, color=INK,
        markeredgewidth=0.9, linestyle="none", zorder=5,
    )  # fmt: skip
    x, y = curve.along(found.value, found.value)
    axes.plot(
        x[:1], y[:1], marker=look.marker, markersize=10, markerfacecolor="none", markeredgecolor=INK,
        markeredgewidth=1.2, linestyle="none", zorder=4,
    )  # fmt: skip


def _legend(figure: Figure, names: list[str], styles: Mapping[str, VariantStyle], with_knee: bool) -> None:
    handles = [
        Line2D(
            [], [], color=look.colour, linestyle=look.line, linewidth=0.9, marker=look.marker,
            markerfacecolor=look.face, label=look.label,
        )
        for look in (styles[name] for name in names)
    ]  # fmt: skip
    if with_knee:
        handles.append(
            Line2D(
                [], [], color=INK, alpha=0.6, linewidth=5, marker="o", markersize=9, markerfacecolor="none",
                markeredgecolor=INK, label="knee, interval to +",
            )
        )  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handlelength=2.8)


@styled
def under_load(table: pd.DataFrame, knees: Mapping[str, Estimate]) -> Figure:
    """Return p99 and right answers against the offered load, every trial a dot; where any failed, failed requests too.

    The line joins the medians at each load; a knee stands in the upper panel with its interval. Trials that
    were overloaded are drawn like any other.

    Raises:
        NothingToDraw: no trial says what was offered to it.
    """
    told = table[~table["duplicate"].astype(bool)].dropna(subset=["offered_per_s"])
    if told.empty:
        raise NothingToDraw("no trial says what was offered")
    styles = variant_styles(table)
    shown = told.assign(p99_ms=told["latency_p99_s"] * 1e3, failed=100 * told["error_share"])
    strip = bool((shown["failed"] > 0).any())  # a panel of zeros would be an empty one
    columns = ["p99_ms", "sustained_per_s", *(["failed"] if strip else [])]
    heights = [3, 3, 2][: len(columns)]
    figure, panels = canvas(
        len(columns), 1, height=1.2 + 0.42 * sum(heights), sharex=True, gridspec_kw={"height_ratios": heights}
    )
    latency, right, lowest = panels[0, 0], panels[1, 0], panels[-1, 0]
    for name in ordered(told):
        for axes, column in zip(panels[:, 0], columns, strict=True):
            _load_dots(axes, shown[shown["variant"] == name], column, styles[name])
    most = float(told["offered_per_s"].max())
    lowest.set_xlim(0, most * 1.05)
    for name in ordered(told):
        _knee_line(latency, knees.get(name), styles[name])
    right.plot([0, most], [0, most], color=INK, linewidth=0.6, linestyle=":")
    if shown["p99_ms"].notna().any():
        log_scale(latency, "y")
    latency.set_ylabel("p99 latency / ms (log)")
    right.set_ylabel("right answers / s,\nwhile offered")
    right.set_ylim(bottom=0)
    if strip:
        lowest.set_ylabel("failed / %")
        lowest.set_ylim(bottom=-1, top=max(5.0, float(shown["failed"].max()) * 1.1))
    lowest.set_xlabel("offered requests / s\n(dotted: all of them answered)")
    legend_below(figure, ordered(told), styles, lines=False)
    return figure


def _load_dots(axes: Axes, mine: pd.DataFrame, column: str, look: VariantStyle) -> None:
    there = mine.dropna(subset=[column])
    axes.plot(there["offered_per_s"], there[column], **look.dots)
    line_of_medians(axes, there, "offered_per_s", column, look, linewidth=0.9)
    name_last(axes, look.label)


def _knee_line(axes: Axes, found: Estimate | None, look: VariantStyle) -> None:
    if found is None or found.value is None:
        return
    axes.axvline(found.value, color=look.colour, linestyle=look.line, linewidth=0.8)
    low, high = axes.get_xlim()  # where the interval is open the band goes on to the end
    axes.axvspan(
        low if found.low is None else found.low,
        high if found.high is None else found.high,
        color=look.colour,
        alpha=0.12,
        linewidth=0,
    )


@styled
def completed_passes(table: pd.DataFrame, *, factor: str) -> Figure:
    """Return the time to the last answer, and the share of what was asked for that was answered rightly.

    One row a level of the factor, in the order of the table, and within it one line of dots a variant, blocks from
    top to bottom. A cross lies on the dot of a trial that was overloaded.

    Raises:
        NothingToDraw: no trial has either.
    """
    told = table[~table["duplicate"].astype(bool)].dropna(subset=["measurement_s", "right_share"])
    if told.empty:
        raise NothingToDraw("no trial says what was answered")
    levels, names, styles = (
        list(dict.fromkeys(told[factor].astype(str))),
        ordered(told),
        variant_styles(table),
    )
    figure, panels = canvas(1, 2, width=PAGE_INCHES, height=0.85 + 0.36 * len(levels), sharey=True)
    for axes, column, times in ((panels[0, 0], "measurement_s", 1), (panels[0, 1], "right_share", 100)):
        values = told[column] * times
        rows_of_dots(axes, told, values, rows=levels, styles=styles, by=factor)
        over = values.where(told["outcome"] == "overloaded")
        rows_of_dots(axes, told, over, rows=levels, styles=styles, by=factor, crossed=True)
        for row in range(1, len(levels)):
            axes.axhline(row - 0.5, color=FAINT, linewidth=0.4)
        axes.grid(axis="y", visible=False)
    left, right = panels[0]
    left.set_yticks(range(len(levels)), [in_lines(level_words(factor, level)) for level in levels])
    left.set_ylim(len(levels) - 0.5, -0.5)
    left.set_xlim(0, max(1.0, float(told["measurement_s"].max()) * 1.05))
    right.set_xlim(-2, 102)
    left.set_xlabel("time to the last answer / s")
    right.set_xlabel("of what was asked for,\nanswered rightly / % (cross: overloaded)")
    legend(right, names, styles, lines=False)
    return figure
