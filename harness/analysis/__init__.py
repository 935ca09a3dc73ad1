# SPDX-License-Identifier: Apache-2.0
"""What the trials say: tables, estimates, comparisons. Sees the store and the model, never the measuring side.

Every public name is loaded when it is first used: a report on one file needs no table of laws, no plots.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.analysis.attribution import Attribution, CauseShare, attributable_fraction
    from harness.analysis.audit import AATest, AuditCheck, PlanAudit, aa_test, audit_plan
    from harness.analysis.changepoints import ChangePoints, detect_changepoints
    from harness.analysis.checks import Assumptions, check_assumptions, unseen_mode_share
    from harness.analysis.clocks import ClockOffset, estimate_clock_offset
    from harness.analysis.collector_cost import CollectorOverhead, lower_bound_overhead
    from harness.analysis.comparisons import Comparison, compare
    from harness.analysis.decisions import adjust_pvalues, default_margin, grade, verdict
    from harness.analysis.effects import effect_size_ci
    from harness.analysis.equivalence import EquivalenceTest, equivalence_test
    from harness.analysis.matching import (
        Coincidence,
        Matching,
        PrecisionRecall,
        coincidence_test,
        match_events,
        precision_recall,
    )
    from harness.analysis.means import mean_ci, mean_within
    from harness.analysis.noise import AANoise, aa_noise
    from harness.analysis.omission import (
        OmissionCheck,
        coordinated_omission_check,
        metered_latency,
    )
    from harness.analysis.overlap import attribute_latency
    from harness.analysis.planning import (
        PlannedRepetitions,
        VarianceComponents,
        plan_repetitions,
        rmit_order,
        variance_components,
    )
    from harness.analysis.pooled import cluster_bootstrap_quantile, pooled_quantile, pooled_quantile_ratio_ci
    from harness.analysis.quantiles import bootstrap_quantile, quantile_ci
    from harness.analysis.randomization import RandomizationTest, randomization_test
    from harness.analysis.scaling import BandPoint, ScalingFit, fit_usl
    from harness.analysis.slow_periods import Stall
    from harness.analysis.stalls import detect_stalls, detectability_limit
    from harness.analysis.steady_state import SteadyState, WarmUp, classify_warmup, steady_state_start
    from harness.analysis.summaries import summarise
    from harness.analysis.within_trial import (
        RunStatistics,
        batch_means_ci,
        block_bootstrap_ci,
        effective_sample_size,
        run_statistics,
    )

#: module -> the public names that stand in it
_PUBLIC: dict[str, tuple[str, ...]] = {
    "attribution": (
        "Attribution",
        "CauseShare",
        "attributable_fraction",
    ),
    "audit": (
        "AATest",
        "AuditCheck",
        "PlanAudit",
        "aa_test",
        "audit_plan",
    ),
    "changepoints": (
        "ChangePoints",
        "detect_changepoints",
    ),
    "checks": (
        "Assumptions",
        "check_assumptions",
        "unseen_mode_share",
    ),
    "clocks": (
        "ClockOffset",
        "estimate_clock_offset",
    ),
    "collector_cost": (
        "CollectorOverhead",
        "lower_bound_overhead",
    ),
    "comparisons": (
        "Comparison",
        "compare",
    ),
    "decisions": (
        "adjust_pvalues",
        "default_margin",
        "grade",
        "verdict",
    ),
    "effects": ("effect_size_ci",),
    "equivalence": (
        "EquivalenceTest",
        "equivalence_test",
    ),
    "means": (
        "mean_ci",
        "mean_within",
    ),
    "matching": (
        "Coincidence",
        "Matching",
        "PrecisionRecall",
        "coincidence_test",
        "match_events",
        "precision_recall",
    ),
    "noise": (
        "AANoise",
        "aa_noise",
    ),
    "omission": (
        "OmissionCheck",
        "coordinated_omission_check",
        "metered_latency",
    ),
    "overlap": ("attribute_latency",),
    "planning": (
        "PlannedRepetitions",
        "VarianceComponents",
        "plan_repetitions",
        "rmit_order",
        "variance_components",
    ),
    "pooled": (
        "cluster_bootstrap_quantile",
        "pooled_quantile",
        "pooled_quantile_ratio_ci",
    ),
    "quantiles": (
        "bootstrap_quantile",
        "quantile_ci",
    ),
    "randomization": (
        "RandomizationTest",
        "randomization_test",
    ),
    "scaling": (
        "BandPoint",
        "ScalingFit",
        "fit_usl",
    ),
    "slow_periods": ("Stall",),
    "stalls": (
        "detect_stalls",
        "detectability_limit",
    ),
    "steady_state": (
        "SteadyState",
        "WarmUp",
        "classify_warmup",
        "steady_state_start",
    ),
    "summaries": ("summarise",),
    "within_trial": (
        "RunStatistics",
        "batch_means_ci",
        "block_bootstrap_ci",
        "effective_sample_size",
        "run_statistics",
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
