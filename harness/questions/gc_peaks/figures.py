# SPDX-License-Identifier: Apache-2.0
"""Peaks and their causes: latency over time with pauses behind it, and shares of the tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from harness.analysis.attribution.rows import AttributionRow
from harness.analysis.attribution.spans import Span, joined
from harness.errors import InputError
from harness.figures.style import FAINT, INK, PAGE_INCHES, cannot_be_said, canvas, log_scale, styled
from harness.model import Estimate
from harness.questions.gc_peaks.analysis import Timeline

#: Okabe and Ito again; hue is the cause here, and says so in the legend. Markers repeat it for grey print.
CAUSES: Mapping[str, tuple[str, str, str]] = {
    "gc_pause": ("#D55E00", "v", "collection"),
    "allocation_stall": ("#CC79A7", "s", "allocation stall"),
    "other_safepoint": ("#56B4E9", "D", "other safepoint"),
    "generator_stall": ("#009E73", "^", "generator's pause"),
    "connect": ("#E69F00", "P", "connecting"),
    "unexplained": ("#222222", "x", "unexplained"),
}
OTHER = ("#F0E442", "*")
#: Pauses of different kinds are equally light: in grey the stripes tell them apart.
HATCHES = {"allocation_stall": ".....", "other_safepoint": "xxxxx", "generator_stall": "/////"}
#: Most pauses are narrower than a stripe, and show nothing but edges. Those of collections have none: they are many.
EDGES = {"allocation_stall": ":", "other_safepoint": "-.", "generator_stall": "--"}
EDGE_WIDTH = 0.9


@styled
def peaks(trials: Sequence[Timeline]) -> Figure:
    """Return latency over time, one panel a trial: pauses as bands behind it, the tail's requests by their cause."""
    if not trials:
        raise InputError("no trial to draw", found="0 trials", allowed="at least one")
    figure, panels = canvas(
        len(trials), 1, width=PAGE_INCHES, height=0.5 + 0.85 * len(trials), sharex=True, sharey=True
    )
    for axes, one in zip(panels[:, 0], trials, strict=True):
        _one_timeline(axes, one)
    log_scale(panels[0, 0], "y")
    low, high = panels[0, 0].get_ylim()
    # a panel this low has no room for more, and the usual locator writes nothing at all then
    panels[0, 0].yaxis.set_major_locator(LogLocator(subs=(1,) if high / low > 20 else (1, 3), numticks=9))
    panels[-1, 0].set_xlabel("time since the first request / s")
    figure.supylabel("latency / ms (log)")
    banded = [name for name in CAUSES if any(one.events.get(name) for one in trials)]
    seen = [name for name in CAUSES if name in banded or any(name in one.causes for one in trials)]
    figure.legend(
        handles=[_sign_of(name, banded=name in banded) for name in seen],
        labels=[CAUSES[name][2] for name in seen],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.4)},
        handlelength=3.4,
        loc="outside lower center",
        ncols=len(seen) or 1,
        frameon=False,
    )
    return figure


