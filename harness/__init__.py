# SPDX-License-Identifier: Apache-2.0
"""Rematch: are Java microservices as fast as Go ones, and what do they cost?

This module is what notebooks import. Every name is loaded when it is first used, so analysing needs
nothing of the measuring side (no Go, Java, JMeter, Locust or Docker), and measuring no plotting.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness import figures
    from harness.analysis.attribution.table import attribution_table
    from harness.analysis.stats.aa_noise import aa_noise
    from harness.analysis.stats.comparisons import compare
    from harness.analysis.stats.summaries import summarise
    from harness.analysis.warmup.curves import warm_up_table
    from harness.evidence import Evidence
    from harness.evidence.attribution import attribute_peaks
    from harness.evidence.load_response import describe_calibration, effect_between
    from harness.evidence.opening import find_evidence, open_evidence
    from harness.evidence.requests import defined_variants, latencies_by, settling
    from harness.pipeline import RunAllParameters, StageParameters, check_parameters
    from harness.pipeline.execute import run as run_stages
    from harness.pipeline.plan import make_plan as plan_stages
    from harness.pipeline.steps import check_machine, measure_all, tidy_all
    from harness.publish import (
        Publisher,
        comparison_columns,
        comparison_notes,
        comparison_rows,
        margin_note,
        publish_noise,
    )
    from harness.publish.attribution import attribution_cells, publish_attribution
    from harness.publish.headline import cell_in_words, publish_headline
    from harness.publish.other_session import publish_other_session
    from harness.publish.results import publish_names
    from harness.publish.session_facts import describe_session, paper_values, setup_tables
    from harness.publish.teaching import noise_words, trial_values, verdict_table
    from harness.questions.bank.connections import at_one_load
    from harness.questions.clients.analysis import parts_table
    from harness.questions.gc_peaks.analysis import one_of_each, timelines
    from harness.questions.gc_peaks.equal_memory import defined_pairs, memory_pairs
    from harness.questions.gc_peaks.equal_memory_results import (
        pair_cells,
        publish_memory,
        publish_memory_pairs,
    )
    from harness.questions.placement.results import all_places
    from harness.questions.strings.published import publish_rounds, published_rounds
    from harness.questions.validity.adequacy import how_much
    from harness.questions.validity.adequacy_results import (
        block_cells,
        pooled_cells,
        publish_enough,
        worth_cells,
    )
    from harness.questions.validity.audit import audit_control, audit_sessions
    from harness.questions.validity.audit_results import (
        audit_cells,
        failure_cells,
        publish_audit,
        publish_between,
    )
    from harness.questions.validity.results import (
        compare_generators,
        drifts,
        publish_coverage,
        publish_drifts,
        publish_equal_arms,
        publish_generators,
        publish_precision_recall,
    )
    from harness.questions.warm_up.analysis import warm_up_curves
    from harness.questions.warm_up.results import publish_warm_up, warm_up_cells
    from harness.verify.simulated import run_verify
    from harness.verify.simulated.stall_curves import precision_recall_curves

#: name in a notebook -> (module, name there; None: the module itself)
_EXPORTS: dict[str, tuple[str, str | None]] = {
    "Evidence": ("harness.evidence", "Evidence"),
    "Publisher": ("harness.publish", "Publisher"),
    "RunAllParameters": ("harness.pipeline", "RunAllParameters"),
    "StageParameters": ("harness.pipeline", "StageParameters"),
    "aa_noise": ("harness.analysis.stats.aa_noise", "aa_noise"),
    "all_places": ("harness.questions.placement.results", "all_places"),
    "at_one_load": ("harness.questions.bank.connections", "at_one_load"),
    "attribute_peaks": ("harness.evidence.attribution", "attribute_peaks"),
    "attribution_cells": ("harness.publish.attribution", "attribution_cells"),
    "attribution_table": ("harness.analysis.attribution.table", "attribution_table"),
    "audit_cells": ("harness.questions.validity.audit_results", "audit_cells"),
    "audit_control": ("harness.questions.validity.audit", "audit_control"),
    "audit_sessions": ("harness.questions.validity.audit", "audit_sessions"),
    "block_cells": ("harness.questions.validity.adequacy_results", "block_cells"),
    "cell_in_words": ("harness.publish.headline", "cell_in_words"),
    "check_machine": ("harness.pipeline.steps", "check_machine"),
    "check_parameters": ("harness.pipeline", "check_parameters"),
    "compare": ("harness.analysis.stats.comparisons", "compare"),
    "compare_generators": ("harness.questions.validity.results", "compare_generators"),
    "comparison_columns": ("harness.publish", "comparison_columns"),
    "comparison_notes": ("harness.publish", "comparison_notes"),
    "comparison_rows": ("harness.publish", "comparison_rows"),
    "defined_pairs": ("harness.questions.gc_peaks.equal_memory", "defined_pairs"),
    "defined_variants": ("harness.evidence.requests", "defined_variants"),
    "describe_calibration": ("harness.evidence.load_response", "describe_calibration"),
    "describe_session": ("harness.publish.session_facts", "describe_session"),
    "drifts": ("harness.questions.validity.results", "drifts"),
    "effect_between": ("harness.evidence.load_response", "effect_between"),
    "failure_cells": ("harness.questions.validity.audit_results", "failure_cells"),
    "figures": ("harness.figures", None),
    "find_evidence": ("harness.evidence.opening", "find_evidence"),
    "how_much": ("harness.questions.validity.adequacy", "how_much"),
    "latencies_by": ("harness.evidence.requests", "latencies_by"),
    "margin_note": ("harness.publish", "margin_note"),
    "measure_all": ("harness.pipeline.steps", "measure_all"),
    "memory_pairs": ("harness.questions.gc_peaks.equal_memory", "memory_pairs"),
    "noise_words": ("harness.publish.teaching", "noise_words"),
    "one_of_each": ("harness.questions.gc_peaks.analysis", "one_of_each"),
    "open_evidence": ("harness.evidence.opening", "open_evidence"),
    "pair_cells": ("harness.questions.gc_peaks.equal_memory_results", "pair_cells"),
    "paper_values": ("harness.publish.session_facts", "paper_values"),
    "parts_table": ("harness.questions.clients.analysis", "parts_table"),
    "plan_stages": ("harness.pipeline.plan", "make_plan"),
    "pooled_cells": ("harness.questions.validity.adequacy_results", "pooled_cells"),
    "precision_recall_curves": ("harness.verify.simulated.stall_curves", "precision_recall_curves"),
    "publish_attribution": ("harness.publish.attribution", "publish_attribution"),
    "publish_audit": ("harness.questions.validity.audit_results", "publish_audit"),
    "publish_between": ("harness.questions.validity.audit_results", "publish_between"),
    "publish_coverage": ("harness.questions.validity.results", "publish_coverage"),
    "publish_drifts": ("harness.questions.validity.results", "publish_drifts"),
    "publish_enough": ("harness.questions.validity.adequacy_results", "publish_enough"),
    "publish_equal_arms": ("harness.questions.validity.results", "publish_equal_arms"),
    "publish_generators": ("harness.questions.validity.results", "publish_generators"),
    "publish_headline": ("harness.publish.headline", "publish_headline"),
    "publish_memory": ("harness.questions.gc_peaks.equal_memory_results", "publish_memory"),
    "publish_memory_pairs": ("harness.questions.gc_peaks.equal_memory_results", "publish_memory_pairs"),
    "publish_names": ("harness.publish.results", "publish_names"),
    "publish_noise": ("harness.publish", "publish_noise"),
    "publish_other_session": ("harness.publish.other_session", "publish_other_session"),
    "publish_precision_recall": ("harness.questions.validity.results", "publish_precision_recall"),
    "publish_rounds": ("harness.questions.strings.published", "publish_rounds"),
    "publish_warm_up": ("harness.questions.warm_up.results", "publish_warm_up"),
    "published_rounds": ("harness.questions.strings.published", "published_rounds"),
    "run_stages": ("harness.pipeline.execute", "run"),
    "run_verify": ("harness.verify.simulated", "run_verify"),
    "settling": ("harness.evidence.requests", "settling"),
    "setup_tables": ("harness.publish.session_facts", "setup_tables"),
    "summarise": ("harness.analysis.stats.summaries", "summarise"),
    "tidy_all": ("harness.pipeline.steps", "tidy_all"),
    "timelines": ("harness.questions.gc_peaks.analysis", "timelines"),
    "trial_values": ("harness.publish.teaching", "trial_values"),
    "verdict_table": ("harness.publish.teaching", "verdict_table"),
    "warm_up_cells": ("harness.questions.warm_up.results", "warm_up_cells"),
    "warm_up_curves": ("harness.questions.warm_up.analysis", "warm_up_curves"),
    "warm_up_table": ("harness.analysis.warmup.curves", "warm_up_table"),
    "worth_cells": ("harness.questions.validity.adequacy_results", "worth_cells"),
}

__all__ = [
    "Evidence",
    "Publisher",
    "RunAllParameters",
    "StageParameters",
    "aa_noise",
    "all_places",
    "at_one_load",
    "attribute_peaks",
    "attribution_cells",
    "attribution_table",
    "audit_cells",
    "audit_control",
    "audit_sessions",
    "block_cells",
    "cell_in_words",
    "check_machine",
    "check_parameters",
    "compare",
    "compare_generators",
    "comparison_columns",
    "comparison_notes",
    "comparison_rows",
    "defined_pairs",
    "defined_variants",
    "describe_calibration",
    "describe_session",
    "drifts",
    "effect_between",
    "failure_cells",
    "figures",
    "find_evidence",
    "how_much",
    "latencies_by",
    "margin_note",
    "measure_all",
    "memory_pairs",
    "noise_words",
    "one_of_each",
    "open_evidence",
    "pair_cells",
    "paper_values",
    "parts_table",
    "plan_stages",
    "pooled_cells",
    "precision_recall_curves",
    "publish_attribution",
    "publish_audit",
    "publish_between",
    "publish_coverage",
    "publish_drifts",
    "publish_enough",
    "publish_equal_arms",
    "publish_generators",
    "publish_headline",
    "publish_memory",
    "publish_memory_pairs",
    "publish_names",
    "publish_noise",
    "publish_other_session",
    "publish_precision_recall",
    "publish_rounds",
    "publish_warm_up",
    "published_rounds",
    "run_stages",
    "run_verify",
    "settling",
    "setup_tables",
    "summarise",
    "tidy_all",
    "timelines",
    "trial_values",
    "verdict_table",
    "warm_up_cells",
    "warm_up_curves",
    "warm_up_table",
    "worth_cells",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    module, attribute = _EXPORTS[name]
    loaded = import_module(module)
    return loaded if attribute is None else getattr(loaded, attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])


def api_modules() -> dict[str, str]:
    """Return name in the notebook API -> the module it comes from."""
    return {name: module for name, (module, _) in _EXPORTS.items()}
