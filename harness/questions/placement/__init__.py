# SPDX-License-Identifier: Apache-2.0
"""Does it matter whether a service runs as a process or in a container, here or on a remote host?"""

from harness.questions.placement.containers import container_rows
from harness.questions.placement.figures import places
from harness.questions.placement.results import all_places, compare_places, ratio_rows, results

__all__ = ["all_places", "compare_places", "container_rows", "places", "ratio_rows", "results"]
