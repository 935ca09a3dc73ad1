# SPDX-License-Identifier: Apache-2.0
"""How long does a service take to its first correct answer, and what does it hold in memory?"""

from harness.questions.startup.figures import startup
from harness.questions.startup.results import results
from harness.questions.startup.under_load import (
    loaded_trials,
    memory_after,
    memory_ratios,
    memory_rows,
    memory_timeline,
)

__all__ = [
    "loaded_trials",
    "memory_after",
    "memory_ratios",
    "memory_rows",
    "memory_timeline",
    "results",
    "startup",
]
