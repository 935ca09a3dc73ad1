# SPDX-License-Identifier: Apache-2.0
"""A ratio that does not speak of the services is drawn hollow and grey, and has no verdict beside it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from harness.analysis.stats.comparisons import compare
from harness.figures.comparisons import forest
from harness.figures.style import FAINT
from harness.tests.analysis.stats.test_about_services import RATE, trials


def drawn(bound_by: str) -> Axes:
    frame = trials(bound_by, bound_by, rate=0.5)
    frame = frame.assign(language=frame["variant"], implementation=frame["variant"])
    found = compare(frame, RATE, reference="go")
    return forest(found, frame, quantity="throughput").axes[0]


def heights(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]


def test_what_the_services_did_not_bound_is_hollow_grey_and_without_a_band() -> None:
    bound, other = drawn("service"), drawn("generator")
    for axes, about in ((bound, True), (other, False)):
        dot = next(line for line in axes.lines if heights(line) == [1])
        bar = next(line for line in axes.lines if heights(line) == [1, 1])
        assert (bar.get_color() == FAINT) is not about
        assert (dot.get_markerfacecolor() == "white") is not about
        assert bool(axes.patches) is about
    words = [text.get_text() for text in other.texts]
    assert "not the services" in words and "different" not in words
