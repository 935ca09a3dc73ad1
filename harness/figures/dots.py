# SPDX-License-Identifier: Apache-2.0
"""Every trial as a dot: rows of dots, and the strip of failed requests, both drawn by seaborn.

Within a row the trials stand in the order of their blocks, from top to bottom: nothing is jittered, so that the
same trials give the same picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes

from harness.analysis.tables.success_shares import counted_in, failed_share
from harness.figures.style import INK
from harness.figures.variant_style import VariantStyle

_SIZE, _EDGE = 3.6, 0.9
#: Of the distance of two rows, what their dots take.
_HEIGHT = 0.8


def rows_of_dots(
    axes: Axes,
    trials: pd.DataFrame,
    values: pd.Series,
    *,
    rows: Sequence[str],
    styles: Mapping[str, VariantStyle],
    by: str = "variant",
    orient: Literal["h", "v"] = "h",
    hollow: bool = False,
    crossed: bool = False,
) -> None:
    """Draw ``values`` of ``trials``, one row a level of ``by``; within a row variants, and of these the blocks.

    Args:
        trials: with the columns ``variant``, ``block`` and ``by``. values: one a trial, on the index of ``trials``.
        rows: the levels of ``by``, from top to bottom (``orient`` "v": from left to right).
        hollow: without filling. crossed: a cross in place of each variant's marker.
    """
    import seaborn as sns  # loads pyplot and scipy.stats: a second for who draws nothing

    level, variant = trials[by].astype(str), trials["variant"].astype(str)
    block = trials["block"].rank(method="dense").astype(int)
    # of all trials, so that a cross lies on the dot of its trial though only some trials have one
    names = [name for name in styles if name in set(variant)] if by != "variant" else [""]
    within = [(name, n) for name in names for n in range(1, int(block.max()) + 1)] if len(block) else []
    offset = {key: (place + 0.5) / len(within) - 0.5 for place, key in enumerate(within)}
    keys = zip(variant if by != "variant" else [""] * len(variant), block, strict=True)
    place = level.map({name: float(row) for row, name in enumerate(rows)})
    data = pd.DataFrame({"value": values, "place": place + [_HEIGHT * offset[key] for key in keys]}).dropna()
    for name in dict.fromkeys(variant[data.index].tolist()):
        look = styles[name]
        sns.stripplot(
            data=data[variant[data.index] == name],
            x="value" if orient == "h" else "place",
            y="place" if orient == "h" else "value",
            color=INK if crossed else "none" if hollow else look.face,
            orient=orient,
            native_scale=True,  # categories would be drawn for each block of each variant in every row, empty ones too
            jitter=False,
            ax=axes,
            **(_CROSS if crossed else _marks(look)),
        )
    levels = axes.yaxis if orient == "h" else axes.xaxis
    levels.set_ticks(range(len(rows)), list(rows))
    levels.grid(visible=False)
    axes.set_xlabel("")
    axes.set_ylabel("")
    span = (len(rows) - 0.4, -0.6) if orient == "h" else (-0.6, len(rows) - 0.4)
    axes.set_ylim(*span) if orient == "h" else axes.set_xlim(*span)


_CROSS: dict[str, Any] = {"marker": "x", "size": 5.0, "linewidth": 0.8}


def _marks(look: VariantStyle) -> dict[str, Any]:
    return {
        "marker": look.marker, "size": _SIZE, "edgecolor": look.colour, "linewidth": _EDGE, "alpha": 0.85,
    }  # fmt: skip


def any_failed(trials: pd.DataFrame) -> bool:
    """Whether a kept trial had a failed request: a strip of zeros would be an empty panel."""
    shares = failed_share(trials[~trials["excluded"].astype(bool)])
    return bool((shares > 0).any())


def failed_strip(
    axes: Axes,
    trials: pd.DataFrame,
    *,
    rows: Sequence[str],
    styles: Mapping[str, VariantStyle],
    orient: Literal["h", "v"] = "h",
) -> None:
    """Draw the share of failed requests of every kept trial: a fast answer that is wrong is no answer."""
    kept = trials[~trials["excluded"].astype(bool) & trials["variant"].isin(list(rows))]
    shares = 100 * failed_share(kept)
    rows_of_dots(axes, kept, shares, rows=rows, styles=styles, orient=orient)
    most = max(1.0, float(shares.max()) * 1.15) if shares.notna().any() else 1.0
    limits = (-0.04 * most, most)
    axes.set_xlim(*limits) if orient == "h" else axes.set_ylim(*limits)
    axes.set_title(f"failed {counted_in(kept)} / %", loc="left", pad=2)


__all__ = ["any_failed", "failed_strip", "rows_of_dots"]
