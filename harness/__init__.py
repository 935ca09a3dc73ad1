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
    from harness.evidence.audit import audit_control, audit_sessions
    from harness.evidence.bearing import at_one_load, at_one_load_of
    from harness.evidence.clients import use_table
    from harness.evidence.enough import how_much
    from harness.evidence.equal_memory import defined_pairs, memory_pairs
    from harness.evidence.load_response import (
        calibration_words,
        drawable,
        effect_between,
        knees,
        parts_table,
        pressure_table,
        saturations,
        warm_up_words,
    )
    from harness.evidence.opening import find_evidence, open_evidence
    from harness.evidence.requests import (
        attribute_peaks,
        defined_variants,
        latencies_by,
        one_of_each,
        settling,
        timelines,
        warm_up_curves,
    )
    from harness.evidence.sweeps import core_sweep
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
        published_rounds,
    )
    from harness.publish.articles import (
        parts_cells,
        pressure_cells,
        publish_levels,
        publish_limits,
        publish_money,
        publish_parts,
        publish_pressure,
        publish_slow_start,
    )
    from harness.publish.attribution import (
        attribution_cells,
        publish_attribution,
        publish_names,
        publish_warm_up,
        warm_up_cells,
    )
    from harness.publish.audit import audit_cells, failure_cells, publish_audit, publish_between
    from harness.publish.bearing import (
        bearing_cells,
        passes_words,
        publish_alike,
        publish_bearing,
        publish_pooled,
        publish_survivors,
    )
    from harness.publish.clients import (
        beside_published,
        face_cells,
        percentile_cells,
        publish_faces,
        publish_use,
        published_clients,
        use_cells,
    )
    from harness.publish.containers import container_cells, publish_containers
    from harness.publish.enough import block_cells, pooled_cells, publish_enough, worth_cells
    from harness.publish.equal_memory import pair_cells, publish_memory, publish_memory_pairs
    from harness.publish.forms import build_cells, form_cells, publish_form_effects
    from harness.publish.headline import cell_in_words, publish_headline
    from harness.publish.other_session import publish_other_session
    from harness.publish.places import all_places, compare_places, place_cells, publish_places
    from harness.publish.published_bank import publish_published_bank, published_bank, published_cells
    from harness.publish.scaling import interaction_cells, lead_cells, publish_scaling, scaling_cells
    from harness.publish.session_facts import describe_session, paper_values, publish_rounds, setup_tables
    from harness.publish.teaching import noise_words, trial_values, verdict_table
    from harness.publish.validity import (
        compare_generators,
        drifts,
        publish_coverage,
        publish_drifts,
        publish_equal_arms,
        publish_generators,
        publish_precision_recall,
    )
    from harness.verify.simulated import run_verify
    from harness.verify.simulated.stall_curves import precision_recall_curves

