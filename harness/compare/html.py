# SPDX-License-Identifier: Apache-2.0
"""A comparison as one self-contained page: the answer, the traps, percentile curves, the order of the runs, tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment

from harness.compare import words
from harness.compare.limits import Checked
from harness.compare.other_tools import ToolNumbers
from harness.compare.plots import percentile_curves, run_order
from harness.compare.result import Comparison
from harness.report.html import page_style

_PAGE = Path(__file__).with_name("templates") / "compare.html.jinja"


def render_html(
    found: Comparison, checked: Sequence[Checked] = (), numbers: Sequence[ToolNumbers] = ()
) -> str:
    """Return the page; nothing in it is loaded from anywhere."""
    plots = [plot for plot in (percentile_curves(found), run_order(found)) if plot is not None]
    tables = [
        (words.label_name(label), [words.cells(row) for row in found.rows if row.label == label])
        for label in found.labels
    ]
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _PAGE.read_text(encoding="utf-8")
    )
    return page.render(
        style=page_style(), verdict=words.verdict(found), summary=words.summary(found), traps=found.traps,
        limits=[words.limit_words(one) for one in checked],
        arms=[words.arm(found, place) for place in (0, 1)], order=words.order(found), plots=plots,
        heads=words.HEADS, overall=tables[0], labels=tables[1:], numbers=numbers,
        warnings=found.warnings,
    )  # fmt: skip
