# SPDX-License-Identifier: Apache-2.0
"""The cost of a collector: throughput and CPU time per request against the memory that was held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.errors import NothingToDraw
from harness.figures.style import FAINT, PAGE_INCHES, canvas, log_scale, styled
from harness.figures.variant_style import COLOURS, OTHER_COLOUR
from harness.model import Estimate
from harness.questions.collectors.analysis import Point

#: Markers and lines of a language's families, in the definition's order: told apart in grey, too.
_LOOKS: tuple[tuple[str, Any], ...] = (
    ("o", "-"),
    ("^", "--"),
    ("s", ":"),
    ("D", "-."),
    ("v", (0, (5, 1))),
    ("P", (0, (3, 1, 1, 1))),
    ("X", (0, (1, 1))),
)


@styled
def cost(points: Sequence[Point]) -> Figure:
    """Return throughput and CPU time per request over resident memory, a line per collector, log axes.

    Dots are means over processes, bars their 95 % intervals. Hollow and grey: not about the service.

    Raises:
        NothingToDraw: no variant was measured.
    """
    if not points:
        raise NothingToDraw("no variant was measured", place="points")
    figure, panels = canvas(1, 2, width=PAGE_INCHES, height=2.9)
    looks = _looks(points)
    for axes, what, factor, label in (
        (panels[0, 0], "throughput", 1.0, "right answers per second and core (log)"),
        (panels[0, 1], "cpu", 1e6, "CPU time per request / µs (log)"),
    ):
        for family, look in looks.items():
            _line(axes, [one for one in points if one.family == family], what, factor, look)
        log_scale(axes, "x", "y")
        axes.set_xlabel("resident memory after the load / MiB (log)")
        axes.set_ylabel(label)
    panels[0, -1].legend(
        handles=[Line2D([], [], label=family, **look) for family, look in looks.items()],
        loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.0,
        labelspacing=0.7,
    )  # fmt: skip
    return figure


def _looks(points: Sequence[Point]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    used: dict[str, int] = {}
    for one in points:
        if one.family not in found:
            marker, line = _LOOKS[used.get(one.language, 0) % len(_LOOKS)]
            used[one.language] = used.get(one.language, 0) + 1
            colour = COLOURS.get(one.language.lower(), OTHER_COLOUR)
            face = "white" if one.language == "java" else colour
            found[one.family] = {
                "marker": marker, "linestyle": line, "color": colour, "markerfacecolor": face, "markersize": 4.5,
            }  # fmt: skip
    return found


def _line(axes: Axes, mine: Sequence[Point], what: str, factor: float, look: dict[str, Any]) -> None:
    told = [(one, value) for one in mine if (value := getattr(one, what)).value is not None]
    for one, value in told:
        bar: dict[str, Any] = {
            "color": FAINT if one.about else look["color"],
            "linestyle": ":" if one.about else "-",
            "linewidth": 0.8,
        }
        x, y = _scaled(one.memory, 2.0**-20), _scaled(value, factor)
        if x[1] is not None and x[2] is not None:
            axes.plot([x[1], x[2]], [y[0], y[0]], **bar)
        if y[1] is not None and y[2] is not None:
            axes.plot([x[0], x[0]], [y[1], y[2]], **bar)
    axes.plot(
        [_scaled(one.memory, 2.0**-20)[0] for one, _ in told],
        [_scaled(value, factor)[0] for _, value in told],
        **look,
    )
    for one, value in told:
        if one.about:
            axes.plot(
                [_scaled(one.memory, 2.0**-20)[0]], [_scaled(value, factor)[0]], marker=look["marker"],
                markerfacecolor="white", markeredgecolor=FAINT, markersize=4.5, linestyle="none",
            )  # fmt: skip


def _scaled(estimate: Estimate, factor: float) -> tuple[float, float | None, float | None]:
    assert estimate.value is not None  # asked before
    low, high = (None if bound is None else bound * factor for bound in (estimate.low, estimate.high))
    return estimate.value * factor, low, high