#: name in a notebook -> (module, name there; None: the module itself)
_EXPORTS: dict[str, tuple[str, str | None]] = {
    "Evidence": ("harness.evidence", "Evidence"),
    "Publisher": ("harness.publish", "Publisher"),
    "RunAllParameters": ("harness.pipeline", "RunAllParameters"),
    "StageParameters": ("harness.pipeline", "StageParameters"),
    "aa_noise": ("harness.analysis.stats.aa_noise", "aa_noise"),
    "all_places": ("harness.publish.places", "all_places"),
    "at_one_load": ("harness.evidence.bearing", "at_one_load"),
    "at_one_load_of": ("harness.evidence.bearing", "at_one_load_of"),
    "attribute_peaks": ("harness.evidence.requests", "attribute_peaks"),
    "attribution_cells": ("harness.publish.attribution", "attribution_cells"),
    "attribution_table": ("harness.analysis.attribution.table", "attribution_table"),
    "audit_cells": ("harness.publish.audit", "audit_cells"),
    "audit_control": ("harness.evidence.audit", "audit_control"),
    "audit_sessions": ("harness.evidence.audit", "audit_sessions"),
    "bearing_cells": ("harness.publish.bearing", "bearing_cells"),
    "beside_published": ("harness.publish.clients", "beside_published"),
    "block_cells": ("harness.publish.enough", "block_cells"),
    "build_cells": ("harness.publish.forms", "build_cells"),
    "calibration_words": ("harness.evidence.load_response", "calibration_words"),
    "cell_in_words": ("harness.publish.headline", "cell_in_words"),
    "check_machine": ("harness.pipeline.steps", "check_machine"),
    "check_parameters": ("harness.pipeline", "check_parameters"),
    "compare": ("harness.analysis.stats.comparisons", "compare"),
    "compare_generators": ("harness.publish.validity", "compare_generators"),
    "compare_places": ("harness.publish.places", "compare_places"),
    "comparison_columns": ("harness.publish", "comparison_columns"),
    "comparison_notes": ("harness.publish", "comparison_notes"),
    "comparison_rows": ("harness.publish", "comparison_rows"),
    "margin_note": ("harness.publish", "margin_note"),
    "publish_noise": ("harness.publish", "publish_noise"),
    "container_cells": ("harness.publish.containers", "container_cells"),
    "core_sweep": ("harness.evidence.sweeps", "core_sweep"),
    "defined_pairs": ("harness.evidence.equal_memory", "defined_pairs"),
    "defined_variants": ("harness.evidence.requests", "defined_variants"),
    "describe_session": ("harness.publish.session_facts", "describe_session"),
    "drawable": ("harness.evidence.load_response", "drawable"),
    "drifts": ("harness.publish.validity", "drifts"),
    "effect_between": ("harness.evidence.load_response", "effect_between"),
    "face_cells": ("harness.publish.clients", "face_cells"),
    "failure_cells": ("harness.publish.audit", "failure_cells"),
    "figures": ("harness.figures", None),
    "find_evidence": ("harness.evidence.opening", "find_evidence"),
    "form_cells": ("harness.publish.forms", "form_cells"),
    "how_much": ("harness.evidence.enough", "how_much"),
    "interaction_cells": ("harness.publish.scaling", "interaction_cells"),
    "knees": ("harness.evidence.load_response", "knees"),
    "latencies_by": ("harness.evidence.requests", "latencies_by"),
    "lead_cells": ("harness.publish.scaling", "lead_cells"),
    "measure_all": ("harness.pipeline.steps", "measure_all"),
    "memory_pairs": ("harness.evidence.equal_memory", "memory_pairs"),
    "noise_words": ("harness.publish.teaching", "noise_words"),
    "one_of_each": ("harness.evidence.requests", "one_of_each"),
    "open_evidence": ("harness.evidence.opening", "open_evidence"),
    "passes_words": ("harness.publish.bearing", "passes_words"),
    "pair_cells": ("harness.publish.equal_memory", "pair_cells"),
    "paper_values": ("harness.publish.session_facts", "paper_values"),
    "parts_cells": ("harness.publish.articles", "parts_cells"),
    "parts_table": ("harness.evidence.load_response", "parts_table"),
    "percentile_cells": ("harness.publish.clients", "percentile_cells"),
    "place_cells": ("harness.publish.places", "place_cells"),
    "plan_stages": ("harness.pipeline.plan", "make_plan"),
    "pooled_cells": ("harness.publish.enough", "pooled_cells"),
    "precision_recall_curves": ("harness.verify.simulated.stall_curves", "precision_recall_curves"),
    "pressure_cells": ("harness.publish.articles", "pressure_cells"),
    "pressure_table": ("harness.evidence.load_response", "pressure_table"),
    "publish_alike": ("harness.publish.bearing", "publish_alike"),
    "publish_attribution": ("harness.publish.attribution", "publish_attribution"),
    "publish_audit": ("harness.publish.audit", "publish_audit"),
    "publish_bearing": ("harness.publish.bearing", "publish_bearing"),
    "publish_between": ("harness.publish.audit", "publish_between"),
    "publish_coverage": ("harness.publish.validity", "publish_coverage"),
    "publish_containers": ("harness.publish.containers", "publish_containers"),
    "publish_drifts": ("harness.publish.validity", "publish_drifts"),
    "publish_enough": ("harness.publish.enough", "publish_enough"),
    "publish_equal_arms": ("harness.publish.validity", "publish_equal_arms"),
    "publish_faces": ("harness.publish.clients", "publish_faces"),
    "publish_form_effects": ("harness.publish.forms", "publish_form_effects"),
    "publish_generators": ("harness.publish.validity", "publish_generators"),
    "publish_headline": ("harness.publish.headline", "publish_headline"),
    "publish_levels": ("harness.publish.articles", "publish_levels"),
    "publish_limits": ("harness.publish.articles", "publish_limits"),
    "publish_memory": ("harness.publish.equal_memory", "publish_memory"),
    "publish_memory_pairs": ("harness.publish.equal_memory", "publish_memory_pairs"),
    "publish_money": ("harness.publish.articles", "publish_money"),
    "publish_names": ("harness.publish.attribution", "publish_names"),
    "publish_other_session": ("harness.publish.other_session", "publish_other_session"),
    "publish_parts": ("harness.publish.articles", "publish_parts"),
    "publish_places": ("harness.publish.places", "publish_places"),
    "publish_pooled": ("harness.publish.bearing", "publish_pooled"),
    "publish_precision_recall": ("harness.publish.validity", "publish_precision_recall"),
    "publish_pressure": ("harness.publish.articles", "publish_pressure"),
    "publish_published_bank": ("harness.publish.published_bank", "publish_published_bank"),
    "publish_rounds": ("harness.publish.session_facts", "publish_rounds"),
    "publish_scaling": ("harness.publish.scaling", "publish_scaling"),
    "publish_slow_start": ("harness.publish.articles", "publish_slow_start"),
    "publish_survivors": ("harness.publish.bearing", "publish_survivors"),
    "publish_use": ("harness.publish.clients", "publish_use"),
    "publish_warm_up": ("harness.publish.attribution", "publish_warm_up"),
    "published_bank": ("harness.publish.published_bank", "published_bank"),
    "published_cells": ("harness.publish.published_bank", "published_cells"),
    "published_clients": ("harness.publish.clients", "published_clients"),
    "published_rounds": ("harness.publish", "published_rounds"),
    "run_stages": ("harness.pipeline.execute", "run"),
    "run_verify": ("harness.verify.simulated", "run_verify"),
    "saturations": ("harness.evidence.load_response", "saturations"),
    "scaling_cells": ("harness.publish.scaling", "scaling_cells"),
    "settling": ("harness.evidence.requests", "settling"),
    "setup_tables": ("harness.publish.session_facts", "setup_tables"),
    "summarise": ("harness.analysis.stats.summaries", "summarise"),
    "tidy_all": ("harness.pipeline.steps", "tidy_all"),
    "timelines": ("harness.evidence.requests", "timelines"),
    "trial_values": ("harness.publish.teaching", "trial_values"),
    "use_cells": ("harness.publish.clients", "use_cells"),
    "use_table": ("harness.evidence.clients", "use_table"),
    "verdict_table": ("harness.publish.teaching", "verdict_table"),
    "warm_up_cells": ("harness.publish.attribution", "warm_up_cells"),
    "warm_up_curves": ("harness.evidence.requests", "warm_up_curves"),
    "warm_up_table": ("harness.analysis.warmup.curves", "warm_up_table"),
    "warm_up_words": ("harness.evidence.load_response", "warm_up_words"),
    "worth_cells": ("harness.publish.enough", "worth_cells"),
}

