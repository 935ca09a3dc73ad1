# SPDX-License-Identifier: Apache-2.0
"""Reasons to believe the numbers: coverage of the intervals, equal arms, and curves of warm-up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from harness.analysis.stats.detectable import PowerCurve
from harness.errors import InputError, NothingToDraw
from harness.figures.style import (
    BAND,
    INK,
    LINE_INCHES,
    PAGE_INCHES,
    cannot_be_said,
    canvas,
    in_lines,
    log_scale,
    styled,
)
from harness.figures.variant_style import variant_styles
from harness.model import Estimate
from harness.model.digits import percent
from harness.questions.validity.factors import Effects
from harness.verify.simulated.result import Cell, VerifyResult
from harness.verify.simulated.stall_curves import PrecisionRecall

#: Colour, marker and line of each curve: any one of the three tells them apart.
_FINDERS = (("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#222222", "^", ":"))
_ALONE, _TOGETHER = "#0072B2", "#D55E00"
#: In a line of a row's name.
_SIGNS = 36
#: Below this share the axis of coverage begins at zero.
_SHARES_FAR_APART = 0.5
_HOLDS, _FAILS, _CONTROL = "#0072B2", "#D55E00", "#999999"


@styled
def coverage(found: VerifyResult) -> Figure:
    """Return every cell of a verification as a dot between its limits; controls hollow, they must fall outside.

    The axis begins below the lowest limit and value that is no control. An arrow at its end stands for a control that
    lies beyond, with its value.
    """
    cells = list(reversed(found.cells))
    if not cells:
        raise InputError("no cell to draw", place=found.name, found="0", allowed="at least one")
    names = [in_lines(cell.name, _SIGNS) for cell in cells]
    lines = [name.count("\n") + 1 for name in names]
    figure, panels = canvas(height=0.6 + 1.08 * LINE_INCHES * sum(lines))
    axes = panels[0, 0]
    from_share = _axis_from(cells)
    places = [sum(lines[:row]) + 0.5 * lines[row] for row in range(len(cells))]
    for y, cell in zip(places, cells, strict=True):
        low = 0.0 if cell.at_least is None else cell.at_least
        high = 1.0 if cell.at_most is None else cell.at_most
        axes.plot([low, high], [y, y], color=BAND, linewidth=5, solid_capstyle="butt", zorder=0)
        colour = _CONTROL if cell.control else _HOLDS if cell.holds else _FAILS
        if cell.value < from_share:
            axes.plot([0.01], [y], "<", color=colour, transform=axes.get_yaxis_transform())
            axes.text(0.05, y, percent(cell.value), va="center", transform=axes.get_yaxis_transform())
            continue
        axes.plot(
            [cell.value], [y], "o" if cell.holds else "X", color=colour,
            markerfacecolor="white" if cell.control else colour,
        )  # fmt: skip
    axes.set_yticks(places, names)
    axes.set_ylim(-0.2, sum(lines) + 0.2)
    axes.set_xlim(from_share, 1.005)
    figure.supxlabel(f"share of {found.sims} simulated experiments")
    return figure


def _axis_from(cells: Sequence[Cell]) -> float:
    """Return where the axis of shares begins: a little below all limits and values, those of controls apart."""
    least = [
        one for cell in cells if not cell.control for one in (cell.value, cell.at_least) if one is not None
    ]
    if not least or min(least) < _SHARES_FAR_APART:
        return -0.02
    return math.floor(20 * (min(least) - 0.02)) / 20


@styled
def precision_recall(curves: Sequence[PrecisionRecall]) -> Figure:
    """Return precision against recall, one line a finder with a marker of its own; filled: the threshold in use."""
    if not curves:
        raise InputError("no curve to draw", found="0", allowed="at least one")
    figure, panels = canvas(height=2.4)
    axes = panels[0, 0]
    for number, curve in enumerate(curves):
        colour, marker, line = _FINDERS[number % len(_FINDERS)]
        drawn = [point for point in curve.points if point.precision is not None]
        axes.plot(
            [point.recall for point in drawn], [point.precision or 0.0 for point in drawn], color=colour,
            linestyle=line, marker=marker, markerfacecolor="white", label=curve.finder,
        )  # fmt: skip
        used = [point for point in drawn if point.threshold == curve.used]
        axes.plot(
            [point.recall for point in used], [point.precision or 0.0 for point in used], marker,
            color=colour, markersize=6,
        )  # fmt: skip
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall", ylabel="precision")
    figure.legend(
        loc="outside lower center", ncols=len(curves), frameon=False, columnspacing=1.0, handlelength=2.4
    )
    return figure


@styled
def power(
    curves: Mapping[str, Sequence[PowerCurve]], trials: pd.DataFrame, *, names: Mapping[str, str]
) -> Figure:
    """Return the smallest difference against the number of blocks, one panel a metric and one line a pair.

    Args:
        curves: column -> curves. trials: those they are of, for the styles of variants. names: column -> words.
    """
    if not curves:
        raise InputError("no curve to draw", found="0", allowed="at least one")
    styles = variant_styles(trials)
    figure, panels = canvas(1, len(curves), width=PAGE_INCHES, height=2.2, sharey=True)
    for axes, (metric, ones) in zip(panels[0], curves.items(), strict=True):
        for one in ones:
            drawn = [
                (p.n_blocks, 100 * (p.ratio.value - 1)) for p in one.smallest if p.ratio.value is not None
            ]
            style = styles[one.variant]
            axes.plot(
                [n for n, _ in drawn], [size for _, size in drawn],
                **(style.dots | {"linestyle": style.line, "color": style.colour}),
                linewidth=2.2 if one.twice else 1.0,
                label=f"{style.label}{', twice' if one.twice else ''}",
            )  # fmt: skip
        log_scale(axes, "x", "y")
        axes.set_xticks([p.n_blocks for p in ones[0].smallest])
        axes.set(title=names[metric], xlabel="blocks")
    panels[0, 0].set_ylabel("smallest difference / %")
    panels[0, -1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


@styled
def ratios(found: Mapping[str, Estimate], *, label: str) -> Figure:
    """Return named ratios with their intervals around one, on a log axis; one that cannot be said is named."""
    if not found:
        raise InputError("no ratio to draw", found="0", allowed="at least one")
    figure, panels = canvas(height=0.7 + 0.2 * len(found))
    axes = panels[0, 0]
    axes.axvline(1, color=INK, linewidth=0.7)
    for y, estimate in enumerate(list(found.values())[::-1]):
        if estimate.value is None:
            cannot_be_said(axes, y)
            continue
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [y, y], color=_HOLDS, linewidth=1.5)
        axes.plot([estimate.value], [y], "o", color=_HOLDS)
    axes.set_yticks(range(len(found)), list(found)[::-1])
    axes.set_ylim(-0.6, len(found) - 0.4)
    log_scale(axes, "x")
    axes.set_xlabel(label)
    return figure


@styled
def factor_ratios(found: Effects) -> Figure:
    """Return every effect on p99 with its interval around one, on a log axis, one panel an experiment.

    Squares: one factor alone, a ratio. Dots: two together, a ratio of ratios. Hollow: not about the services.
    """
    panels = {
        name: [one for one in ones if one.effect.ratio.value is not None] for name, ones in found.items()
    }
    panels = {name: ones for name, ones in panels.items() if ones}
    if not panels:
        raise NothingToDraw("no effect to draw", found="0", allowed="at least one")
    sizes = [len(ones) for ones in panels.values()]
    figure, grid = canvas(
        len(panels),
        width=PAGE_INCHES,
        height=0.6 * len(panels) + 1.15 * LINE_INCHES * sum(sizes),
        height_ratios=sizes,
    )
    for axes, (name, ones) in zip(grid[:, 0], panels.items(), strict=True):
        axes.axvline(1, color=INK, linewidth=0.7)
        for y, one in enumerate(reversed(ones)):
            effect = one.effect
            colour = _TOGETHER if effect.order > 1 else _ALONE
            low, high = effect.ratio.low, effect.ratio.high
            if low is not None and high is not None:
                axes.plot([low, high], [y, y], color=colour, linewidth=1.2)
            axes.plot(
                [effect.ratio.value], [y], "o" if effect.order > 1 else "s", color=colour,
                markerfacecolor="white" if effect.not_about else colour,
            )  # fmt: skip
        axes.set_yticks(range(len(ones)), [one.words for one in reversed(ones)])
        axes.set_ylim(-0.7, len(ones) - 0.3)
        axes.set_title(name)
        log_scale(axes, "x")
    grid[-1, 0].set_xlabel("ratio of p99 (squares), ratio of ratios (dots), log")
    return figure
