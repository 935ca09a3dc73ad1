# SPDX-License-Identifier: Apache-2.0
"""Can the measurements be trusted?"""

from harness.questions.validity.adequacy import how_much
from harness.questions.validity.audit import audit_sessions
from harness.questions.validity.figures import coverage, precision_recall, ratios
from harness.questions.validity.generators import compare_generators
from harness.questions.validity.results import (
    adequacy_results,
    audit_results,
    coverage_results,
    drift_results,
    drifts,
    equal_arms_results,
    generator_results,
    stall_results,
)
from harness.questions.validity.rows import audit_rows, block_rows, failure_rows, pooled_rows, worth_rows
from harness.verify.simulated import run_verify
from harness.verify.simulated.stall_curves import precision_recall_curves

__all__ = [
    "adequacy_results",
    "audit_results",
    "audit_rows",
    "audit_sessions",
    "block_rows",
    "compare_generators",
    "coverage",
    "coverage_results",
    "drift_results",
    "drifts",
    "equal_arms_results",
    "failure_rows",
    "generator_results",
    "how_much",
    "pooled_rows",
    "precision_recall",
    "precision_recall_curves",
    "ratios",
    "run_verify",
    "stall_results",
    "worth_rows",
]
