# SPDX-License-Identifier: Apache-2.0
"""Which share of the latency tail do garbage collections explain?"""

from harness.evidence.requests import settling
from harness.publish.cells import attribution_rows
from harness.questions.gc_peaks.analysis import one_of_each, timelines
from harness.questions.gc_peaks.equal_memory import defined_pairs, memory_pairs
from harness.questions.gc_peaks.figures import explained, peaks
from harness.questions.gc_peaks.results import pair_rows, results

__all__ = [
    "attribution_rows",
    "defined_pairs",
    "explained",
    "memory_pairs",
    "one_of_each",
    "pair_rows",
    "peaks",
    "results",
    "settling",
    "timelines",
]
