# SPDX-License-Identifier: Apache-2.0
"""What analysis notebooks ask of the tables of an experiment, subject by subject."""

from harness.analysis.evidence.experiment import Evidence

__all__ = ["Evidence"]
