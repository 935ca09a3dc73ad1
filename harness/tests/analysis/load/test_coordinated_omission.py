# SPDX-License-Identifier: Apache-2.0
"""Rules for what a closed loop hides, and for metered and lower-bound figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis import coordinated_omission_check, lower_bound_overhead, metered_latency
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


@settings(max_examples=50, deadline=None)
@given(
    start=st.lists(st.floats(0, 100), min_size=1, max_size=60),
    window=st.one_of(st.none(), st.floats(0.01, 50)),
)
def test_metering_never_makes_a_request_faster(start: list[float], window: float | None) -> None:
    latency = np.full(len(start), 0.5)
    assert (metered_latency(np.array(start), latency, window_s=window) >= latency - 1e-9).all()


def test_even_starts_are_metered_as_they_are_and_held_up_ones_are_charged() -> None:
    even = np.arange(0.0, 10.0, 0.1)
    latency = np.full(len(even), 0.01)
    assert metered_latency(even, latency) == pytest.approx(latency)
    assert metered_latency(even, latency, window_s=1.0) == pytest.approx(latency)
    held = np.where(even < 5, even, even + 3)
    assert metered_latency(held, latency).max() > 1.0


def test_the_cheapest_program_without_its_collector_is_the_base_of_all() -> None:
    found = lower_bound_overhead(
        {"serial": [10.0, 10.2, 9.8], "z": [14.0, 14.28, 13.72]},
        {
            "serial": [2.0, 2.04, 1.96],
            "z": [0.0] * 3,
        },  # the same share of each: any one mean gives the same ratio
    )
    serial, z = found
    assert (serial.variant, z.variant, serial.base, z.base) == ("serial", "z", "serial", "serial")
    assert serial.overhead.value == pytest.approx(10 / 8) and z.overhead.value == pytest.approx(14 / 8)
    assert z.overhead.low is not None and z.overhead.low < 14 / 8
    (one,) = lower_bound_overhead({"one": [3.0]}, {"one": [1.0]})
    assert one.overhead.low is None and "one trial" in one.overhead.warnings[0]


def test_a_collector_dearer_than_the_whole_is_refused() -> None:
    with pytest.raises(InputError):
        lower_bound_overhead({"a": [1.0]}, {"a": [1.5]})
