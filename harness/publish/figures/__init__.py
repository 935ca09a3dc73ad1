# SPDX-License-Identifier: Apache-2.0
"""The style of all figures. Hue is the language, line style and marker the implementation, the same in each."""

import sys

from harness.publish.figures.style import show_figures_in

_ipython = sys.modules.get("IPython")
if _ipython is not None and (_shell := _ipython.get_ipython()) is not None:
    show_figures_in(_shell)
