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
    from harness.evidence.load_response import (
        describe_calibration,
        describe_warm_up,
        drawable,
        effect_between,
        load_response,
    )
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
    from harness.publish.results import publish_levels, publish_names
    from harness.publish.session_facts import describe_session, paper_values, setup_tables
    from harness.publish.teaching import noise_words, trial_values, verdict_table
    from harness.questions.bank.analysis import knees, saturations
    from harness.questions.bank.connections import at_one_load, at_one_load_of
    from harness.questions.bank.connections_results import (
        bearing_cells,
        passes_words,
        publish_alike,
        publish_bearing,
        publish_pooled,
        publish_survivors,
    )
    from harness.questions.bank.published import publish_published_bank, published_bank, published_cells
    from harness.questions.bank.results import pressure_cells, publish_limits, publish_money, publish_pressure
    from harness.questions.clients.analysis import parts_table
    from harness.questions.clients.published import (
        beside_published,
        face_cells,
        percentile_cells,
        publish_faces,
        publish_use,
        published_clients,
        use_cells,
    )
    from harness.questions.clients.results import parts_cells, publish_parts, publish_slow_start
    from harness.questions.clients.usage import use_table
    from harness.questions.gc_peaks.analysis import one_of_each, timelines
    from harness.questions.gc_peaks.equal_memory import defined_pairs, memory_pairs
    from harness.questions.gc_peaks.equal_memory_results import (
        pair_cells,
        publish_memory,
        publish_memory_pairs,
    )
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
    "at_one_load": ("harness.questions.bank.connections", "at_one_load"),
    "at_one_load_of": ("harness.questions.bank.connections", "at_one_load_of"),
    "attribute_peaks": ("harness.evidence.attribution", "attribute_peaks"),
    "attribution_cells": ("harness.publish.attribution", "attribution_cells"),
    "attribution_table": ("harness.analysis.attribution.table", "attribution_table"),
    "audit_cells": ("harness.questions.validity.audit_results", "audit_cells"),
    "audit_control": ("harness.questions.validity.audit", "audit_control"),
    "audit_sessions": ("harness.questions.validity.audit", "audit_sessions"),
    "bearing_cells": ("harness.questions.bank.connections_results", "bearing_cells"),
    "beside_published": ("harness.questions.clients.published", "beside_published"),
    "block_cells": ("harness.questions.validity.adequacy_results", "block_cells"),
    "describe_calibration": ("harness.evidence.load_response", "describe_calibration"),
    "cell_in_words": ("harness.publish.headline", "cell_in_words"),
    "check_machine": ("harness.pipeline.steps", "check_machine"),
    "check_parameters": ("harness.pipeline", "check_parameters"),
    "compare": ("harness.analysis.stats.comparisons", "compare"),
    "compare_generators": ("harness.questions.validity.results", "compare_generators"),
    "comparison_columns": ("harness.publish", "comparison_columns"),
    "comparison_notes": ("harness.publish", "comparison_notes"),
    "comparison_rows": ("harness.publish", "comparison_rows"),
    "margin_note": ("harness.publish", "margin_note"),
    "publish_noise": ("harness.publish", "publish_noise"),
    "defined_pairs": ("harness.questions.gc_peaks.equal_memory", "defined_pairs"),
    "defined_variants": ("harness.evidence.requests", "defined_variants"),
    "describe_session": ("harness.publish.session_facts", "describe_session"),
    "drawable": ("harness.evidence.load_response", "drawable"),
    "drifts": ("harness.questions.validity.results", "drifts"),
    "effect_between": ("harness.evidence.load_response", "effect_between"),
    "face_cells": ("harness.questions.clients.published", "face_cells"),
    "failure_cells": ("harness.questions.validity.audit_results", "failure_cells"),
    "figures": ("harness.figures", None),
    "find_evidence": ("harness.evidence.opening", "find_evidence"),
    "how_much": ("harness.questions.validity.adequacy", "how_much"),
    "knees": ("harness.questions.bank.analysis", "knees"),
    "latencies_by": ("harness.evidence.requests", "latencies_by"),
    "measure_all": ("harness.pipeline.steps", "measure_all"),
    "memory_pairs": ("harness.questions.gc_peaks.equal_memory", "memory_pairs"),
    "noise_words": ("harness.publish.teaching", "noise_words"),
    "one_of_each": ("harness.questions.gc_peaks.analysis", "one_of_each"),
    "open_evidence": ("harness.evidence.opening", "open_evidence"),
    "passes_words": ("harness.questions.bank.connections_results", "passes_words"),
    "pair_cells": ("harness.questions.gc_peaks.equal_memory_results", "pair_cells"),
    "paper_values": ("harness.publish.session_facts", "paper_values"),
    "parts_cells": ("harness.questions.clients.results", "parts_cells"),
    "parts_table": ("harness.questions.clients.analysis", "parts_table"),
    "percentile_cells": ("harness.questions.clients.published", "percentile_cells"),
    "plan_stages": ("harness.pipeline.plan", "make_plan"),
    "pooled_cells": ("harness.questions.validity.adequacy_results", "pooled_cells"),
    "precision_recall_curves": ("harness.verify.simulated.stall_curves", "precision_recall_curves"),
    "pressure_cells": ("harness.questions.bank.results", "pressure_cells"),
    "load_response": ("harness.evidence.load_response", "load_response"),
    "publish_alike": ("harness.questions.bank.connections_results", "publish_alike"),
    "publish_attribution": ("harness.publish.attribution", "publish_attribution"),
    "publish_audit": ("harness.questions.validity.audit_results", "publish_audit"),
    "publish_bearing": ("harness.questions.bank.connections_results", "publish_bearing"),
    "publish_between": ("harness.questions.validity.audit_results", "publish_between"),
    "publish_coverage": ("harness.questions.validity.results", "publish_coverage"),
    "publish_drifts": ("harness.questions.validity.results", "publish_drifts"),
    "publish_enough": ("harness.questions.validity.adequacy_results", "publish_enough"),
    "publish_equal_arms": ("harness.questions.validity.results", "publish_equal_arms"),
    "publish_faces": ("harness.questions.clients.published", "publish_faces"),
    "publish_generators": ("harness.questions.validity.results", "publish_generators"),
    "publish_headline": ("harness.publish.headline", "publish_headline"),
    "publish_levels": ("harness.publish.results", "publish_levels"),
    "publish_limits": ("harness.questions.bank.results", "publish_limits"),
    "publish_memory": ("harness.questions.gc_peaks.equal_memory_results", "publish_memory"),
    "publish_memory_pairs": ("harness.questions.gc_peaks.equal_memory_results", "publish_memory_pairs"),
    "publish_money": ("harness.questions.bank.results", "publish_money"),
    "publish_names": ("harness.publish.results", "publish_names"),
    "publish_other_session": ("harness.publish.other_session", "publish_other_session"),
    "publish_parts": ("harness.questions.clients.results", "publish_parts"),
    "publish_pooled": ("harness.questions.bank.connections_results", "publish_pooled"),
    "publish_precision_recall": ("harness.questions.validity.results", "publish_precision_recall"),
    "publish_pressure": ("harness.questions.bank.results", "publish_pressure"),
    "publish_published_bank": ("harness.questions.bank.published", "publish_published_bank"),
    "publish_rounds": ("harness.questions.strings.published", "publish_rounds"),
    "publish_slow_start": ("harness.questions.clients.results", "publish_slow_start"),
    "publish_survivors": ("harness.questions.bank.connections_results", "publish_survivors"),
    "publish_use": ("harness.questions.clients.published", "publish_use"),
    "publish_warm_up": ("harness.questions.warm_up.results", "publish_warm_up"),
    "published_bank": ("harness.questions.bank.published", "published_bank"),
    "published_cells": ("harness.questions.bank.published", "published_cells"),
    "published_clients": ("harness.questions.clients.published", "published_clients"),
    "published_rounds": ("harness.questions.strings.published", "published_rounds"),
    "run_stages": ("harness.pipeline.execute", "run"),
    "run_verify": ("harness.verify.simulated", "run_verify"),
    "saturations": ("harness.questions.bank.analysis", "saturations"),
    "settling": ("harness.evidence.requests", "settling"),
    "setup_tables": ("harness.publish.session_facts", "setup_tables"),
    "summarise": ("harness.analysis.stats.summaries", "summarise"),
    "tidy_all": ("harness.pipeline.steps", "tidy_all"),
    "timelines": ("harness.questions.gc_peaks.analysis", "timelines"),
    "trial_values": ("harness.publish.teaching", "trial_values"),
    "use_cells": ("harness.questions.clients.published", "use_cells"),
    "use_table": ("harness.questions.clients.usage", "use_table"),
    "verdict_table": ("harness.publish.teaching", "verdict_table"),
    "warm_up_cells": ("harness.questions.warm_up.results", "warm_up_cells"),
    "warm_up_curves": ("harness.questions.warm_up.analysis", "warm_up_curves"),
    "warm_up_table": ("harness.analysis.warmup.curves", "warm_up_table"),
    "describe_warm_up": ("harness.evidence.load_response", "describe_warm_up"),
    "worth_cells": ("harness.questions.validity.adequacy_results", "worth_cells"),
}