@styled
def explained(rows: Sequence[AttributionRow]) -> Figure:
    """Return two panels, a row each variant: the share of all trials' quantile behind pauses with its interval
    and both bounds, and what the tail's time beyond the median is made of."""
    if not rows:
        raise InputError("no attribution to draw", found="0 rows", allowed="at least one")
    figure, panels = canvas(1, 2, width=PAGE_INCHES, height=0.9 + 0.19 * len(rows), sharey=True)
    left, right = panels[0, 0], panels[0, 1]
    for y, row in enumerate(reversed(rows)):
        _share(left, y, row)
        _stack(right, y, row)
    left.axvline(0, color=INK, linewidth=0.7)
    left.set_yticks(range(len(rows)), [_name(row) for row in reversed(rows)])
    left.set_ylim(-0.6, len(rows) - 0.4)
    left.set_xlabel(f"share of pooled {rows[0].quantile} that\nwould vanish with pauses / %")
    left.set_title("; ".join(_signs_of(rows)), loc="left")
    right.set_xlim(0, 100)
    right.set_xlabel(f"of the time beyond the median,\nrequests beyond {rows[0].quantile} / %")
    handles = [
        Patch(facecolor=CAUSES[name][0], edgecolor="white", linewidth=0, hatch=HATCHES.get(name), label=label)
        for name, label in _STACKED.items()
    ]
    if any(_has_untold(row) for row in rows):
        handles.append(Patch(color=_UNTOLD, label="cause not known"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    return figure


_UNTOLD = "#DDDDDD"
#: So many bands beside each other can be told apart across the page.
_SEEN_APART = 600
_STACKED = {
    "gc_pause": "service's pauses",
    "generator_stall": "generator's pauses",
    "connect": "connecting",
    "unexplained": "unexplained",
}


def _signs_of(rows: Sequence[AttributionRow]) -> list[str]:
    """Return what the marks of the left panel mean, of those that some row has."""
    signs = ["dot: estimate, 95 %"]
    if any(row.share_lower.value is not None and row.share_upper.value is not None for row in rows):
        signs.append("bar: bounds")
    if any(row.share.value is None and row.most_share.value is not None for row in rows):
        signs.append("arrow: upper bound")
    return signs


def _has_untold(row: AttributionRow) -> bool:
    """Whether a part of the stack has no cause: pauses that could not be aligned are not unexplained."""
    tails = (
        row.service_tail.value,
        row.generator_tail.value,
        row.connect_tail.value,
        row.unexplained_tail.value,
    )
    return any(tail is not None for tail in tails) and (tails[0] is None or tails[3] is None)


def _bands(spans: Sequence[Span], wide_s: float) -> list[Span]:
    """Return spans with those in one that are too near to each other to be seen apart."""
    near_s = wide_s / _SEEN_APART
    return [(low, high - near_s) for low, high in joined((low, high + near_s) for low, high in spans)]


def _one_timeline(axes: Axes, one: Timeline) -> None:
    wide_s = float(np.ptp(one.start_s))
    for name, spans in one.events.items():
        for low, high in _bands(spans, wide_s):
            axes.axvspan(low, high, **_band_of(name), linewidth=0 if name in EDGES else 0.4)
            # one by one from the bottom: around a band of a pixel the dashes of its sides would fill each other's gaps
            for at in (low, high) if name in EDGES else ():
                axes.axvline(at, color=_colour_of(name), linestyle=EDGES[name], linewidth=EDGE_WIDTH)
    causes = np.array([cause or "" for cause in one.causes])
    ordinary = causes == ""
    axes.plot(
        one.start_s[ordinary],
        one.latency_s[ordinary] * 1e3,
        ".",
        color=FAINT,
        markersize=1.2,
        rasterized=True,
    )
    for name in dict.fromkeys(causes[~ordinary]):
        colour, marker = CAUSES.get(str(name), OTHER)[:2]
        mine = causes == name
        axes.plot(one.start_s[mine], one.latency_s[mine] * 1e3, marker, color=colour, markersize=3)
    told = "" if one.placed else " (its pauses are too short to be placed)"
    axes.set_title(one.label + told, loc="left", pad=2)


def _share(axes: Axes, y: int, row: AttributionRow) -> None:
    if row.share_lower.value is not None and row.share_upper.value is not None:
        axes.plot(
            [100 * row.share_lower.value, 100 * row.share_upper.value], [y, y], color="#E5E5E5", linewidth=5,
            solid_capstyle="butt",
        )  # fmt: skip
    if row.share.value is not None:
        _dot(axes, y, row.share)
    elif row.most_share.value is not None:
        axes.plot([100 * row.most_share.value], [y], "<", color=CAUSES["gc_pause"][0], markersize=4)
    else:
        cannot_be_said(axes, y)


def _dot(axes: Axes, y: int, estimate: Estimate) -> None:
    assert estimate.value is not None  # asked before
    if estimate.low is not None and estimate.high is not None:
        axes.plot(
            [100 * estimate.low, 100 * estimate.high], [y, y], color=CAUSES["gc_pause"][0], linewidth=1.4
        )
    axes.plot([100 * estimate.value], [y], "o", color=CAUSES["gc_pause"][0])


def _stack(axes: Axes, y: int, row: AttributionRow) -> None:
    parts = {
        "gc_pause": row.service_tail,
        "generator_stall": row.generator_tail,
        "connect": row.connect_tail,
        "unexplained": row.unexplained_tail,
    }
    if all(part.value is None for part in parts.values()):
        cannot_be_said(axes, y)
        return
    left = 0.0
    for name, part in parts.items():
        width = 100 * (part.value or 0.0)
        axes.barh(
            y, width, left=left, height=0.55, facecolor=CAUSES[name][0], edgecolor="white", linewidth=0,
            hatch=HATCHES.get(name),
        )  # fmt: skip
        left += width
    if _has_untold(row):
        axes.barh(y, 100 - left, left=left, height=0.55, color=_UNTOLD, linewidth=0)


def _name(row: AttributionRow) -> str:
    return ", ".join([row.label, *row.levels.values()])


def _colour_of(name: str) -> str:
    return CAUSES.get(name, OTHER)[0]


def _band_of(name: str) -> dict[str, Any]:
    """Return keywords of the band of a pause: how it is filled."""
    colour = _colour_of(name)
    return {"facecolor": (colour, 0.35), "edgecolor": (colour, 0.35), "hatch": HATCHES.get(name)}


def _sign_of(name: str, *, banded: bool) -> tuple[Patch | Line2D, ...]:
    """Return what stands for a cause in a legend: its band, where one is drawn, and the mark of its requests."""
    colour, marker, _ = CAUSES[name]
    mark = Line2D([], [], linestyle="none", marker=marker, color=colour)
    if not banded:
        return (mark,)
    edges = {"edgecolor": colour, "linestyle": EDGES[name], "linewidth": EDGE_WIDTH} if name in EDGES else {}
    return (Patch(**(_band_of(name) | edges)), mark)
