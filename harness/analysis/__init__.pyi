# SPDX-License-Identifier: Apache-2.0
"""The public names of the analysis, once: type checkers read this file, and ``__init__.py`` loads by it."""

from harness.analysis.attribution.attribute import Attribution as Attribution
from harness.analysis.attribution.attribute import CauseShare as CauseShare
from harness.analysis.attribution.attribute import attributable_fraction as attributable_fraction
from harness.analysis.attribution.clock_offset import ClockOffset as ClockOffset
from harness.analysis.attribution.clock_offset import estimate_clock_offset as estimate_clock_offset
from harness.analysis.attribution.event_matching import Coincidence as Coincidence
from harness.analysis.attribution.event_matching import Matching as Matching
from harness.analysis.attribution.event_matching import PrecisionRecall as PrecisionRecall
from harness.analysis.attribution.event_matching import coincidence_test as coincidence_test
from harness.analysis.attribution.event_matching import match_events as match_events
from harness.analysis.attribution.event_matching import precision_recall as precision_recall
from harness.analysis.attribution.request_overlap import attribute_latency as attribute_latency
from harness.analysis.attribution.slow_periods import Stall as Stall
from harness.analysis.attribution.stalls import detect_stalls as detect_stalls
from harness.analysis.attribution.stalls import detectability_limit as detectability_limit
from harness.analysis.audit.plan_audit import AuditCheck as AuditCheck
from harness.analysis.audit.plan_audit import PlanAudit as PlanAudit
from harness.analysis.audit.plan_audit import audit_plan as audit_plan
from harness.analysis.load.coordinated_omission import OmissionCheck as OmissionCheck
from harness.analysis.load.coordinated_omission import (
    coordinated_omission_check as coordinated_omission_check,
)
from harness.analysis.stats.aa_noise import AANoise as AANoise
from harness.analysis.stats.aa_noise import aa_noise as aa_noise
from harness.analysis.stats.aa_test import AATest as AATest
from harness.analysis.stats.aa_test import aa_test as aa_test
from harness.analysis.stats.assumptions import Assumptions as Assumptions
from harness.analysis.stats.assumptions import check_assumptions as check_assumptions
from harness.analysis.stats.assumptions import unseen_mode_share as unseen_mode_share
from harness.analysis.stats.comparisons import Comparison as Comparison
from harness.analysis.stats.comparisons import compare as compare
from harness.analysis.stats.detectable import Detectable as Detectable
from harness.analysis.stats.detectable import PowerCurve as PowerCurve
from harness.analysis.stats.detectable import detectable_ratio as detectable_ratio
from harness.analysis.stats.detectable import power_curve as power_curve
from harness.analysis.stats.effects import effect_size_ci as effect_size_ci
from harness.analysis.stats.equivalence import EquivalenceTest as EquivalenceTest
from harness.analysis.stats.equivalence import equivalence_test as equivalence_test
from harness.analysis.stats.factor_effects import FactorEffect as FactorEffect
from harness.analysis.stats.factor_effects import factor_effects as factor_effects
from harness.analysis.stats.means import mean_ci as mean_ci
from harness.analysis.stats.means import mean_within as mean_within
from harness.analysis.stats.pooled_quantiles import cluster_bootstrap_quantile as cluster_bootstrap_quantile
from harness.analysis.stats.pooled_quantiles import pooled_quantile as pooled_quantile
from harness.analysis.stats.quantiles import bootstrap_quantile as bootstrap_quantile
from harness.analysis.stats.randomization import RandomizationTest as RandomizationTest
from harness.analysis.stats.randomization import randomization_test as randomization_test
from harness.analysis.stats.rank_intervals import RankInterval as RankInterval
from harness.analysis.stats.rank_intervals import rank_intervals as rank_intervals
from harness.analysis.stats.sample_size import PlannedRepetitions as PlannedRepetitions
from harness.analysis.stats.sample_size import VarianceComponents as VarianceComponents
from harness.analysis.stats.sample_size import plan_repetitions as plan_repetitions
from harness.analysis.stats.sample_size import variance_components as variance_components
from harness.analysis.stats.summaries import summarise as summarise
from harness.analysis.stats.usl import BandPoint as BandPoint
from harness.analysis.stats.usl import ScalingFit as ScalingFit
from harness.analysis.stats.usl import fit_usl as fit_usl
from harness.analysis.stats.variance_split import VarianceLevel as VarianceLevel
from harness.analysis.stats.variance_split import VarianceSplit as VarianceSplit
from harness.analysis.stats.variance_split import variance_split as variance_split
from harness.analysis.stats.verdicts import adjust_pvalues as adjust_pvalues
from harness.analysis.stats.verdicts import default_margin as default_margin
from harness.analysis.stats.verdicts import grade as grade
from harness.analysis.stats.verdicts import verdict as verdict
from harness.analysis.stats.within_trial import batch_means_ci as batch_means_ci
from harness.analysis.stats.within_trial import block_bootstrap_ci as block_bootstrap_ci
from harness.analysis.stats.within_trial import effective_sample_size as effective_sample_size
from harness.analysis.warmup.changepoints import ChangePoints as ChangePoints
from harness.analysis.warmup.changepoints import detect_changepoints as detect_changepoints
from harness.analysis.warmup.classify import SteadyState as SteadyState
from harness.analysis.warmup.classify import WarmUp as WarmUp
from harness.analysis.warmup.classify import classify_warmup as classify_warmup

__all__: list[str]
