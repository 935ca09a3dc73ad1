# SPDX-License-Identifier: Apache-2.0
"""Ratios with their intervals, a line each, on a logarithmic axis with 1 marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.analysis.stats.comparisons import Comparison
from harness.errors import InputError
from harness.figures.marks import name_last
from harness.figures.style import BAND, FAINT, INK, PAGE_INCHES, canvas, styled
from harness.figures.variant_style import VariantStyle, ordered, variant_styles
from harness.model import Verdict
from harness.model.age import ratio_with_age, with_age
from harness.model.digits import percent
from harness.model.formatting import show
from harness.model.level_words import cell_words

_SIGNS = {
    Verdict.DIFFERENT: "different",
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: "negligible",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_ABOUT_SERVICES: "not the services",
}


class RatioLine(NamedTuple):
    """A ratio as a line: ``hollow``, of the reference over itself; ``refused``, drawn in grey; ``note``: the ratio with
    its interval in words; ``word``: right of the axes."""

    label: str
    value: float | None
    ends: tuple[float | None, float | None]
    look: VariantStyle
    note: str
    hollow: bool = False
    refused: bool = False
    word: str = ""


def ratio_lines(axes: Axes, lines: Sequence[RatioLine], band: tuple[float, float] | None) -> None:
    """Draw ratios from top to bottom. ``band``: the ratios that are negligible; ``None``: there are none."""
    if band is not None:
        axes.axvspan(*band, color=BAND, linewidth=0)
    axes.axvline(1, color=INK, linewidth=0.7)
    for y, line in enumerate(reversed(lines)):
        if line.word:
            axes.text(1.01, y, line.word, transform=axes.get_yaxis_transform(), va="center")
        if line.value is None:
            axes.text(
                0.5, y, "cannot be said", transform=axes.get_yaxis_transform(), color=FAINT, va="center", ha="center"
            )  # fmt: skip
            continue
        colour = FAINT if line.refused else line.look.colour
        low, high = line.ends
        if low is not None and high is not None:
            axes.plot([low, high], [y, y], color=colour, linewidth=1.6)
        face = "white" if line.refused or line.hollow else line.look.face
        dots = line.look.dots | {"markerfacecolor": face, "markeredgecolor": colour, "alpha": 1.0}
        axes.plot([line.value], [y], **dots)
        name_last(axes, line.label, [line.note])
    axes.set_yticks(range(len(lines)), [line.label for line in reversed(lines)])
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.grid(axis="y", visible=False)
    axes.set_xscale("log")
    _plain_ticks(axes)


def _plain_ticks(axes: Axes) -> None:
    """Write plain numbers on a logarithmic axis of ratios, several within a decade."""
    # A ratio seldom spans a decade: powers of ten alone would leave the axis with one number.
    low, high = axes.get_xlim()
    steps = (1, 1.5, 2, 3, 5, 7) if high / low < 10 else (1, 2, 5) if high / low < 100 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


@styled
def forest(comparisons: Sequence[Comparison], trials: pd.DataFrame, *, quantity: str) -> Figure:
    """Return ratios to the reference with 95 % intervals, one panel per cell, in each the reference over itself last.

    Args:
        comparisons: of one metric against one reference. trials: only for labels and looks.
        quantity: what the ratio is of, such as "throughput".

    Raises:
        InputError: no comparison.
    """
    if not comparisons:
        raise InputError("no comparison to draw", found="none", allowed="at least one")
    cells: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        cells.setdefault(cell_words(comparison.levels) or "all trials", []).append(comparison)
    height = 0.55 + len(cells) * (0.47 + 0.17 * max(map(len, cells.values())))
    figure, panels = canvas(len(cells), 1, height=height, sharex=True)
    for axes, (cell, arms) in zip(panels[:, 0], cells.items(), strict=True):
        axes.set_title(cell, loc="left", pad=3)
        _panel(axes, arms, trials)
    label = variant_styles(trials)[comparisons[0].reference].label
    panels[-1, 0].set_xlabel(f"{quantity}, ratio to {label} (log scale)")
    return figure


@styled
def forests(comparisons: Mapping[str, Sequence[Comparison]], trials: pd.DataFrame) -> Figure:
    """Return ratios to the reference side by side, one panel per metric, drawn as by ``forest``.

    Args:
        comparisons: what the ratio is of, such as "throughput" -> the comparisons of that metric in one cell; the same
            variants in each.
        trials: only for labels and looks.
    """
    height = 0.95 + 0.2 * max(map(len, comparisons.values()))
    figure, panels = canvas(1, len(comparisons), width=PAGE_INCHES, height=height, sharey=True)
    for axes, (quantity, arms) in zip(panels[0], comparisons.items(), strict=True):
        _panel(axes, arms, trials)
        axes.set_title(quantity, loc="left", pad=3)
    label = variant_styles(trials)[next(iter(comparisons.values()))[0].reference].label
    figure.supxlabel(f"ratio to {label} (log scale)")
    return figure


def _panel(axes: Axes, arms: Sequence[Comparison], trials: pd.DataFrame) -> None:
    looks, order = variant_styles(trials), ordered(trials)
    lines = [
        RatioLine(
            looks[arm.variant].label, arm.ratio.value, (arm.ratio.low, arm.ratio.high), looks[arm.variant],
            ratio_with_age(show(arm.ratio).interval, arm.young), refused=not arm.about_services,
            word=with_age(_SIGNS[arm.verdict], arm.young),
        )
        for arm in sorted(arms, key=lambda arm: order.index(arm.variant))
    ]  # fmt: skip
    noise, look = arms[0].noise, looks[arms[0].reference]
    word = "" if noise.noise is None else f"noise {percent(noise.noise)}"
    itself = noise.ratio if noise.elsewhere is None else noise.ratio.model_copy(update={"value": None})
    again = RatioLine(
        f"{look.label}, again", itself.value, (itself.low, itself.high), look, show(itself).interval, hollow=True,
        word=word,
    )  # fmt: skip
    bands = [arm.band for arm in arms if arm.band is not None]
    ratio_lines(axes, [*lines, again], max(bands, key=lambda band: band[1], default=None))
