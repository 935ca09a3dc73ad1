# SPDX-License-Identifier: Apache-2.0
"""Releases side by side: throughput, CPU time per request and memory of warm services, every trial a dot."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import NothingToDraw
from harness.figures.means import rows_of_trials
from harness.figures.style import PAGE_INCHES, canvas, log_scale, styled
from harness.figures.variant_style import variant_styles

#: column -> (axis label, factor)
_PANELS = {
    "throughput_per_s": ("thousand right answers\nper second and core", 1e-3),
    "cpu_s_per_request": ("CPU time per\nrequest / µs", 1e6),
    "rss_after_bytes": ("resident memory\nafter the load / MiB", 2.0**-20),
}


@styled
def releases(trials: pd.DataFrame, order: Sequence[str]) -> Figure:
    """Return a row a variant, every trial a dot, log axes.

    Bar and number: the geometric mean, with its interval; hollow: the duplicated reference, no part of it.

    Args:
        order: of the variants, the first one on top; those without a trial are left out.

    Raises:
        NothingToDraw: no trial was kept.
    """
    kept = trials[~trials["excluded"].astype(bool)]
    if kept.empty:
        raise NothingToDraw("no trial was kept", place="trials")
    rows = [name for name in reversed(order) if name in set(kept["variant"])]
    styles = variant_styles(trials)
    figure, panels = canvas(1, len(_PANELS), width=PAGE_INCHES, height=0.95 + 0.19 * len(rows), sharey=True)
    for axes, (metric, (label, factor)) in zip(panels[0], _PANELS.items(), strict=True):
        rows_of_trials(axes, kept, metric, factor=factor, rows=rows, styles=styles)
        if kept[metric].notna().any():
            log_scale(axes, "x")
        axes.set_xlabel(f"{label} (log)")
    panels[0, 0].set_yticks(range(len(rows)), [styles[name].label for name in rows])
    return figure
