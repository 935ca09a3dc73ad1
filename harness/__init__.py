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
    from harness.analysis.comparisons import aa_noise, compare, summarise
    from harness.evidence import Evidence, open_evidence
    from harness.publish import Publisher, comparison_rows, published_rounds
    from harness.publish.facts import describe_session, paper_values, publish_rounds
    from harness.stages import RunAllParameters, StageParameters, check_parameters
    from harness.stages.execute import run as run_stages
    from harness.stages.plan import make_plan as plan_stages
    from harness.stages.work import check_machine, measure_all, tidy_all

#: name in a notebook -> (module, name there; None: the module itself)
_EXPORTS: dict[str, tuple[str, str | None]] = {
    "Evidence": ("harness.evidence", "Evidence"),
    "Publisher": ("harness.publish", "Publisher"),
    "RunAllParameters": ("harness.stages", "RunAllParameters"),
    "StageParameters": ("harness.stages", "StageParameters"),
    "aa_noise": ("harness.analysis.comparisons", "aa_noise"),
    "check_machine": ("harness.stages.work", "check_machine"),
    "check_parameters": ("harness.stages", "check_parameters"),
    "comparison_rows": ("harness.publish", "comparison_rows"),
    "compare": ("harness.analysis.comparisons", "compare"),
    "describe_session": ("harness.publish.facts", "describe_session"),
    "figures": ("harness.figures", None),
    "measure_all": ("harness.stages.work", "measure_all"),
    "open_evidence": ("harness.evidence", "open_evidence"),
    "paper_values": ("harness.publish.facts", "paper_values"),
    "plan_stages": ("harness.stages.plan", "make_plan"),
    "publish_rounds": ("harness.publish.facts", "publish_rounds"),
    "published_rounds": ("harness.publish", "published_rounds"),
    "run_stages": ("harness.stages.execute", "run"),
    "summarise": ("harness.analysis.comparisons", "summarise"),
    "tidy_all": ("harness.stages.work", "tidy_all"),
}

__all__ = [
    "Evidence",
    "Publisher",
    "RunAllParameters",
    "StageParameters",
    "aa_noise",
    "check_machine",
    "check_parameters",
    "compare",
    "comparison_rows",
    "describe_session",
    "figures",
    "measure_all",
    "open_evidence",
    "paper_values",
    "plan_stages",
    "publish_rounds",
    "published_rounds",
    "run_stages",
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
