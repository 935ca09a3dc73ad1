# SPDX-License-Identifier: Apache-2.0
"""What notebooks import beside ``harness.rows``: parameters, and what publishes a value that is no row."""

from harness.evidence.parameters import StageParameters, check_parameters
from harness.publish import Publisher

__all__ = [
    "Publisher",
    "StageParameters",
    "check_parameters",
]
