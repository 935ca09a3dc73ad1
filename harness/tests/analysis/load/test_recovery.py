# SPDX-License-Identifier: Apache-2.0
"""Recovery while requests keep coming: after the last error, and after latency had risen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.load.load_response import recovery
from harness.errors import InputError

ARRIVALS = np.arange(0, 2000) / 100.0  # a hundred a second for twenty seconds: a window is a second
CALM_S = 0.01


def calm() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return ARRIVALS.copy(), np.full(ARRIVALS.size, CALM_S), np.ones(ARRIVALS.size, dtype=bool)


@given(st.integers(1, 8), st.integers(1, 8), st.floats(0.1, 5.0))
@settings(max_examples=60, deadline=None)
def test_a_spike_is_over_when_the_last_of_its_windows_is(first: int, length: int, height_s: float) -> None:
    start, latency, ok = calm()
    inside = (start >= first) & (start < first + length)
    latency[inside] = height_s
    latency[np.searchsorted(start, first)] = 2 * height_s  # the worst comes first
    found = recovery(start, latency, ok)
    window_s = found.window_s
    assert found.recovered is True
    # a window that the spike only touches is slow as well
    assert found.slow_s == pytest.approx(length, abs=1.5 * window_s)
    assert found.recovery_s == pytest.approx(found.slow_s, abs=1.5 * window_s)


@given(st.integers(-(10**6), 10**6))
@settings(max_examples=40, deadline=None)
def test_a_shift_in_time_and_the_order_of_rows_change_nothing(shift: int) -> None:
    start, latency, ok = calm()
    latency[500:900] = 1.0
    ok[600:650] = False
    order = np.random.default_rng(abs(shift)).permutation(start.size)
    one, other = recovery(start, latency, ok), recovery((start + shift)[order], latency[order], ok[order])
    for name in ("slow_s", "recovery_s", "calm_after_error_s"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-6)
    assert other.recovered is one.recovered is True


@given(st.lists(st.integers(0, 1999), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_calm_after_an_error_is_counted_from_the_end_of_the_last_one(wrong: list[int]) -> None:
    start, latency, ok = calm()
    ok[wrong] = False
    found = recovery(start, latency, ok)
    assert found.calm_after_error_s == pytest.approx(max(0.0, start[-1] - start[max(wrong)] - CALM_S))


def test_a_service_that_is_never_slow_has_nothing_to_recover_from() -> None:
    found = recovery(*calm())
    assert (found.slow_s, found.recovery_s, found.recovered) == (None, None, None)
    assert found.calm_after_error_s is None


def test_a_service_that_is_slow_to_the_end_has_not_recovered() -> None:
    start, latency, ok = calm()
    latency[1000:] = np.linspace(0.1, 5, 1000)
    found = recovery(start, latency, ok)
    assert found.recovered is False
    assert found.recovery_s is None
    assert found.slow_s == pytest.approx(10, abs=1)


def test_a_few_requests_tell_of_errors_and_of_nothing_else() -> None:
    found = recovery([0.0, 1.0, 2.0], [0.1, 0.1, 0.1], [False, True, True])
    assert found.calm_after_error_s == pytest.approx(1.9)
    assert found.recovered is None


@pytest.mark.parametrize(
    ("start", "latency", "ok"),
    [([], [], []), ([1.0], [1.0, 2.0], [True]), ([1.0], [-1.0], [True]), ([1.0], [1.0], [True, True])],
)
def test_what_is_no_load_is_refused(start: list[float], latency: list[float], ok: list[bool]) -> None:
    with pytest.raises(InputError):
        recovery(start, latency, ok)
