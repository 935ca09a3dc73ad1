# SPDX-License-Identifier: Apache-2.0
"""The plot of rate, errors and percentiles over the time of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from harness.report.course import Course
from harness.report.plots import INK, plain_log, svg

_ERRORS, _TAIL, _USERS = "#D55E00", "#2A88C8", "#009E73"
#: Fewer points than this are marked one by one.
_FEW = 30


def course_over_time(course: Course, origin_s: float | None) -> dict[str, Any]:
    """Return a drawing with its caption and alternative text: rates above, percentiles below.

    Args:
        origin_s: the first request, epoch seconds; None: the first slice counts from 0.
    """
    at = course.at_s - (origin_s if origin_s is not None else course.at_s[0])
    has_errors = bool((np.nan_to_num(course.errors_per_s) > 0).any())
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    marker = {"marker": "o" if len(at) < _FEW else "", "markersize": 3.0, "linewidth": 1.2}
    drawn = above.plot(at, course.answers_per_s, color=INK, label="answers", **marker)
    if has_errors:
        drawn += above.plot(at, course.errors_per_s, color=_ERRORS, linestyle="--", label="errors", **marker)
    above.set(ylabel="per second", ylim=(0, None))
    if course.users is not None:
        beside = above.twinx()
        drawn += beside.plot(
            at, course.users, color=_USERS, linestyle=":", label="users (right axis)", **marker
        )
        beside.set(ylabel="users", ylim=(0, None))
    above.legend(handles=drawn, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, frameon=False)
    for values, colour, style, name in (
        (course.p50_ms, INK, "-", "p50"),
        (course.p99_ms, _TAIL, "--", "p99"),
    ):
        if (values > 0).any():
            seen = np.where(
                values > 0, values, np.nan
            )  # zero is below the clock, and has no place on this axis
            below.plot(at, seen, color=colour, linestyle=style, label=name, **marker)
    if below.lines:
        below.set(yscale="log")
        plain_log(below)
        below.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=8, frameon=False)
    below.set(xlabel="seconds since the first request", ylabel="latency, ms")
    caption = f"Rate and percentiles in {len(at)} slices of time"
    rates = course.answers_per_s[np.isfinite(course.answers_per_s)]
    if len(rates):
        caption += f"; {rates.min():,.0f} to {rates.max():,.0f} answers per second"
    caption += ", with errors." if has_errors else ", no errors."
    return {"svg": svg(figure), "alt": caption, "caption": caption}
