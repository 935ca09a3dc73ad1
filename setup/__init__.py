# SPDX-License-Identifier: Apache-2.0
"""Set-up: from nothing but git, make, Python and the package registries to a machine that can measure.

Standard library only: it runs on any Python >= 3.11 before anything is installed.
"""

from .loading import PROJECT, load

# before any module is imported that Windows lacks
load("rematch_platforms", PROJECT / "harness" / "agent" / "platforms.py").refuse_windows()
