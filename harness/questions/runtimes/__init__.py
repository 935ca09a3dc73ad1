# SPDX-License-Identifier: Apache-2.0
"""What do releases of the JDK and of Go change, and what do virtual threads change?"""

from harness.evidence.load_response import describe_calibration, searches_of
from harness.evidence.warm import warm_services
from harness.publish.searched_capacity import capacity_results
from harness.questions.runtimes.figures import releases
from harness.questions.runtimes.results import notes, poller_results, results

__all__ = [
    "capacity_results",
    "describe_calibration",
    "notes",
    "poller_results",
    "releases",
    "results",
    "searches_of",
    "warm_services",
]
