# SPDX-License-Identifier: Apache-2.0
"""How a cause of latency is drawn: its colour, the mark of its requests, and the stripes and edges of its bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

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


def colour_of(name: str) -> str:
    """Return a cause's colour, also of one that has none of its own."""
    return CAUSES.get(name, OTHER)[0]


def band_of(name: str) -> dict[str, Any]:
    """Return keywords of the band of a pause: how it is filled."""
    colour = colour_of(name)
    return {"facecolor": (colour, 0.35), "edgecolor": (colour, 0.35), "hatch": HATCHES.get(name)}


def sign_of(name: str, *, banded: bool) -> tuple[Patch | Line2D, ...]:
    """Return what stands for a cause in a legend: its band, where one is drawn, and the mark of its requests."""
    colour, marker, _ = CAUSES[name]
    mark = Line2D([], [], linestyle="none", marker=marker, color=colour)
    if not banded:
        return (mark,)
    edges = {"edgecolor": colour, "linestyle": EDGES[name], "linewidth": EDGE_WIDTH} if name in EDGES else {}
    return (Patch(**(band_of(name) | edges)), mark)
