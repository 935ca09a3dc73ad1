# SPDX-License-Identifier: Apache-2.0
"""Figures. Hue is the language, line style and marker the implementation, the same in every figure.

Every function takes the tables of ``docs/data.md`` (or comparisons of ``harness.analysis``) and returns
a ``matplotlib.figure.Figure`` that knows nothing of files; ``Publisher.figure`` saves it.
Every trial is a dot; nothing is a bar of means.
"""

from harness.figures.comparisons import forest, pareto
from harness.figures.latency import ecdf, percentiles
from harness.figures.resources import memory_timeline, startup
from harness.figures.style import describe, save, stamp
from harness.figures.trials import by_cell, run_order

__all__ = [
    "by_cell",
    "describe",
    "ecdf",
    "forest",
    "memory_timeline",
    "pareto",
    "percentiles",
    "run_order",
    "save",
    "stamp",
    "startup",
]
