# SPDX-License-Identifier: Apache-2.0
"""Numbers, tables and figures on their way from a notebook to the paper.

A notebook opens one ``Publisher`` and calls ``number``, ``verdict``, ``text``, ``table`` and ``figure``.
Everything lands in ``paper/generated/``, which is all the paper reads. ``rematch trace`` follows a number back.
"""

from harness.model.formatting import Shown, show
from harness.publish.comparisons import (
    comparison_columns,
    comparison_notes,
    comparison_rows,
    margin_note,
)
from harness.publish.display import Published
from harness.publish.generated import clear, read_values
from harness.publish.latex import escape
from harness.publish.publisher import Publisher

__all__ = [
    "Published",
    "Publisher",
    "Shown",
    "clear",
    "comparison_columns",
    "comparison_notes",
    "comparison_rows",
    "escape",
    "margin_note",
    "read_values",
    "show",
]
