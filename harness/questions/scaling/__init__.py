# SPDX-License-Identifier: Apache-2.0
"""How do throughput and latency scale with cores?"""

from harness.questions.scaling.analysis import core_sweep
from harness.questions.scaling.figures import against_cores, curves_caption
from harness.questions.scaling.results import growth_rows, results

__all__ = ["against_cores", "core_sweep", "curves_caption", "growth_rows", "results"]
