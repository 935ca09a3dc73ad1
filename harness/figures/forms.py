# SPDX-License-Identifier: Apache-2.0
"""The forms of a program side by side: start, memory, disk."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import InputError
from harness.figures.looks import looks, ordered
from harness.figures.style import INK, PAGE_INCHES, canvas, log_scale, styled
from harness.model.digits import plain

#: column -> (axis label, factor)
_PANELS = {
    "time_to_first_response_s": ("to first correct answer / ms", 1e3),
    "idle_rss_bytes": ("resident memory idle / MiB", 2.0**-20),
    "disk_bytes": ("program and runtime on disk / MiB", 2.0**-20),
}


@styled
def forms(trials: pd.DataFrame) -> Figure:
    """Return start-up, idle memory and size on disk, every trial a dot, one row a variant, log axes.

    Size on disk is the artifact and what must be installed beside it.
    """
    kept = trials[~trials["excluded"].astype(bool)]
    if kept.empty:
        raise InputError("no trial was kept", found="0 trials", allowed="at least one")
    kept = kept.assign(disk_bytes=kept["artifact_bytes"] + kept["runtime_bytes"])
    styles, order = looks(trials), list(reversed(ordered(kept)))
    figure, panels = canvas(1, len(_PANELS), width=PAGE_INCHES, height=0.8 + 0.19 * len(order), sharey=True)
    for axes, (metric, (label, factor)) in zip(panels[0], _PANELS.items(), strict=True):
        for y, name in enumerate(order):
            mine = kept[kept["variant"] == name].dropna(subset=[metric]).sort_values("block")
            if mine.empty:
                continue
            rank = mine["block"].rank(method="dense").to_numpy()
            spread = (rank - rank.mean()) / max(len(mine), 2) * 0.5
            axes.plot(mine[metric] * factor, y - spread, **styles[name].dots)
            middle = float(mine[metric].median() * factor)
            axes.plot([middle, middle], [y - 0.32, y + 0.32], color=INK, linewidth=1.0)
            axes.text(1.01, y, plain(middle), transform=axes.get_yaxis_transform(), fontsize=6, va="center")
        axes.set_ylim(-0.6, len(order) - 0.4)
        if axes.lines:
            log_scale(axes, "x")
        axes.set_xlabel(f"{label} (log)")
    panels[0, 0].set_yticks(range(len(order)), [styles[name].label for name in order])
    return figure
