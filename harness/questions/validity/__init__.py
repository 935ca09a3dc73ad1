# SPDX-License-Identifier: Apache-2.0
"""Can the measurements be trusted?"""

from harness.evidence.load_response import searches_of
from harness.evidence.other_sessions import other_machine
from harness.evidence.warm import warm_services
from harness.publish.searched_capacity import capacity_results
from harness.questions.validity.adequacy import how_much
from harness.questions.validity.audit import AUDITED, audit_sessions
from harness.questions.validity.cpu_speed import speed_results, throughput_and_speed, throughput_by_speed
from harness.questions.validity.duet_places import duet_places, place_results, place_rows
from harness.questions.validity.factors import effect_results, effect_rows, effects_on_p99
from harness.questions.validity.figures import coverage, factor_ratios, power, precision_recall, ratios
from harness.questions.validity.finding import trust
from harness.questions.validity.generators import compare_generators
from harness.questions.validity.known_effect import duet_results, known_effects, known_results, known_rows
from harness.questions.validity.methods import method_cells, method_results, verified_methods
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
from harness.questions.validity.session_power import (
    METRICS,
    curve_rows,
    session_curves,
    split_rows,
    splits,
)
from harness.verify.simulated import run_verify
from harness.verify.simulated.stall_curves import precision_recall_curves

__all__ = [
    "AUDITED",
    "METRICS",
    "adequacy_results",
    "audit_results",
    "audit_rows",
    "audit_sessions",
    "block_rows",
    "capacity_results",
    "compare_generators",
    "coverage",
    "coverage_results",
    "curve_rows",
    "drift_results",
    "drifts",
    "duet_places",
    "duet_results",
    "effect_results",
    "effect_rows",
    "effects_on_p99",
    "equal_arms_results",
    "factor_ratios",
    "failure_rows",
    "generator_results",
    "how_much",
    "known_effects",
    "known_results",
    "known_rows",
    "method_cells",
    "method_results",
    "other_machine",
    "place_results",
    "place_rows",
    "pooled_rows",
    "power",
    "precision_recall",
    "precision_recall_curves",
    "ratios",
    "run_verify",
    "searches_of",
    "session_curves",
    "speed_results",
    "split_rows",
    "splits",
    "stall_results",
    "throughput_and_speed",
    "throughput_by_speed",
    "trust",
    "verified_methods",
    "warm_services",
    "worth_rows",
]
