# SPDX-License-Identifier: Apache-2.0
"""What every analysis notebook imports, beside the one question that it is about.

Opening a session and its tables, comparing, drawing, and publishing: general verbs only.
What one question alone needs is a name of its package: ``from harness.questions import collectors``.
"""

from harness import figures
from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.comparisons import compare
from harness.evidence.opening import find_evidence, open_evidence
from harness.evidence.parameters import StageParameters, check_parameters
from harness.evidence.requests import defined_variants, definition_of, latencies_by
from harness.publish import Publisher, comparison_rows

__all__ = [
    "Publisher",
    "StageParameters",
    "aa_noise",
    "check_parameters",
    "compare",
    "comparison_rows",
    "defined_variants",
    "definition_of",
    "figures",
    "find_evidence",
    "latencies_by",
    "open_evidence",
]
