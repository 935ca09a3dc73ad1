# SPDX-License-Identifier: Apache-2.0
"""The named series of a figure as numbers, with the places of its axes: for pages where a reader asks for values.

A drawing function names what a reader may ask about; nothing of the drawing changes by it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

_POINTS_PER_INCH = 72
#: Significant digits of a coordinate: finer than a pixel of any screen.
_DIGITS = 6
#: A line or a row of dots -> its name and its notes.
_named: weakref.WeakKeyDictionary[Line2D, tuple[str, tuple[str, ...]]] = weakref.WeakKeyDictionary()


def name_last(axes: Axes, name: str, notes: Sequence[str] = ()) -> None:
    """Name the line or row of dots drawn last; ``notes``: said of each point in place of its coordinates, or none."""
    if axes.lines:
        _named[axes.lines[-1]] = (name, tuple(notes))


def marks_of(figure: Figure) -> dict[str, Any] | None:
    """Return the named series of a figure that has been laid out; ``None``: it has none. ``axes``: of each, ``box``
    (left, top, width, height in points from the upper left corner), and for ``x`` and ``y`` the scale (``linear`` or
    ``log``), the limits and the label. ``series``: ``name``, ``axes`` (a place in that list), ``colour``, ``line``
    (else dots), ``x``, ``y`` and ``notes``."""
    width, height = (float(inches) * _POINTS_PER_INCH for inches in figure.get_size_inches())
    content: dict[str, Any] = {"width": width, "height": height, "axes": [], "series": []}
    for axes in figure.axes:
        named = [_series(line, *_named[line]) for line in axes.lines if line in _named]
        drawn = [series for series in named if series is not None]
        if not drawn:
            continue
        place = axes.get_position()
        box = [place.x0 * width, (1 - place.y1) * height, place.width * width, place.height * height]
        content["series"] += [series | {"axes": len(content["axes"])} for series in drawn]
        content["axes"].append({
            "box": [round(length, 2) for length in box],
            "x": _axis(axes.get_xscale(), axes.get_xlim(), axes.get_xlabel() or figure.get_supxlabel()),
            "y": _axis(axes.get_yscale(), axes.get_ylim(), axes.get_ylabel()),
            "title": axes.get_title(loc="left"),
        })  # fmt: skip
    return content if content["series"] else None


def _series(line: Line2D, name: str, notes: tuple[str, ...]) -> dict[str, Any] | None:
    x, y = (np.asarray(values, dtype=np.float64) for values in (line.get_xdata(), line.get_ydata()))
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.any():
        return None
    drawn = str(line.get_linestyle()).strip().lower() not in ("none", "")
    return {
        "name": name,
        "colour": str(line.get_color() if drawn else line.get_markeredgecolor()),
        "line": drawn,
        "x": [_short(value) for value in x[finite]],
        "y": [_short(value) for value in y[finite]],
        "notes": [note for note, keep in zip(notes, finite, strict=True) if keep] if notes else [],
    }


def _axis(scale: str, limits: tuple[float, float], label: str) -> dict[str, Any]:
    return {"scale": scale, "limits": [float(limit) for limit in limits], "label": label}


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
