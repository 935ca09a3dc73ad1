# SPDX-License-Identifier: Apache-2.0
"""The highest rate that keeps its goals of loss and lateness, by the library MLRsearch (RFC 9971)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.errors import CalibrationFailed
from harness.model.load import CapacityGoals, CapacitySearch, SearchTrial

#: Offer a rate (1/s) for so long (s), and say what became of it.
Measure = Callable[[float, float], SearchTrial]
#: Coarser targets before the last one: the first of the length ``first_trial_s``.
_COARSER = 2
#: What a bad trial reports at least, in units of the goal's loss ratio: more than 1 is bad.
_BAD = 2.0


def search_capacity(
    measure: Measure, goals: CapacityGoals, *, lowest_per_s: float, highest_per_s: float
) -> CapacitySearch:
    """Return the bounds between two rates, with all trials. Raises CalibrationFailed: none keeps the goals in time."""
    # loaded when it is used: who reads results has no need of it
    from MLRsearch import Config, MultipleLossRatioSearch, SearchGoal

    goal = SearchGoal(
        loss_ratio=goals.loss_ratio, exceed_ratio=goals.exceed_ratio, relative_width=goals.width,
        initial_trial_duration=goals.first_trial_s, final_trial_duration=goals.trial_s,
        duration_sum=goals.trials_s, preceding_targets=_COARSER, fail_fast=False,
    )  # fmt: skip
    config = Config(
        goals=(goal,), min_load=lowest_per_s, max_load=highest_per_s, search_duration_max=goals.at_most_s,
        warmup_duration=0.0,
    )  # fmt: skip
    measurer = _Measurer(measure, goals)
    try:
        (result,) = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None).values()
    except RuntimeError as error:  # the library's only way to say that time is over
        raise CalibrationFailed(
            f"no capacity was found within {goals.at_most_s:g} s, {len(measurer.trials)} trials: {error}"
        ) from error
    lower, upper = result.relevant_lower_bound, result.relevant_upper_bound
    if lower is None:
        lowest = min(measurer.trials, key=lambda trial: trial.rate_per_s)
        raise CalibrationFailed(
            f"{lowest_per_s:.6g}/s already misses the goals (at most {goals.loss_ratio:g} lost, at most "
            f"{goals.late_ratio:g} later than {goals.late_after_s:g} s): {lowest.lost_share:.2%} lost, "
            f"{lowest.late_share:.2%} late at {lowest.rate_per_s:.6g}/s"
        )
    return CapacitySearch(
        goals=goals, trials=tuple(measurer.trials), lower_per_s=float(lower),
        upper_per_s=None if upper is None else float(upper),
    )  # fmt: skip


@dataclass
class _Measurer:
    """What the library calls: rates and durations in, counts out."""

    measure_one: Measure
    goals: CapacityGoals
    trials: list[SearchTrial] = field(default_factory=list)

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """Return the library's result of one trial."""
        from MLRsearch import MeasurementResult

        trial = self.measure_one(intended_load, intended_duration)
        self.trials.append(trial)
        # in millionths: the library counts whole things, and its next rate follows from their ratio
        lost = round(1_000_000 * loss_to_report(trial, self.goals))
        return MeasurementResult(
            intended_duration=intended_duration, intended_load=intended_load, offered_count=1_000_000, loss_count=lost
        )  # fmt: skip


def loss_to_report(trial: SearchTrial, goals: CapacityGoals) -> float:
    """Return a loss ratio that says whether both goals are kept: the used share of a good trial, else the excess."""
    excess = goals.excess(trial.lost_share, trial.late_share)
    if excess <= 1:
        return excess * goals.loss_ratio
    offered_per_s = trial.n_arrivals / trial.duration_s
    short = 1 - trial.right_per_s / offered_per_s if offered_per_s > 0 else 1.0
    return min(max(short, _BAD * goals.loss_ratio), 1.0)


def judged(
    goals: CapacityGoals, *, rate_per_s: float, duration_s: float, n_arrivals: int, right_per_s: float,
    lost_share: float, late_share: float,
) -> SearchTrial:  # fmt: skip
    """Return a trial with whether it is good; one without an arrival is: it lost nothing."""
    return SearchTrial(
        rate_per_s=rate_per_s, duration_s=duration_s, n_arrivals=n_arrivals, right_per_s=right_per_s,
        lost_share=lost_share, late_share=late_share, good=goals.excess(lost_share, late_share) <= 1,
    )  # fmt: skip
