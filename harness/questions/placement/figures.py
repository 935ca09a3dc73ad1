# SPDX-License-Identifier: Apache-2.0
"""Ratios between placements."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.errors import InputError
from harness.figures.style import BAND, INK, cannot_be_said, canvas, in_lines, log_scale, row_inches, styled
from harness.figures.variant_style import COLOURS
from harness.model.formatting import verdict_name
from harness.questions.placement.analysis import PlaceRow

#: In a line of a row's name.
_SIGNS = 18


@styled
def places(rows: Sequence[PlaceRow], *, quantity: str) -> Figure:
    """Return each place over the first, one panel a variant: 90 % intervals, the margin of equivalence behind.

    Raises:
        InputError: there is no second place.
    """
    if not rows:
        raise InputError("no place to compare", found="one place", allowed="two or more")
    variants = list(dict.fromkeys(row.variant for row in rows))
    most = max(sum(one.variant == name for one in rows) for name in variants)
    row = row_inches([one.place for one in rows], _SIGNS, least=0.19)
    figure, panels = canvas(len(variants), 1, height=0.55 + len(variants) * (0.3 + row * most), sharex=True)
    for axes, name in zip(panels[:, 0], variants, strict=True):
        mine = [one for one in rows if one.variant == name][::-1]
        bands = [one.band for one in mine if one.band is not None]
        if bands:
            axes.axvspan(*max(bands, key=lambda band: band[1]), color=BAND, linewidth=0)
        axes.axvline(1, color=INK, linewidth=0.7)
        colour = COLOURS.get(mine[0].language, INK)
        for y, one in enumerate(mine):
            _place(axes, y, one, colour)
        axes.set_yticks(range(len(mine)), [in_lines(one.place, _SIGNS) for one in mine])
        axes.set_ylim(-0.6, len(mine) - 0.4)
        axes.set_title(mine[0].label, loc="left", pad=3)
        axes.grid(axis="y", visible=False)
    log_scale(panels[-1, 0], "x")
    panels[-1, 0].set_xlabel(f"{quantity}, ratio to: {rows[0].reference} (log)")
    return figure


def _place(axes: Axes, y: int, row: PlaceRow, colour: str) -> None:
    transform = axes.get_yaxis_transform()
    if row.equivalence.value is None:
        cannot_be_said(axes, y)
        return
    if row.equivalence.low is not None and row.equivalence.high is not None:
        axes.plot([row.equivalence.low, row.equivalence.high], [y, y], color=colour, linewidth=1.6)
    axes.plot(
        [row.equivalence.value], [y], "o", color=colour, markerfacecolor=colour if row.paired else "white"
    )
    axes.text(1.01, y, verdict_name(row), transform=transform, va="center")
