# SPDX-License-Identifier: Apache-2.0
"""Throughput and tail against cores, and what the place of a service changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from harness.analysis.stats.pairing import counting
from harness.errors import InputError
from harness.figures.curves import line_of_medians
from harness.figures.style import BAND, INK, PAGE_INCHES, canvas, label_ends, log_scale, styled
from harness.figures.variant_style import VariantStyle, ordered, variant_styles
from harness.model.level_words import level_words
from harness.questions.scaling.analysis import CORES, ScalingRow

#: From so many sizes on they are powers of two apart rather than one.
_DOUBLING_FROM = 4


@styled
def against_cores(trials: pd.DataFrame, rows: Sequence[ScalingRow], *, by: str = "logging") -> Figure:
    """Return throughput above p99, one column a level of ``by``: every trial a dot, lines join the medians.

    Where the scalability law was fitted it is a thin line in the band of its interval. Sizes at which service and
    generator shared CPUs have a grey ground, and no line leads there from those at which they did not.

    Raises:
        InputError: no trial was kept.
    """
    kept = counting(trials)
    if kept.empty:
        raise InputError("no trial was kept", found="0 trials", allowed="at least one")
    styles, levels = variant_styles(trials), list(dict.fromkeys(kept[by]))
    sizes = sorted({int(size) for size in kept[CORES]})
    figure, panels = canvas(2, len(levels), width=PAGE_INCHES, height=4.2, sharex=True, sharey="row")
    for column, level in enumerate(levels):
        mine = kept[kept[by] == level].assign(
            x=lambda frame: frame[CORES].astype(int), p99=lambda f: f["latency_p99_s"] * 1e3
        )
        upper, lower = panels[0, column], panels[1, column]
        here = [row for row in rows if row.levels.get(by) == level]
        _ground(upper, here, sizes)
        _ground(lower, here, sizes)
        shared = {size for row in here for size in row.shared}
        ends = _curves(upper, mine, "throughput_per_s", styles, shared)
        for row in here:
            _law(upper, row, styles[row.variant])
        tails = _curves(lower, mine, "p99", styles, shared)
        for axes in (upper, lower):  # seaborn has named them after the column
            axes.set_xlabel("")
        upper.set_title(level_words(by, level), loc="left")
        upper.set_ylim(bottom=0)
        if tails:
            log_scale(lower, "y")
        _cores_axis(lower, sizes)
        if column == len(levels) - 1:
            label_ends(upper, ends)
            label_ends(lower, tails)
    panels[0, 0].yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value / 1000:g} k" if value else "0")
    )
    panels[0, 0].set_ylabel("right answers / s")
    panels[1, 0].set_ylabel("p99 latency / ms (log)")
    figure.supxlabel("cores of the service (grey: also used by the load generator)")
    return figure


def curves_caption(rows: Sequence[ScalingRow], *, by: str = "logging") -> str:
    """Return what the figure of throughput and tail against cores shows of these rows, and nothing that it has not."""
    columns = len({row.levels.get(by) for row in rows})
    shared = any(row.shared for row in rows)
    said = [
        "Throughput and p99 against cores" + (f", a column for each level of {by}" if columns > 1 else "")
    ]
    said.append("Dots: trials; lines join medians")
    if shared:
        said[-1] += ", and no line leads to cores that the load generator shared, which have a grey ground"
    said += (
        ["Bands: 95 % intervals of the scalability law over blocks"] if any(row.fit for row in rows) else []
    )
    return ". ".join(said) + "."


def _curves(
    axes: Axes, mine: pd.DataFrame, column: str, styles: dict[str, VariantStyle], shared: set[int]
) -> list[tuple[float, str, str]]:
    ends = []
    for name in ordered(mine):
        look, there = styles[name], mine[mine["variant"] == name].dropna(subset=[column])
        if there.empty:
            continue
        axes.plot(there["x"], there[column], **{**look.dots, "markersize": 2.6, "alpha": 0.55})
        for _, sizes in sorted(there.groupby(there["x"].isin(shared))):
            middle = line_of_medians(
                axes, sizes, "x", column, look, marker=look.marker, markerfacecolor=look.face,
                markeredgecolor=look.colour,
            )  # fmt: skip
        ends.append((float(middle.iloc[-1]), look.label, look.colour))
    return ends


def _law(axes: Axes, row: ScalingRow, look: VariantStyle) -> None:
    if row.fit is None:
        return
    at = [point.cores for point in row.fit.band]
    axes.plot(at, [point.value for point in row.fit.band], color=INK, linewidth=0.6)
    low, high = ([getattr(point, bound) for point in row.fit.band] for bound in ("low", "high"))
    if None not in low and None not in high:
        axes.fill_between(at, low, high, color=look.colour, alpha=0.2, linewidth=0)


def _ground(axes: Axes, rows: Sequence[ScalingRow], sizes: Sequence[int]) -> None:
    for size in sorted({size for row in rows for size in row.shared}):
        spread = 2**0.18 if len(sizes) >= _DOUBLING_FROM else None
        ends = (size / spread, size * spread) if spread else (size - 0.12, size + 0.12)
        axes.axvspan(*ends, color=BAND, linewidth=0)


def _cores_axis(axes: Axes, sizes: Sequence[int]) -> None:
    if len(sizes) >= _DOUBLING_FROM:
        axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(list(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    low, high = float(np.min(sizes)), float(np.max(sizes))
    axes.set_xlim((low / 1.15, high * 1.15) if len(sizes) >= _DOUBLING_FROM else (low - 0.25, high + 0.25))
