# SPDX-License-Identifier: Apache-2.0
"""Rules for what a closed loop hides."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis import coordinated_omission_check
from harness.analysis.load.coordinated_omission import with_missing_requests
from harness.errors import InputError


def test_one_user_held_up_for_a_second_leaves_out_what_it_would_have_sent() -> None:
    every = with_missing_requests(np.array([1.0, 0.05]), 0.25)
    assert every is not None and every.tolist() == [1.0, 0.05, 0.75, 0.5, 0.25]


def test_a_single_user_is_a_closed_loop_and_its_tail_is_corrected() -> None:
    latency = np.full(2000, 0.01)
    latency[500::500] = 2.0
    start = np.concatenate([[0.0], np.cumsum(latency)[:-1]])
    check = coordinated_omission_check(start, latency, users=1)
    assert check.flagged and check.loop == "closed" and check.interval_s == pytest.approx(0.01)
    assert check.corrected_s is not None and check.corrected_s["p99"] > 100 * check.measured_s["p99"]


def test_requests_sent_by_their_plan_are_an_open_loop_and_late_ones_are_not() -> None:
    planned = np.arange(0.0, 10.0, 0.01)
    latency = np.full(len(planned), 0.003)
    assert not coordinated_omission_check(planned, latency, planned_s=planned).flagged
    late = planned + np.where((planned > 5) & (planned < 5.5), 0.4, 0.0)
    check = coordinated_omission_check(late, latency, planned_s=planned)
    assert check.flagged and check.corrected_s is not None and check.corrected_s["p99.9"] > 0.1


def test_too_few_requests_without_users_or_plan_say_nothing() -> None:
    assert coordinated_omission_check(np.arange(5.0), np.ones(5)).loop == "cannot say"


@pytest.mark.parametrize(
    "arguments",
    [
        {"users": 0},
        {"users": 2, "planned_s": np.arange(3.0)},
        {"planned_s": np.arange(2.0)},
    ],
)
def test_a_check_that_contradicts_itself_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError):
        coordinated_omission_check(np.arange(3.0), np.ones(3), **arguments)  # type: ignore[arg-type]  # on purpose
