# SPDX-License-Identifier: Apache-2.0
"""The forms of a program side by side: start, memory, disk."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import InputError
from harness.figures.means import rows_of_trials
from harness.figures.style import PAGE_INCHES, canvas, log_scale, styled
from harness.figures.variant_style import ordered, variant_styles

#: column -> (axis label, factor)
_PANELS = {
    "time_to_first_response_s": ("to first correct\nanswer / ms", 1e3),
    "idle_rss_bytes": ("resident memory\nidle / MiB", 2.0**-20),
    "disk_bytes": ("program and runtime\non disk / MiB", 2.0**-20),
}


@styled
def forms(trials: pd.DataFrame) -> Figure:
    """Return start-up, idle memory and size on disk, every trial a dot, one row a variant, log axes.

    Bar and number: the geometric mean, with its interval; hollow: the duplicated reference, no part of it.

    Size on disk is the artifact and what must be installed beside it.
    """
    kept = trials[~trials["excluded"].astype(bool)]
    if kept.empty:
        raise InputError("no trial was kept", found="0 trials", allowed="at least one")
    kept = kept.assign(disk_bytes=kept["artifact_bytes"] + kept["runtime_bytes"])
    styles, order = variant_styles(trials), ordered(kept)
    figure, panels = canvas(1, len(_PANELS), width=PAGE_INCHES, height=0.95 + 0.19 * len(order), sharey=True)
    for axes, (metric, (label, factor)) in zip(panels[0], _PANELS.items(), strict=True):
        rows_of_trials(axes, kept, metric, factor=factor, rows=order, styles=styles)
        if kept[metric].notna().any():
            log_scale(axes, "x")
        axes.set_xlabel(f"{label} (log)")
    panels[0, 0].set_yticks(range(len(order)), [styles[name].label for name in order])
    return figure
