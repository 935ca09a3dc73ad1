# SPDX-License-Identifier: Apache-2.0
"""The figure on pauses behind a percentile explains the marks that it has, and no others."""

from __future__ import annotations

from matplotlib.figure import Figure

from harness.questions.gc_peaks import explained
from harness.tests.figures.drawn import attributed

KNOWN = attributed("Serial", service=0.4, generator=0.2)
NOT_ALIGNED = attributed("Go", service=None, generator=0.3)


def signs(figure: Figure) -> str:
    (legend,) = figure.legends
    return " ".join([figure.axes[0].get_title(loc="left"), *(text.get_text() for text in legend.get_texts())])


def test_a_mark_is_explained_where_a_row_has_it_and_nowhere_else() -> None:
    without, with_both = signs(explained([KNOWN])), signs(explained([KNOWN, NOT_ALIGNED]))
    for sign in ("arrow", "cause not known"):
        assert sign not in without
        assert sign in with_both
    assert "dot: estimate" in without
