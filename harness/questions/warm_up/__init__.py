# SPDX-License-Identifier: Apache-2.0
"""When do services reach a steady state?"""

from harness.analysis.warmup.curves import warm_up_table
from harness.questions.warm_up.analysis import warm_up_curves
from harness.questions.warm_up.figures import warm_up
from harness.questions.warm_up.results import results, warm_up_rows

__all__ = ["results", "warm_up", "warm_up_curves", "warm_up_rows", "warm_up_table"]
