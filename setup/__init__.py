# SPDX-License-Identifier: Apache-2.0
"""Set-up: from nothing but git, make, Python and the package registries to a machine that can measure.

Standard library only: it runs on any Python >= 3.11 before anything is installed.
"""

from .finders import platforms

platforms.refuse_windows()
