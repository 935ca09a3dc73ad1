# SPDX-License-Identifier: Apache-2.0
"""Requests in spans, in the wake of pauses, and beside collections at work."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.attribution.share_of_quantile import excess_in_spans
from harness.analysis.attribution.spans import RequestOverlap, lived, under_way_in
from harness.formats.arrays import FloatArray
from harness.verify.simulated.queueing import (
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)


@pytest.mark.parametrize("step", [1.0, 1e-6], ids=["equal times", "no equal times"])
def test_a_request_is_under_way_in_a_span_that_it_touches(step: float) -> None:
    rng = np.random.default_rng(1)
    for n_requests, n_spans in ((200, 20), (200, 0), (0, 5), (1, 1)):
        start = np.sort(np.round(rng.uniform(0, 100, n_requests) / step) * step)
        end = start + np.round(rng.exponential(3, n_requests) / step) * step
        edges = np.sort(np.round(rng.uniform(0, 100, 2 * n_spans) / step) * step)
        low, high = edges[::2], edges[1::2]
        found = under_way_in(start, end, low, high)
        touches = (start[:, None] <= high) & (end[:, None] >= low)
        assert found.tolist() == touches.any(axis=1).tolist()


def served(
    pause_s: float, every_s: float, *, rate_per_s: float, seed: int = 1
) -> tuple[RequestOverlap, FloatArray]:
    """One server with bursts of its own, paused; and its latencies without the pauses."""
    rng = np.random.default_rng(seed)
    duration_s = 24_000 / rate_per_s
    arrivals = arrival_times("poisson", rate_per_s, duration_s, rng)
    service = service_times(len(arrivals), ServiceLaw(median_s=0.4 / rate_per_s, rho=0.6), rng)
    pauses = regular_pauses(duration_s, pause_s, every_s, rng)
    start, latency = simulate_open(arrivals, service, servers=1, pauses=pauses)
    bare = simulate_open(arrivals, service, servers=1)[1]
    return lived(start, latency, {"gc_pause": pauses.spans}), bare


def share_of(lives: RequestOverlap, bare: FloatArray) -> float:
    return 1 - float(np.quantile(bare, 0.99)) / float(np.quantile(lives.latency, 0.99))


@pytest.mark.parametrize("every_s", [0.5, 2.0])
def test_the_backlog_behind_a_long_pause_is_in_its_wake(every_s: float) -> None:
    lives, bare = served(0.05, every_s, rate_per_s=400)
    truth = share_of(lives, bare)
    assert truth > 0.4
    assert share_of(lives, lives.unpaused[~lives.wake]) == pytest.approx(truth, abs=0.05)
    assert share_of(lives, lives.unpaused) < truth - 0.08  # the pauses' own time alone leaves the backlog in


CYCLES = [(float(start), float(start) + 0.2) for start in range(30)]


def slowed(rng: np.random.Generator, slowed_by: float) -> tuple[np.ndarray, np.ndarray]:
    start = np.sort(rng.uniform(0, 30, 30_000))
    inside = start % 1.0 < 0.2
    return start, rng.lognormal(np.log(0.002), 0.3, len(start)) * np.where(inside, slowed_by, 1.0)


def test_slow_requests_that_come_with_a_span_are_counted_and_a_span_that_slows_nothing_explains_nothing() -> (
    None
):
    # three times slower: nobody else is in the tail
    assert excess_in_spans(*slowed(np.random.default_rng(1), 3.0), CYCLES) == pytest.approx(1.0, abs=0.01)
    found = [excess_in_spans(*slowed(np.random.default_rng(seed), 1.0), CYCLES) for seed in range(30)]
    assert np.mean([excess for excess in found if excess is not None]) == pytest.approx(0.0, abs=0.01)
    start, latency = slowed(np.random.default_rng(1), 1.0)
    assert [excess_in_spans(start, latency, spans) for spans in ([], [(-1.0, 31.0)])] == [None, None]
