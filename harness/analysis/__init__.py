# SPDX-License-Identifier: Apache-2.0
"""What the trials say: tables, estimates, comparisons. Sees the store and the model, never the measuring side.

Every public name is loaded when it is first used: a report on one file needs no table of laws, no plots.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.analysis.attribution.attribute import Attribution, CauseShare, attributable_fraction
    from harness.analysis.attribution.clock_offset import ClockOffset, estimate_clock_offset
    from harness.analysis.attribution.event_matching import (
        Coincidence,
        Matching,
        PrecisionRecall,
        coincidence_test,
        match_events,
        precision_recall,
    )
    from harness.analysis.attribution.request_overlap import attribute_latency
    from harness.analysis.attribution.slow_periods import Stall
    from harness.analysis.attribution.stalls import detect_stalls, detectability_limit
    from harness.analysis.audit.plan_audit import AuditCheck, PlanAudit, audit_plan
    from harness.analysis.load.coordinated_omission import (
        OmissionCheck,
        coordinated_omission_check,
        metered_latency,
    )
    from harness.analysis.stats.aa_noise import AANoise, aa_noise
    from harness.analysis.stats.aa_test import AATest, aa_test
    from harness.analysis.stats.assumptions import Assumptions, check_assumptions, unseen_mode_share
    from harness.analysis.stats.comparisons import Comparison, compare
    from harness.analysis.stats.effects import effect_size_ci
    from harness.analysis.stats.equivalence import EquivalenceTest, equivalence_test
    from harness.analysis.stats.lower_bound_overhead import CollectorOverhead, lower_bound_overhead
    from harness.analysis.stats.means import mean_ci, mean_within
    from harness.analysis.stats.pooled_quantiles import (
        cluster_bootstrap_quantile,
        pooled_quantile,
        pooled_quantile_ratio_ci,
    )
    from harness.analysis.stats.quantiles import bootstrap_quantile, quantile_ci
    from harness.analysis.stats.randomization import RandomizationTest, randomization_test
    from harness.analysis.stats.sample_size import (
        PlannedRepetitions,
        VarianceComponents,
        plan_repetitions,
        rmit_order,
        variance_components,
    )
    from harness.analysis.stats.summaries import summarise
    from harness.analysis.stats.usl import BandPoint, ScalingFit, fit_usl
    from harness.analysis.stats.verdicts import adjust_pvalues, default_margin, grade, verdict
    from harness.analysis.stats.within_trial import (
        RunStatistics,
        batch_means_ci,
        block_bootstrap_ci,
        effective_sample_size,
        run_statistics,
    )
    from harness.analysis.warmup.changepoints import ChangePoints, detect_changepoints
    from harness.analysis.warmup.classify import SteadyState, WarmUp, classify_warmup, steady_state_start

#: module -> the public names that stand in it
_PUBLIC: dict[str, tuple[str, ...]] = {
    "attribution.attribute": (
        "Attribution",
        "CauseShare",
        "attributable_fraction",
    ),
    "attribution.clock_offset": (
        "ClockOffset",
        "estimate_clock_offset",
    ),
    "attribution.event_matching": (
        "Coincidence",
        "Matching",
        "PrecisionRecall",
        "coincidence_test",
        "match_events",
        "precision_recall",
    ),
    "attribution.request_overlap": ("attribute_latency",),
    "attribution.slow_periods": ("Stall",),
    "attribution.stalls": (
        "detect_stalls",
        "detectability_limit",
    ),
    "audit.plan_audit": (
        "AuditCheck",
        "PlanAudit",
        "audit_plan",
    ),
    "load.coordinated_omission": (
        "OmissionCheck",
        "coordinated_omission_check",
        "metered_latency",
    ),
    "stats.aa_noise": (
        "AANoise",
        "aa_noise",
    ),
    "stats.aa_test": (
        "AATest",
        "aa_test",
    ),
    "stats.assumptions": (
        "Assumptions",
        "check_assumptions",
        "unseen_mode_share",
    ),
    "stats.comparisons": (
        "Comparison",
        "compare",
    ),
    "stats.effects": ("effect_size_ci",),
    "stats.equivalence": (
        "EquivalenceTest",
        "equivalence_test",
    ),
    "stats.lower_bound_overhead": (
        "CollectorOverhead",
        "lower_bound_overhead",
    ),
    "stats.means": (
        "mean_ci",
        "mean_within",
    ),
    "stats.pooled_quantiles": (
        "cluster_bootstrap_quantile",
        "pooled_quantile",
        "pooled_quantile_ratio_ci",
    ),
    "stats.quantiles": (
        "bootstrap_quantile",
        "quantile_ci",
    ),
    "stats.randomization": (
        "RandomizationTest",
        "randomization_test",
    ),
    "stats.sample_size": (
        "PlannedRepetitions",
        "VarianceComponents",
        "plan_repetitions",
        "rmit_order",
        "variance_components",
    ),
    "stats.summaries": ("summarise",),
    "stats.usl": (
        "BandPoint",
        "ScalingFit",
        "fit_usl",
    ),
    "stats.verdicts": (
        "adjust_pvalues",
        "default_margin",
        "grade",
        "verdict",
    ),
    "stats.within_trial": (
        "RunStatistics",
        "batch_means_ci",
        "block_bootstrap_ci",
        "effective_sample_size",
        "run_statistics",
    ),
    "warmup.changepoints": (
        "ChangePoints",
        "detect_changepoints",
    ),
    "warmup.classify": (
        "SteadyState",
        "WarmUp",
        "classify_warmup",
        "steady_state_start",
    ),
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [
    "AANoise",
    "AATest",
    "Assumptions",
    "Attribution",
    "AuditCheck",
    "BandPoint",
    "CauseShare",
    "ChangePoints",
    "ClockOffset",
    "Coincidence",
    "CollectorOverhead",
    "Comparison",
    "EquivalenceTest",
    "Matching",
    "OmissionCheck",
    "PlanAudit",
    "PlannedRepetitions",
    "PrecisionRecall",
    "RandomizationTest",
    "RunStatistics",
    "ScalingFit",
    "Stall",
    "SteadyState",
    "VarianceComponents",
    "WarmUp",
    "aa_noise",
    "aa_test",
    "adjust_pvalues",
    "attributable_fraction",
    "attribute_latency",
    "audit_plan",
    "batch_means_ci",
    "block_bootstrap_ci",
    "bootstrap_quantile",
    "check_assumptions",
    "classify_warmup",
    "cluster_bootstrap_quantile",
    "coincidence_test",
    "compare",
    "coordinated_omission_check",
    "default_margin",
    "detect_changepoints",
    "detect_stalls",
    "detectability_limit",
    "effect_size_ci",
    "effective_sample_size",
    "equivalence_test",
    "estimate_clock_offset",
    "fit_usl",
    "grade",
    "lower_bound_overhead",
    "match_events",
    "mean_ci",
    "mean_within",
    "metered_latency",
    "plan_repetitions",
    "pooled_quantile",
    "pooled_quantile_ratio_ci",
    "precision_recall",
    "quantile_ci",
    "randomization_test",
    "rmit_order",
    "run_statistics",
    "steady_state_start",
    "summarise",
    "unseen_mode_share",
    "variance_components",
    "verdict",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'harness.analysis' has no attribute {name!r}")
    return getattr(import_module(f"harness.analysis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
