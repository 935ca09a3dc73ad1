# SPDX-License-Identifier: Apache-2.0
"""Where a slow starter has caught up: courses of known cost, crossings that turn back, and none at all."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.warmup.curves import BreakEven, Course, break_even


def course(start: float, cold: float, warm: float, n_cold: int = 1000, n: int = 10_000) -> Course:
    """Each of the first ``n_cold`` requests costs ``cold``, every later one ``warm``; measured up to ``n``."""
    places = (1.0, float(n_cold), float(n))
    spent = np.cumsum([start, (n_cold - 1) * cold, (n - n_cold) * warm])
    return Course(n_requests=places, spent=tuple(map(float, spent)), warm_cost=warm)


def test_who_starts_fast_and_is_slower_warm_is_caught_up_with_where_both_have_spent_the_same() -> None:
    fast, slow = course(0.1, 0.002, 0.002), course(2.0, 0.004, 0.001)
    found = break_even(fast, slow)
    assert found.first_ahead and found.within and found.n_requests is not None
    assert fast.at(found.n_requests) == pytest.approx(slow.at(found.n_requests))
    assert 0.1 + (found.n_requests - 1) * 0.002 == pytest.approx(
        2.0 + 999 * 0.004 + (found.n_requests - 1000) * 0.001
    )


def test_beyond_what_was_measured_the_warm_cost_tells_and_who_is_as_fast_warm_is_never_caught_up_with() -> (
    None
):
    longer = break_even(course(0.1, 0.002, 0.002), course(2.0, 0.004, 0.001))
    found = break_even(course(0.1, 0.002, 0.002, n=2000), course(2.0, 0.004, 0.001, n=2000))
    assert not found.within and found.n_requests == pytest.approx(longer.n_requests)
    never = break_even(course(0.1, 0.002, 0.001), course(2.0, 0.004, 0.001))
    assert never == BreakEven(n_requests=None, first_ahead=True)


def test_a_crossing_that_turns_back_does_not_count() -> None:
    first = Course(n_requests=(1, 100, 200, 300), spent=(1.0, 2.0, 2.5, 3.0), warm_cost=0.02)
    second = Course(n_requests=(1, 100, 200, 300), spent=(1.5, 1.9, 2.7, 2.9), warm_cost=0.01)
    found = break_even(first, second)
    assert found.n_requests == pytest.approx(200 + 100 * 0.2 / 0.3) and found.within


def test_who_is_ahead_at_the_end_and_loses_it_again_has_not_caught_up_for_good() -> None:
    first = Course(n_requests=(1, 100), spent=(1.0, 5.0), warm_cost=0.001)
    second = Course(n_requests=(1, 100), spent=(2.0, 4.0), warm_cost=0.02)
    found = break_even(first, second)
    assert found.n_requests is None and found.first_ahead
