# SPDX-License-Identifier: Apache-2.0
"""What notebooks import beside ``harness.rows``: parameters, opening a session, comparing, drawing, publishing."""

from harness import figures
from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.comparisons import compare
from harness.evidence.opening import open_evidence
from harness.evidence.parameters import StageParameters, check_parameters
from harness.publish import Publisher

__all__ = [
    "Publisher",
    "StageParameters",
    "aa_noise",
    "check_parameters",
    "compare",
    "figures",
    "open_evidence",
]
