# SPDX-License-Identifier: Apache-2.0
"""Comparisons with the reference: ratios with their intervals, and what speed costs in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.analysis.stats.aa_noise import AANoise
from harness.analysis.stats.comparisons import Comparison
from harness.errors import InputError, NothingToDraw
from harness.figures.marks import name_last
from harness.figures.style import (
    BAND,
    FAINT,
    INK,
    LINE_INCHES,
    PAGE_INCHES,
    cannot_be_said,
    canvas,
    styled,
)
from harness.figures.variant_style import VariantStyle, ordered, variant_styles
from harness.model import Estimate, Verdict
from harness.model.age import ratio_with_age, with_age
from harness.model.digits import cell_words, percent, plain
from harness.model.formatting import show

_MEMORY = "rss_after_bytes"
_SIGNS = {
    Verdict.DIFFERENT: "different",
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: "negligible",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_ABOUT_SERVICES: "not the services",
}


@styled
def forest(comparisons: Sequence[Comparison], trials: pd.DataFrame, *, quantity: str) -> Figure:
    """Return ratios to the reference with 95 % intervals, one panel per cell.

    The last row of a panel, hollow, is the reference against its own duplicate in that cell. The band of ratios that
    count as equivalent is drawn where something can be called equivalent, and nowhere else. A ratio that does not
    speak of the services is hollow and grey.

    Args:
        comparisons: of one metric against one reference. trials: only for labels and looks.
        quantity: what the ratio is of, such as "throughput".
    """
    if not comparisons:
        raise InputError("no comparison to draw", found="none", allowed="at least one")
    cells = list(dict.fromkeys(_cell(comparison) for comparison in comparisons))
    styles, order = variant_styles(trials), ordered(trials)
    n_rows = 1 + max(sum(_cell(c) == cell for c in comparisons) for cell in cells)
    height = 0.55 + LINE_INCHES * bool(_elsewhere(comparisons)) + len(cells) * (0.3 + 0.17 * n_rows)
    figure, panels = canvas(len(cells), 1, height=height, sharex=True)
    reference = comparisons[0].reference
    for axes, cell in zip(panels[:, 0], cells, strict=True):
        rows = sorted((c for c in comparisons if _cell(c) == cell), key=lambda c: -order.index(c.variant))
        axes.set_title(cell, loc="left", pad=3)
        names = _rows_of_ratios(axes, rows, styles)
        axes.set_yticks(range(len(names)), names)
    ratio_axis(panels[-1, 0])
    panels[-1, 0].set_xlabel(
        f"{quantity}, ratio to {styles[reference].label} (log scale){_elsewhere(comparisons)}"
    )
    return figure


@styled
def forests(comparisons: Mapping[str, Sequence[Comparison]], trials: pd.DataFrame) -> Figure:
    """Return ratios to the reference side by side, one panel per metric, drawn as by ``forest``.

    Args:
        comparisons: what the ratio is of, such as "throughput" -> the comparisons of that metric in one cell; the same
            variants in each.
        trials: only for labels and looks.

    Raises:
        NothingToDraw: no metric has a comparison.
    """
    shown = {quantity: found for quantity, found in comparisons.items() if found}
    if not shown:
        raise NothingToDraw("no comparison to draw", place=", ".join(comparisons))
    styles, order = variant_styles(trials), ordered(trials)
    variants = {one.variant for found in shown.values() for one in found}
    height = 0.75 + 0.2 * (1 + len(variants))
    figure, panels = canvas(1, len(shown), width=PAGE_INCHES, height=height, sharey=True)
    for axes, (quantity, found) in zip(panels[0], shown.items(), strict=True):
        rows = sorted(found, key=lambda c: -order.index(c.variant))
        names = _rows_of_ratios(axes, rows, styles)
        axes.set_title(quantity, loc="left", pad=3)
        ratio_axis(axes)
    panels[0, 0].set_yticks(range(len(names)), names)
    reference = next(iter(shown.values()))[0].reference
    every = [one for found in shown.values() for one in found]
    figure.supxlabel(f"ratio to {styles[reference].label} (log scale){_elsewhere(every)}")
    return figure


def _rows_of_ratios(
    axes: Axes, rows: Sequence[Comparison], styles: Mapping[str, VariantStyle]
) -> Sequence[str]:
    """Draw the reference against itself and above it each comparison; return the names of the rows."""
    bands = [row.band for row in rows if row.band is not None]
    if bands:
        axes.axvspan(*max(bands, key=lambda band: band[1]), color=BAND, linewidth=0)
    axes.axvline(1, color=INK, linewidth=0.7)
    reference = styles[rows[0].reference]
    _itself(axes, rows[0].noise, reference)
    for y, row in enumerate(rows, start=1):
        look = styles[row.variant]
        if row.ratio.value is None:
            cannot_be_said(axes, y)
            continue
        _interval(axes, y, row.ratio, look, look.face, about=row.about_services, young=row.young)
        _word(axes, y, _says(row))
    axes.set_ylim(-0.6, len(rows) + 0.6)
    axes.set_xscale("log")
    axes.grid(axis="y", visible=False)
    return [f"{reference.label}, again", *(styles[row.variant].label for row in rows)]


def ratio_axis(axes: Axes) -> None:
    """Write plain numbers on a logarithmic axis of ratios, several within a decade."""
    # A ratio seldom spans a decade: powers of ten alone would leave the axis with one number.
    low, high = axes.get_xlim()
    steps = (1, 1.5, 2, 3, 5, 7) if high / low < 10 else (1, 2, 5) if high / low < 100 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(_plain_ratio))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _itself(axes: Axes, noise: AANoise, look: VariantStyle) -> None:
    """Draw the reference against its duplicate; where the pair was made in another cell, say so (``_elsewhere``)."""
    size = None if noise.noise is None else f"noise {percent(noise.noise)}"
    if noise.elsewhere is not None:
        axes.text(
            0.5, 0, "elsewhere", transform=axes.get_yaxis_transform(), color=FAINT, va="center", ha="center"
        )
    elif noise.ratio.value is None:
        cannot_be_said(axes, 0)
    else:
        _interval(axes, 0, noise.ratio, look, "white")
    if size is not None:
        _word(axes, 0, size)


def _elsewhere(comparisons: Sequence[Comparison]) -> str:
    """Name the cells in which the reference was duplicated, where a panel has no pair of its own."""
    cells = dict.fromkeys(one.noise.elsewhere for one in comparisons if one.noise.elsewhere is not None)
    return f"\nelsewhere: {'; '.join(cells)}" if cells else ""


def _interval(
    axes: Axes,
    y: int,
    ratio: Estimate,
    look: VariantStyle,
    face: str,
    *,
    about: bool = True,
    young: bool = False,
) -> None:
    if ratio.low is not None and ratio.high is not None:
        axes.plot([ratio.low, ratio.high], [y, y], color=look.colour if about else FAINT, linewidth=1.6)
    if ratio.value is not None:
        dots = look.dots | {"markerfacecolor": face, "alpha": 1.0}
        if not about:
            dots |= {"markerfacecolor": "white", "markeredgecolor": FAINT}
        axes.plot([ratio.value], [y], **dots)
        name_last(axes, look.label, [ratio_with_age(show(ratio).interval, young)])


def _says(row: Comparison) -> str:
    """The verdict; where an interval leaves out 1 and the family's p-value takes that back, the p-value too."""
    word = with_age(_SIGNS[row.verdict], row.young)
    low, high = row.ratio.low, row.ratio.high
    told = row.verdict in (Verdict.DIFFERENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)
    if told or row.p_adjusted is None or low is None or high is None or low <= 1 <= high:
        return word
    return f"{word}, p {plain(row.p_adjusted, 2)}"


def _word(axes: Axes, y: int, word: str) -> None:
    axes.text(1.01, y, word, transform=axes.get_yaxis_transform(), va="center")


def _cell(comparison: Comparison) -> str:
    return cell_words(comparison.levels) or "all trials"


def _plain_ratio(value: float, _: object) -> str:
    return f"{value:.3g}"
