# SPDX-License-Identifier: Apache-2.0
"""Figures. Hue is the language, line style and marker the implementation, the same in every figure.

Every function takes the tables of ``docs/data.md`` (or comparisons of ``harness.analysis``) and returns
a ``matplotlib.figure.Figure`` that knows nothing of files; ``Publisher.figure`` saves it.
Every trial is a dot; nothing is a bar of means, but for shares that add up to a whole.
"""

import sys

from harness.figures.comparisons import forest
from harness.figures.latency import percentiles
from harness.figures.loops import open_and_closed
from harness.figures.style import describe, save, show_figures_in, stamp

__all__ = [
    "describe",
    "forest",
    "open_and_closed",
    "percentiles",
    "save",
    "stamp",
]

_ipython = sys.modules.get("IPython")
if _ipython is not None and (_shell := _ipython.get_ipython()) is not None:
    show_figures_in(_shell)
