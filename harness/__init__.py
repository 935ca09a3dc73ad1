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
    from harness.evidence import Evidence
    from harness.evidence.attribution import attribute_peaks
    from harness.evidence.load_response import describe_calibration, effect_between
    from harness.evidence.opening import find_evidence, open_evidence
    from harness.evidence.requests import defined_variants, latencies_by
    from harness.pipeline import RunAllParameters, StageParameters, check_parameters
    from harness.pipeline.execute import run as run_stages
    from harness.pipeline.plan import make_plan as plan_stages
    from harness.pipeline.steps import check_machine, measure_all, tidy_all
    from harness.publish import Publisher, comparison_rows
    from harness.publish.results import publish_names
    from harness.publish.session_facts import describe_session, paper_values, setup_tables
    from harness.questions.bank.connections import at_one_load
    from harness.questions.clients.analysis import parts_table
    from harness.questions.placement.results import all_places

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
    "attribution_table": ("harness.analysis.attribution.table", "attribution_table"),
    "check_machine": ("harness.pipeline.steps", "check_machine"),
    "check_parameters": ("harness.pipeline", "check_parameters"),
    "compare": ("harness.analysis.stats.comparisons", "compare"),
    "comparison_rows": ("harness.publish", "comparison_rows"),
    "defined_variants": ("harness.evidence.requests", "defined_variants"),
    "describe_calibration": ("harness.evidence.load_response", "describe_calibration"),
    "describe_session": ("harness.publish.session_facts", "describe_session"),
    "effect_between": ("harness.evidence.load_response", "effect_between"),
    "figures": ("harness.figures", None),
    "find_evidence": ("harness.evidence.opening", "find_evidence"),
    "latencies_by": ("harness.evidence.requests", "latencies_by"),
    "measure_all": ("harness.pipeline.steps", "measure_all"),
    "open_evidence": ("harness.evidence.opening", "open_evidence"),
    "paper_values": ("harness.publish.session_facts", "paper_values"),
    "parts_table": ("harness.questions.clients.analysis", "parts_table"),
    "plan_stages": ("harness.pipeline.plan", "make_plan"),
    "publish_names": ("harness.publish.results", "publish_names"),
    "run_stages": ("harness.pipeline.execute", "run"),
    "setup_tables": ("harness.publish.session_facts", "setup_tables"),
    "summarise": ("harness.analysis.stats.summaries", "summarise"),
    "tidy_all": ("harness.pipeline.steps", "tidy_all"),
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
    "attribution_table",
    "check_machine",
    "check_parameters",
    "compare",
    "comparison_rows",
    "defined_variants",
    "describe_calibration",
    "describe_session",
    "effect_between",
    "figures",
    "find_evidence",
    "latencies_by",
    "measure_all",
    "open_evidence",
    "paper_values",
    "parts_table",
    "plan_stages",
    "publish_names",
    "run_stages",
    "setup_tables",
    "summarise",
    "tidy_all",
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
