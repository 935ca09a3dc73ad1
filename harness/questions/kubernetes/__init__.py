# SPDX-License-Identifier: Apache-2.0
"""What do pods of a cluster change: throughput by access and number of pods, time to scale out, and CPU limits?"""

from harness.questions.kubernetes.analysis import Clustered, clustered
from harness.questions.kubernetes.results import lead_of, notes, results

__all__ = ["Clustered", "clustered", "lead_of", "notes", "results"]
