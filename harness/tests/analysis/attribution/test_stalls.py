# SPDX-License-Identifier: Apache-2.0
"""Stalls, matching and clocks, on a simulated queue whose pauses are known; laws of counts; what a report loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.attribution.event_matching import estimate_clock_offset, match_events
from harness.analysis.attribution.stalls import detect_stalls, detectability_limit
from harness.errors import InputError
from harness.verify.simulated.queueing import (
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)


def open_trial(
    seed: int, *, pause_s: float | None = None, duration_s: float = 20.0
) -> tuple[np.ndarray, np.ndarray, Pauses]:
    rng = np.random.default_rng(seed)
    arrivals = arrival_times("poisson", 1000.0, duration_s, rng)
    service = service_times(len(arrivals), ServiceLaw(rho=0.0), rng)
    pauses = regular_pauses(duration_s, pause_s, 1.0, rng) if pause_s else Pauses()
    start, latency = simulate_open(arrivals, service, servers=10, pauses=pauses)
    return start, latency, pauses


def test_a_lull_in_the_load_is_not_a_stall() -> None:
    start, latency, _ = open_trial(4, duration_s=10)
    quiet = (start < 4.0) | (start > 4.5)
    assert all(s.kind != "stall" for s in detect_stalls(start[quiet], latency[quiet]))


@pytest.mark.parametrize(
    ("start", "latency", "message"),
    [([1.0, 2.0], [1.0], "one length"), ([1.0, np.nan], [1.0, 1.0], "finite"), ([1.0, 2.0], [1.0, -1.0], "negative")],
)  # fmt: skip
def test_broken_input_is_refused(start: list[float], latency: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        detect_stalls(np.array(start), np.array(latency))


def test_too_few_or_constant_requests_give_no_stall_and_the_limit_is_ten_requests_or_twice_the_tail() -> None:
    assert detect_stalls(np.arange(50.0), np.ones(50)) == []
    assert detect_stalls(np.arange(1000) / 1000, np.full(1000, 0.005)) == []
    assert detectability_limit(1000, 0.001) == pytest.approx(0.01)
    assert detectability_limit(1e6, 0.05) == pytest.approx(0.1)
    with pytest.raises(InputError):
        detectability_limit(0, 0.001)


spans_strategy = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 1)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=12
)


@settings(max_examples=100, deadline=None)
@given(found=spans_strategy, truth=spans_strategy, tolerance=st.floats(0, 1))
def test_every_span_is_matched_at_most_once_and_only_where_it_touches(
    found: list[tuple[float, float]], truth: list[tuple[float, float]], tolerance: float
) -> None:
    matching = match_events(found, truth, tolerance_s=tolerance)
    assert len({i for i, _ in matching.pairs}) == len(matching.pairs) == len({j for _, j in matching.pairs})
    for i, j in matching.pairs:
        assert found[i][0] <= truth[j][1] + tolerance and found[i][1] >= truth[j][0] - tolerance
    swapped = match_events(truth, found, tolerance_s=tolerance)
    assert len(swapped.pairs) == len(matching.pairs)


def test_a_slow_stretch_that_goes_on_answering_is_a_slow_period_and_no_stall() -> None:
    start, latency, _ = open_trial(13, duration_s=10)
    half = np.random.default_rng(0).random(len(start)) < 0.6
    latency = np.where((start > 5) & (start < 5.2) & half, latency + 0.012, latency)
    (found,) = detect_stalls(start, latency)
    assert found.kind == "slow_period" and 4.9 < found.start_s < 5.1 and 5.15 < found.end_s < 5.35
