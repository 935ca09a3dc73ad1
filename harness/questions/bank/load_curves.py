# SPDX-License-Identifier: Apache-2.0
"""What grows with the load, and what changes from the first part of a load to its last."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.errors import InputError
from harness.figures.style import INK, canvas, label_ends, legend, log_scale, styled
from harness.figures.variant_style import Look, looks, ordered
from harness.model import Estimate


@styled
def under_load(table: pd.DataFrame, knees: Mapping[str, Estimate]) -> Figure:
    """Return p99, right answers and failed requests against the offered load, every trial a dot.

    The line joins the medians at each load; a knee stands in the upper panel with its interval. Trials that
    were overloaded are drawn like any other.

    Raises:
        InputError: no trial says what was offered to it.
    """
    told = table[~table["duplicate"].astype(bool)].dropna(subset=["offered_per_s"])
    if told.empty:
        raise InputError("no trial says what was offered", found="0 trials", allowed="at least one")
    styles = looks(table)
    figure, panels = canvas(3, 1, height=4.4, sharex=True, gridspec_kw={"height_ratios": [3, 3, 2]})
    latency, right, failed = panels[:, 0]
    shown = told.assign(p99_ms=told["latency_p99_s"] * 1e3, failed=100 * told["error_share"])
    for name in ordered(told):
        mine = shown[shown["variant"] == name]
        _dots(latency, mine, "p99_ms", styles[name])
        _dots(right, mine, "sustained_per_s", styles[name])
        _dots(failed, mine, "failed", styles[name])
    most = float(told["offered_per_s"].max())
    failed.set_xlim(0, most * 1.05)
    for name in ordered(told):
        _knee(latency, knees.get(name), styles[name])
    right.plot([0, most], [0, most], color=INK, linewidth=0.6, linestyle=":")
    if shown["p99_ms"].notna().any():
        log_scale(latency, "y")
    latency.set_ylabel("p99 latency / ms (log)")
    right.set_ylabel("right answers / s,\nwhile offered")
    failed.set_ylabel("failed / %")
    right.set_ylim(bottom=0)
    failed.set_ylim(bottom=-1, top=max(5.0, float(shown["failed"].max()) * 1.1))
    failed.set_xlabel("offered requests / s (dotted: all of them answered)")
    legend(right, ordered(told), styles, lines=False)
    return figure


@styled
def by_part(parts: pd.DataFrame, metric: str, *, label: str, factor: float = 1.0, log: bool = True) -> Figure:
    """Return a metric over the parts of one long load, a thin line a trial, a thick one the median over trials.

    Raises:
        InputError: no part has this metric.
    """
    told = parts[~parts["duplicate"].astype(bool)].dropna(subset=[metric])
    if told.empty:
        raise InputError("no part has this metric", place=metric, found="0 parts", allowed="at least one")
    styles = looks(parts)
    figure, panels = canvas(height=2.3)
    axes = panels[0, 0]
    names = list(dict.fromkeys(told["part"]))
    place = {name: x for x, name in enumerate(names)}
    ends = []
    for name in ordered(told):
        mine = told[told["variant"] == name].assign(x=lambda frame: frame["part"].map(place))
        look = styles[name]
        for _, trial in mine.groupby(["session_id", "trial_id"]):
            axes.plot(trial["x"], trial[metric] * factor, color=look.colour, linewidth=0.5, alpha=0.5)
        middle = mine.groupby("x")[metric].median() * factor
        axes.plot(
            middle.index, middle, color=look.colour, linestyle=look.line, marker=look.marker,
            markerfacecolor=look.face,
        )  # fmt: skip
        ends.append((float(middle.iloc[-1]), look.label, look.colour))
    if log:
        log_scale(axes, "y")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.2, len(names) - 0.8)
    axes.set_xlabel("part of the load, in a process that was fresh before the first")
    axes.set_ylabel(f"{label} (log)" if log else label)
    label_ends(axes, ends)
    return figure


def _dots(axes: Axes, mine: pd.DataFrame, column: str, look: Look) -> None:
    there = mine.dropna(subset=[column])
    axes.plot(there["offered_per_s"], there[column], **look.dots)
    middle = there.groupby("offered_per_s")[column].median()
    axes.plot(middle.index, middle, color=look.colour, linestyle=look.line, linewidth=0.9)


def _knee(axes: Axes, found: Estimate | None, look: Look) -> None:
    if found is None or found.value is None:
        return
    axes.axvline(found.value, color=look.colour, linestyle=look.line, linewidth=0.8)
    low, high = axes.get_xlim()  # where the interval is open the band goes on to the end
    axes.axvspan(
        low if found.low is None else found.low,
        high if found.high is None else found.high,
        color=look.colour,
        alpha=0.12,
        linewidth=0,
    )
