# SPDX-License-Identifier: Apache-2.0
"""Latency distributions: percentiles on an axis of nines, and cumulative distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.analysis.stats.inputs import Floats
from harness.errors import InputError
from harness.figures.curves import median_and_range, quantile_notes
from harness.figures.dots import any_failed, failed_strip
from harness.figures.marks import name_last
from harness.figures.style import (
    BAND,
    FAINT,
    INK,
    canvas,
    label_ends,
    log_scale,
    styled,
)
from harness.figures.variant_style import VariantStyle, ordered, variant_styles

_NINES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
_NAMES = ("0", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %")
#: On an axis of more nines than this the median has no room beside 0.
_DEEP = 2.4
#: A quantile with fewer requests than this beyond it says more about luck than about the service.
TAIL_REQUESTS = 10


@styled
def percentiles(
    latencies: Mapping[str, Sequence[Floats]], trials: pd.DataFrame, *, resolution_s: float | None = None
) -> Figure:
    """Return latency against percentile on an axis of nines: the line is the median over trials, the band
    their range, and a strip below shows the share of failed requests, where any failed.

    Args:
        latencies: variant -> one array of latencies in seconds per trial.
        resolution_s: the tool's smallest step; what lies below two steps is shaded as not to be told.
    """
    _some(latencies)
    styles = variant_styles(trials)
    names = [name for name in ordered(trials) if latencies.get(name)]
    strip = any_failed(trials[trials["variant"].isin(names)])
    figure, panels = canvas(
        1 + strip, 1, height=3.1 if strip else 2.6, gridspec_kw={"height_ratios": [5, 1]} if strip else {}
    )
    axes = panels[0, 0]
    depth = min(_deepest(rows) for rows in latencies.values() if rows)
    grid = np.linspace(0, depth, 120)
    shares = 1 - 10.0**-grid
    ends = []
    for name in names:
        look = styles[name]
        curves = [np.quantile(one, shares) * 1e3 for one in latencies[name]]
        middle = median_and_range(axes, grid, curves, colour=look.colour, line=look.line)
        name_last(axes, look.label, quantile_notes(shares, middle))
        ends.append((float(middle[-1]), look.label, look.colour))
    log_scale(axes, "y")
    _nines(axes, depth)
    if resolution_s and 2 * resolution_s * 1e3 > axes.get_ylim()[0]:  # else nothing drawn lies below it
        axes.axhspan(axes.get_ylim()[0], 2 * resolution_s * 1e3, color=BAND, linewidth=0, zorder=0)
    axes.set_ylabel("latency / ms (log)")
    axes.set_xlabel("percentile of requests (axis of nines)")
    label_ends(axes, ends)
    if strip:
        _failed(panels[1, 0], trials, names, styles)
    return figure


def _some(latencies: Mapping[str, Sequence[Floats]]) -> None:
    if not any(len(rows) for rows in latencies.values()):
        raise InputError(
            "no latencies to draw: the load generator wrote no row per request, or no trial is here",
            found="0 trials",
            allowed="at least one trial of a tool that writes one row per request",
        )


def _deepest(rows: Sequence[Floats]) -> float:
    """How many nines the smallest trial can still tell."""
    fewest = min(len(one) for one in rows)
    return float(np.clip(np.log10(max(fewest / TAIL_REQUESTS, 10**0.5)), 0.5, 5))


def _nines(axes: Axes, depth: float) -> None:
    places = [-np.log10(1 - share) for share in _NINES]
    shown = [
        (place, name)
        for place, name in zip(places, _NAMES, strict=True)
        if place <= depth + 1e-9 and (name != "50 %" or depth <= _DEEP)
    ]
    axes.set_xticks([place for place, _ in shown], [name for _, name in shown])
    axes.set_xlim(0, depth)


def _failed(
    axes: Axes, trials: pd.DataFrame, names: Sequence[str], styles: Mapping[str, VariantStyle]
) -> None:
    failed_strip(axes, trials, rows=names, styles=styles, orient="v")
    axes.set_xticks(range(len(names)), [styles[name].label.replace(" ", "\n", 1) for name in names])
    axes.set_title("", loc="left")
    axes.set_ylabel("failed / %", color=INK)
    axes.tick_params(axis="x", length=0, colors=INK)
    axes.spines["bottom"].set_color(FAINT)
