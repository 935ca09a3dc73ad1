# SPDX-License-Identifier: Apache-2.0
"""A search for a capacity as a session keeps it: short trials, then long ones, good and bad."""

from __future__ import annotations

from harness.model import CapacityGoals, CapacitySearch, SearchTrial


def a_search(capacity_per_s: float = 950.0) -> CapacitySearch:
    """A rate is good up to the capacity; the one at 900/s was bad once."""
    goals = CapacityGoals()
    tried = [
        (1200.0, 1.0), (1000.0, 1.0), (900.0, 1.0), (900.0, 4.0), (900.0, 4.0), (900.0, 4.0), (940.0, 4.0),
        (940.0, 4.0), (940.0, 4.0), (958.0, 4.0), (958.0, 4.0), (958.0, 4.0),
    ]  # fmt: skip
    trials = []
    for number, (rate, duration_s) in enumerate(tried):
        good = rate <= capacity_per_s and number != 3
        trials.append(
            SearchTrial(
                rate_per_s=rate, duration_s=duration_s, n_arrivals=int(rate * duration_s),
                right_per_s=min(rate, 1000.0), lost_share=0.0, late_share=0.001 if good else 0.2, good=good,
            )
        )  # fmt: skip
    return CapacitySearch(goals=goals, trials=tuple(trials), lower_per_s=940.0, upper_per_s=958.0)
