# SPDX-License-Identifier: Apache-2.0
"""Figures. Hue is the language, line style and marker the implementation, the same in every figure.

A function takes the tables of ``docs/data.md`` (or comparisons of ``harness.analysis``) and returns a
``matplotlib.figure.Figure`` that knows nothing of files.
"""

import sys

from harness.figures.comparisons import forest
from harness.figures.curves import percentiles
from harness.figures.style import describe, show_figures_in

__all__ = ["describe", "forest", "percentiles"]

_ipython = sys.modules.get("IPython")
if _ipython is not None and (_shell := _ipython.get_ipython()) is not None:
    show_figures_in(_shell)