__all__ = [
    "Evidence",
    "Publisher",
    "RunAllParameters",
    "StageParameters",
    "aa_noise",
    "at_one_load",
    "at_one_load_of",
    "attribute_peaks",
    "attribution_cells",
    "attribution_table",
    "audit_cells",
    "audit_control",
    "audit_sessions",
    "bearing_cells",
    "beside_published",
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
    "describe_warm_up",
    "drawable",
    "drifts",
    "effect_between",
    "face_cells",
    "failure_cells",
    "figures",
    "find_evidence",
    "how_much",
    "knees",
    "latencies_by",
    "load_response",
    "margin_note",
    "measure_all",
    "memory_pairs",
    "noise_words",
    "one_of_each",
    "open_evidence",
    "pair_cells",
    "paper_values",
    "parts_cells",
    "parts_table",
    "passes_words",
    "percentile_cells",
    "plan_stages",
    "pooled_cells",
    "precision_recall_curves",
    "pressure_cells",
    "publish_alike",
    "publish_attribution",
    "publish_audit",
    "publish_bearing",
    "publish_between",
    "publish_coverage",
    "publish_drifts",
    "publish_enough",
    "publish_equal_arms",
    "publish_faces",
    "publish_generators",
    "publish_headline",
    "publish_levels",
    "publish_limits",
    "publish_memory",
    "publish_memory_pairs",
    "publish_money",
    "publish_names",
    "publish_noise",
    "publish_other_session",
    "publish_parts",
    "publish_pooled",
    "publish_precision_recall",
    "publish_pressure",
    "publish_published_bank",
    "publish_rounds",
    "publish_slow_start",
    "publish_survivors",
    "publish_use",
    "publish_warm_up",
    "published_bank",
    "published_cells",
    "published_clients",
    "published_rounds",
    "run_stages",
    "run_verify",
    "saturations",
    "settling",
    "setup_tables",
    "summarise",
    "tidy_all",
    "timelines",
    "trial_values",
    "use_cells",
    "use_table",
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
