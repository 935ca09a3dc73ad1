# SPDX-License-Identifier: Apache-2.0
"""What does a collector cost at equal memory, in Java and in Go?"""

from harness.evidence.warm import warm_services
from harness.publish.warm_results import notes
from harness.questions.collectors.analysis import points
from harness.questions.collectors.figures import cost
from harness.questions.collectors.results import results

__all__ = ["cost", "notes", "points", "results", "warm_services"]
