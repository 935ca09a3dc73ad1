# SPDX-License-Identifier: Apache-2.0
"""The workshop: what its notebooks import. ``python -m harness.questions.workshop`` makes its files."""

from harness.analysis.load.coordinated_omission import coordinated_omission_check
from harness.analysis.stats.sample_size import plan_repetitions
from harness.questions.workshop.exercises import (
    compared,
    comparison_checks,
    figure,
    first_trials,
    latency_checks,
    loop_checks,
    pause_checks,
    paused_s,
    trial_checks,
    warm_up_checks,
)
from harness.questions.workshop.made_up import (
    PAUSE_S,
    TRUE_RATIO,
    clock_trial,
    courses,
    loops,
    studies,
    suspects,
    unnamed_loops,
    write_comparisons,
)

__all__ = [
    "PAUSE_S", "TRUE_RATIO", "clock_trial", "compared", "comparison_checks",
    "coordinated_omission_check", "courses", "figure", "first_trials", "latency_checks", "loop_checks",
    "loops", "pause_checks", "paused_s", "plan_repetitions", "studies", "suspects", "trial_checks",
    "unnamed_loops", "warm_up_checks", "write_comparisons",
]  # fmt: skip
