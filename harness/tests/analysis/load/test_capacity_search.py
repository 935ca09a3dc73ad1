# SPDX-License-Identifier: Apache-2.0
"""The search for a capacity: it keeps every trial, and says when there is none."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from harness.analysis.load.capacity_search import Measure, judged, loss_to_report, search_capacity
from harness.errors import CalibrationFailed
from harness.model import CalibrationSpec, CapacityGoals, SearchTrial

GOALS = CapacityGoals()


def trial(
    rate_per_s: float, duration_s: float, *, late: float, right_per_s: float | None = None
) -> SearchTrial:
    return judged(
        GOALS, rate_per_s=rate_per_s, duration_s=duration_s, n_arrivals=int(rate_per_s * duration_s),
        right_per_s=rate_per_s if right_per_s is None else right_per_s, lost_share=0.0, late_share=late,
    )  # fmt: skip


def service(capacity_per_s: float) -> Measure:
    """A service that is late above a rate."""

    def measure(rate_per_s: float, duration_s: float) -> SearchTrial:
        late = 0.3 if rate_per_s > capacity_per_s else 0.0
        return trial(rate_per_s, duration_s, late=late, right_per_s=min(rate_per_s, 1.05 * capacity_per_s))

    return measure


@pytest.mark.parametrize("capacity_per_s", [42.0, 950.0, 31_000.0])
def test_the_highest_rate_that_keeps_its_goals_is_found_to_within_its_width(capacity_per_s: float) -> None:
    found = search_capacity(
        service(capacity_per_s), GOALS, lowest_per_s=0.4 * capacity_per_s, highest_per_s=1.3 * capacity_per_s
    )
    assert found.upper_per_s is not None
    assert found.lower_per_s <= capacity_per_s < found.upper_per_s
    assert found.upper_per_s / found.lower_per_s - 1 <= 1.1 * GOALS.width


def test_a_range_that_keeps_its_goals_throughout_has_no_upper_bound_and_one_that_misses_them_no_capacity() -> (
    None
):
    found = search_capacity(service(5000.0), GOALS, lowest_per_s=400.0, highest_per_s=1200.0)
    assert found.upper_per_s is None and found.lower_per_s == pytest.approx(1200.0)
    with pytest.raises(CalibrationFailed, match=r"400/s already misses the goals .*30.00% late"):
        search_capacity(service(100.0), GOALS, lowest_per_s=400.0, highest_per_s=1200.0)


def test_what_is_reported_is_good_exactly_where_the_trial_is_and_leads_to_the_rate_that_was_answered() -> (
    None
):
    good = trial(100.0, 4.0, late=GOALS.late_ratio / 2)
    assert loss_to_report(good, GOALS) == pytest.approx(GOALS.loss_ratio / 2)
    late = trial(100.0, 4.0, late=0.5)
    assert loss_to_report(late, GOALS) > GOALS.loss_ratio and not late.good
    flooded = trial(100.0, 4.0, late=1.0, right_per_s=60.0)
    assert loss_to_report(flooded, GOALS) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"capacity": "search", "generator": "wrk"}, "wrk sends on a connection only after its answer"),
        ({"capacity": "search", "generator": "wrk", "goals": {"generator": "wrk2"}}, "no row per request"),
        ({"generator": "k6", "goals": {}}, "goals are those of capacity"),
        ({"capacity": "search", "generator": "k6", "goals": {"trial_s": 30.0}}, "at most trials_s"),
        ({"capacity": "search", "generator": "k6", "goals": {"from_share": 2.0}}, "below to_share"),
        ({"capacity": "search", "generator": "k6", "goals": {"loss_ratio": 0.0}}, "greater than 0"),
    ],
)  # fmt: skip
def test_a_definition_that_cannot_be_searched_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        CalibrationSpec.model_validate(given)
