# SPDX-License-Identifier: Apache-2.0
"""What the trials say: tables, estimates, comparisons. Sees the store and the model, never the measuring side."""

from harness.analysis.statistics import *  # noqa: F403  (statistics.__all__ is the list of public names)
from harness.analysis.statistics import __all__ as _statistics

__all__ = [*_statistics]  # noqa: PLE0604  (a list of strings, which the linter cannot see)
