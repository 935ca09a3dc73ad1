# SPDX-License-Identifier: Apache-2.0
"""Figures. Hue is the language, line style and marker the implementation, the same in every figure.

Every function takes the tables of ``docs/data.md`` (or comparisons of ``harness.analysis``) and returns
a ``matplotlib.figure.Figure`` that knows nothing of files; ``Publisher.figure`` saves it.
Every trial is a dot; nothing is a bar of means, but for shares that add up to a whole.
"""

import sys

from harness.figures.bearing import borne
from harness.figures.comparisons import forest, pareto
from harness.figures.forms import forms
from harness.figures.knees import throughput_latency
from harness.figures.latency import ecdf, percentiles
from harness.figures.load_curves import by_part, under_load
from harness.figures.peaks import explained, open_and_closed, peaks
from harness.figures.resources import memory_timeline, startup
from harness.figures.scaling import against_cores, places
from harness.figures.style import describe, save, show_figures_in, stamp
from harness.figures.trials import by_cell, run_order
from harness.figures.validity import coverage, precision_recall, ratios, warm_up

__all__ = [
    "against_cores",
    "borne",
    "by_cell",
    "by_part",
    "coverage",
    "describe",
    "ecdf",
    "explained",
    "forest",
    "forms",
    "memory_timeline",
    "open_and_closed",
    "pareto",
    "peaks",
    "percentiles",
    "places",
    "precision_recall",
    "ratios",
    "run_order",
    "save",
    "stamp",
    "startup",
    "throughput_latency",
    "under_load",
    "warm_up",
]

_ipython = sys.modules.get("IPython")
if _ipython is not None and (_shell := _ipython.get_ipython()) is not None:
    show_figures_in(_shell)