__all__ = [
    "Evidence",
    "Publisher",
    "RunAllParameters",
    "StageParameters",
    "aa_noise",
    "all_places",
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
    "build_cells",
    "calibration_words",
    "cell_in_words",
    "check_machine",
    "check_parameters",
    "compare",
    "compare_generators",
    "compare_places",
    "comparison_columns",
    "comparison_notes",
    "comparison_rows",
    "container_cells",
    "core_sweep",
    "defined_pairs",
    "defined_variants",
    "describe_session",
    "drawable",
    "drifts",
    "effect_between",
    "face_cells",
    "failure_cells",
    "figures",
    "find_evidence",
    "form_cells",
    "how_much",
    "interaction_cells",
    "knees",
    "latencies_by",
    "lead_cells",
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
    "place_cells",
    "plan_stages",
    "pooled_cells",
    "precision_recall_curves",
    "pressure_cells",
    "pressure_table",
    "publish_alike",
    "publish_attribution",
    "publish_audit",
    "publish_bearing",
    "publish_between",
    "publish_containers",
    "publish_coverage",
    "publish_drifts",
    "publish_enough",
    "publish_equal_arms",
    "publish_faces",
    "publish_form_effects",
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
    "publish_places",
    "publish_pooled",
    "publish_precision_recall",
    "publish_pressure",
    "publish_published_bank",
    "publish_rounds",
    "publish_scaling",
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
    "scaling_cells",
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
    "warm_up_words",
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
