# SPDX-License-Identifier: Apache-2.0
"""Do an open and a closed loop show the same tail of latency?"""

from harness.evidence.requests import settling
from harness.publish.cells import attribution_rows
from harness.questions.gc_loops.results import results

__all__ = ["attribution_rows", "results", "settling"]
