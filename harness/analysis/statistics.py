# SPDX-License-Identifier: Apache-2.0
"""The statistics by their public names, in one place. The modules named here hold the reasons."""

from harness.analysis.audit import AATest, AuditCheck, PlanAudit, aa_test, audit_plan
from harness.analysis.checks import Assumptions, check_assumptions, unseen_mode_share
from harness.analysis.decisions import (
    EquivalenceTest,
    RandomizationTest,
    adjust_pvalues,
    default_margin,
    equivalence_test,
    grade,
    randomization_test,
    verdict,
)
from harness.analysis.effects import effect_size_ci, mean_ci
from harness.analysis.planning import (
    PlannedRepetitions,
    VarianceComponents,
    plan_repetitions,
    rmit_order,
    variance_components,
)
from harness.analysis.pooled import cluster_bootstrap_quantile, pooled_quantile, pooled_quantile_ratio_ci
from harness.analysis.quantiles import bootstrap_quantile, quantile_ci
from harness.analysis.within_trial import (
    RunStatistics,
    batch_means_ci,
    block_bootstrap_ci,
    effective_sample_size,
    run_statistics,
)

__all__ = [
    "AATest",
    "Assumptions",
    "AuditCheck",
    "EquivalenceTest",
    "PlanAudit",
    "PlannedRepetitions",
    "RandomizationTest",
    "RunStatistics",
    "VarianceComponents",
    "aa_test",
    "adjust_pvalues",
    "audit_plan",
    "batch_means_ci",
    "block_bootstrap_ci",
    "bootstrap_quantile",
    "check_assumptions",
    "cluster_bootstrap_quantile",
    "default_margin",
    "effect_size_ci",
    "effective_sample_size",
    "equivalence_test",
    "grade",
    "mean_ci",
    "plan_repetitions",
    "pooled_quantile",
    "pooled_quantile_ratio_ci",
    "quantile_ci",
    "randomization_test",
    "rmit_order",
    "run_statistics",
    "unseen_mode_share",
    "variance_components",
    "verdict",
]
