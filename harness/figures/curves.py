# SPDX-License-Identifier: Apache-2.0
"""Curves over trials: latency by percentile on an axis of nines, and becoming warm by window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.analysis.stats.inputs import Floats
from harness.errors import InputError
from harness.figures.marks import name_last
from harness.figures.style import FAINT, PAGE_INCHES, canvas, log_scale, styled
from harness.figures.variant_style import ordered, variant_styles
from harness.model.digits import percent, plain

_NINES = ("0", "90 %", "99 %", "99.9 %", "99.99 %")
#: A quantile with fewer requests than this beyond it says more about luck than about the service.
TAIL_REQUESTS = 10
_LOOPS = {"open": ("#222222", "-"), "closed": ("#0072B2", "--")}
#: column of windows -> (axis label, factor)
_COLD = {
    "per_s": ("right answers per second (log)", 1.0),
    "cpu_s_per_request": ("CPU time per request / µs (log)", 1e6),
}


@styled
def percentiles(latencies: Mapping[str, Sequence[Floats]], trials: pd.DataFrame) -> Figure:
    """Return latency against percentile on an axis of nines: the line is the median over trials, the band their range.

    Args:
        latencies: variant -> one array of latencies in seconds per trial. trials: only for labels and looks.

    Raises:
        InputError: no latencies.
    """
    styles = variant_styles(trials)
    drawn = [name for name in ordered(trials) if latencies.get(name)]
    _refuse_none(drawn)
    figure, panels = canvas(height=3.2)
    depth = min(_depth(latencies[name]) for name in drawn)
    for name in drawn:
        look = styles[name]
        _by_nines(panels[0, 0], latencies[name], depth, look.label, color=look.colour, linestyle=look.line)
    panels[0, 0].set_ylabel("latency / ms (log)")
    figure.supxlabel("percentile of requests (axis of nines)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


@styled
def open_and_closed(
    latencies: Mapping[str, Mapping[str, Sequence[Floats]]], labels: Mapping[str, str]
) -> Figure:
    """Return latency by percentile as of ``percentiles``, one panel a variant, one line a kind of loop.

    Args:
        latencies: variant -> open or closed -> one array in seconds per trial. labels: names of the variants.

    Raises:
        InputError: no latencies.
    """
    drawn = [name for name in labels if latencies.get(name)]
    _refuse_none(drawn)
    figure, panels = canvas(1, len(drawn), width=PAGE_INCHES, height=2.3, sharey=True)
    for axes, name in zip(panels[0], drawn, strict=True):
        for loop, arrays in latencies[name].items():
            colour, line = _LOOPS.get(loop, (FAINT, ":"))
            _by_nines(axes, arrays, _depth(arrays), f"{loop} loop", color=colour, linestyle=line)
        axes.set_title(labels[name], loc="left")
    panels[0, 0].set_ylabel("latency / ms (log)")
    panels[0, 0].legend(frameon=False)
    figure.supxlabel("percentile of requests (axis of nines)")
    return figure


@styled
def cold_curves(windows: pd.DataFrame) -> Figure:
    """Return throughput and CPU time per request by window of the warm-up, log axes: every process a thin line, and
    the median of each variant's processes, for as long as half of them were still being warmed up.

    Args:
        windows: as of :func:`harness.evidence.warm.cold_windows`.
    """
    styles = variant_styles(windows)
    figure, panels = canvas(1, len(_COLD), width=PAGE_INCHES, height=2.7)
    for axes, (column, (label, factor)) in zip(panels[0], _COLD.items(), strict=True):
        shown = windows[windows[column] > 0].assign(value=windows[column] * factor)
        for name in ordered(windows):
            look, own = styles[name], shown[shown["variant"] == name]
            for _, process in own.groupby(["session_id", "trial_id"]):
                axes.plot(process["at_s"], process["value"], color=look.colour, linewidth=0.5, alpha=0.5)
            by_window = own.groupby("window")[["at_s", "value"]]
            medians = by_window.median()[2 * by_window.size() >= by_window.size().max()]
            axes.plot(
                medians["at_s"], medians["value"], color=look.colour, linestyle=look.line, label=look.label
            )
            name_last(axes, look.label)
        log_scale(axes, "x", "y")
        axes.set_xlabel("since the first request / s (log)")
        axes.set_ylabel(label)
    panels[0, -1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.0)
    return figure


def _refuse_none(drawn: Sequence[str]) -> None:
    if not drawn:
        raise InputError(
            "no latencies to draw: the load generator wrote no row per request, or no trial is here",
            found="0 trials",
            allowed="at least one trial of a tool that writes one row per request",
        )


def _depth(arrays: Sequence[Floats]) -> float:
    """How many nines the smallest trial can still tell."""
    return float(np.clip(np.log10(min(map(len, arrays)) / TAIL_REQUESTS), 0.5, len(_NINES) - 1))


def _by_nines(axes: Axes, arrays: Sequence[Floats], depth: float, label: str, **line: Any) -> None:
    """Draw the quantiles of trials on an axis of nines: their median as a line, their range as a band."""
    nines = np.linspace(0, depth, 100)
    curves = np.array([np.quantile(values, 1 - 10.0**-nines) * 1e3 for values in arrays])
    middle = np.median(curves, axis=0)
    axes.fill_between(
        nines, curves.min(axis=0), curves.max(axis=0), color=line["color"], alpha=0.18, linewidth=0
    )
    axes.plot(nines, middle, label=label, **line)
    notes = [
        f"{percent(share, 4)} of requests within {plain(value)} ms"
        for share, value in zip(1 - 10.0**-nines, middle, strict=True)
    ]
    name_last(axes, label, notes)
    axes.set_xticks(range(len(_NINES)), _NINES)
    axes.set_xlim(0, max(1.0, axes.dataLim.x1))
    log_scale(axes, "y")
