# SPDX-License-Identifier: Apache-2.0
"""What every notebook imports beside ``harness.rows``: its parameters, checked; and what speaks to the paper."""

from harness.analysis.evidence.parameters import StageParameters, check_parameters
from harness.publish.publisher import Publisher

__all__ = ["Publisher", "StageParameters", "check_parameters"]
