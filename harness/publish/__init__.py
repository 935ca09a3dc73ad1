# SPDX-License-Identifier: Apache-2.0
"""Numbers, tables and figures on their way from a notebook to the paper.

A notebook opens one ``Publisher`` and calls ``number``, ``verdict``, ``text``, ``table`` and ``figure``.
Everything lands in ``paper/generated/``, which is all the paper reads. ``trace`` follows a number back.
"""

from harness.publish.cells import comparison_rows
from harness.publish.contribution import clear, merge, read_values, trace
from harness.publish.formatting import Shown, show
from harness.publish.latex import escape
from harness.publish.pages import Published
from harness.publish.published import published_rounds
from harness.publish.publisher import Publisher

__all__ = [
    "Published",
    "Publisher",
    "Shown",
    "clear",
    "comparison_rows",
    "escape",
    "merge",
    "published_rounds",
    "read_values",
    "show",
    "trace",
]
