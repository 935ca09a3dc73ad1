# SPDX-License-Identifier: Apache-2.0
"""Start-up and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import InputError
from harness.figures.marks import name_last
from harness.figures.means import rows_of_trials
from harness.figures.style import canvas, in_lines, label_ends, log_scale, row_inches, styled
from harness.figures.variant_style import ordered, variant_styles

_FIRST = "time_to_first_response_s"
#: In a line of a row's name.
_SIGNS = 18
_PHASE_SHADES = {"start-up": "#DDDDDD", "warm-up": "#F0F0F0", "measurement": "#FFF4D6", "idle": "#F7F7F7"}


@styled
def startup(trials: pd.DataFrame) -> Figure:
    """Return time to the first correct answer of every trial, log scale, one row a variant.

    Bar and number: the geometric mean, with its interval; hollow: the duplicated reference, no part of it.
    """
    kept = trials[~trials["excluded"].astype(bool)].dropna(subset=[_FIRST])
    if kept.empty:
        raise InputError("no trial has this metric", place=_FIRST, found="0 trials", allowed="at least one")
    styles, order = variant_styles(trials), ordered(kept)
    names = [styles[name].label for name in order]
    figure, panels = canvas(height=0.8 + row_inches(names, _SIGNS, least=0.2) * len(order))
    axes = panels[0, 0]
    rows_of_trials(axes, kept, _FIRST, factor=1e3, rows=order, styles=styles)
    axes.set_yticks(range(len(order)), [in_lines(name, _SIGNS) for name in names])
    log_scale(axes, "x")
    axes.set_xlabel("to first correct answer / ms (log); bar: mean")
    return figure


@styled
def resident_memory(
    samples: Mapping[str, pd.DataFrame],
    trials: pd.DataFrame,
    *,
    phases: Sequence[tuple[str, float, float]] = (),
    garbage_collections: Mapping[str, Sequence[float]] | None = None,
) -> Figure:
    """Return resident memory of the service over time since launch, one trial a variant.

    Args:
        samples: variant -> its samples (``since_launch_s``, ``role``, ``rss_bytes``) of one trial.
        phases: (name, start, end) in seconds since launch, shaded; of the trial that serves as the example.
        garbage_collections: variant -> seconds since launch, drawn as ticks along the foot.
    """
    if not samples:
        raise InputError("no samples to draw", found="0 trials", allowed="at least one")
    styles = variant_styles(trials)
    figure, panels = canvas(height=2.4)
    axes = panels[0, 0]
    ends = []
    latest = 0.0
    for name in (name for name in ordered(trials) if name in samples):
        frame = samples[name]
        mine = frame[frame["role"].astype(str) == "service"].dropna(subset=["rss_bytes"])
        if mine.empty:
            continue
        look = styles[name]
        axes.plot(mine["since_launch_s"], mine["rss_bytes"] / 2**20, color=look.colour, linestyle=look.line)
        name_last(axes, look.label)
        ends.append((float(mine["rss_bytes"].iloc[-1] / 2**20), look.label, look.colour))
        latest = max(latest, float(mine["since_launch_s"].max()))
        ticks = (garbage_collections or {}).get(name, ())
        axes.plot(
            list(ticks),
            [0.015 + 0.03 * (len(ends) - 1)] * len(ticks),
            "|",
            color=look.colour,
            markersize=3,
            transform=axes.get_xaxis_transform(),
        )
    for phase, start, end in phases:
        shade = _PHASE_SHADES.get(phase)
        if shade and end > start:
            axes.axvspan(start, end, color=shade, linewidth=0, zorder=0)
            if end - start > 0.1 * latest:
                axes.text(
                    (start + end) / 2,
                    1.01,
                    phase,
                    transform=axes.get_xaxis_transform(),
                    ha="center",
                )
    log_scale(axes, "y")
    axes.set_xlim(0, latest or 1)
    axes.set_xlabel("time since launch / s")
    axes.set_ylabel("resident memory / MiB (log)")
    label_ends(axes, ends)
    return figure
