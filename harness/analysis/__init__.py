# SPDX-License-Identifier: Apache-2.0
"""What the trials say: tables, estimates, comparisons. Sees the store and the model, never the measuring side."""

from harness.analysis.attribution import Attribution, CauseShare, attributable_fraction, attribute_latency
from harness.analysis.clocks import ClockOffset, estimate_clock_offset
from harness.analysis.comparisons import AANoise, Comparison, aa_noise, compare, summarise
from harness.analysis.matching import Coincidence, Matching, coincidence_test, match_events, precision_recall
from harness.analysis.omission import (
    OmissionCheck,
    coordinated_omission_check,
    lower_bound_overhead,
    metered_latency,
)
from harness.analysis.slow_periods import Stall
from harness.analysis.stalls import detect_stalls, detectability_limit
from harness.analysis.statistics import *  # noqa: F403  (statistics.__all__ is the list of public names)
from harness.analysis.statistics import __all__ as _statistics

__all__ = [  # noqa: PLE0604  (a list of strings, which the linter cannot see)
    *_statistics,
    "AANoise",
    "Attribution",
    "CauseShare",
    "ClockOffset",
    "Coincidence",
    "Comparison",
    "Matching",
    "OmissionCheck",
    "Stall",
    "aa_noise",
    "attributable_fraction",
    "attribute_latency",
    "coincidence_test",
    "compare",
    "coordinated_omission_check",
    "detect_stalls",
    "detectability_limit",
    "estimate_clock_offset",
    "lower_bound_overhead",
    "match_events",
    "metered_latency",
    "precision_recall",
    "summarise",
]
