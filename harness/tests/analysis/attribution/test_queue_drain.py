# SPDX-License-Identifier: Apache-2.0
"""Who is in a pause's wake is told by when it started, so that pauses explain no burst that is not theirs."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.attribution.spans import RequestOverlap, lived
from harness.formats.arrays import FloatArray
from harness.verify.simulated.queueing import (
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)


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


def share(lives: RequestOverlap, bare: FloatArray) -> float:
    return 1 - float(np.quantile(bare, 0.99)) / float(np.quantile(lives.latency, 0.99))


def test_pauses_of_microseconds_between_every_few_requests_do_not_explain_bursts() -> None:
    lives, bare = served(30e-6, 0.02, rate_per_s=400)
    found = share(lives, lives.unpaused[~lives.wake])
    assert share(lives, bare) < 0.01
    assert abs(found) < 0.02
    assert lives.wake.mean() < 0.2


@pytest.mark.parametrize("every_s", [0.5, 2.0])
def test_the_backlog_behind_a_long_pause_is_in_its_wake(every_s: float) -> None:
    lives, bare = served(0.05, every_s, rate_per_s=400)
    truth = share(lives, bare)
    assert truth > 0.4
    assert share(lives, lives.unpaused[~lives.wake]) == pytest.approx(truth, abs=0.05)
    assert share(lives, lives.unpaused) < truth - 0.08  # the pauses' own time alone leaves the backlog in


def test_who_is_in_a_wake_does_not_depend_on_how_long_it_took_itself() -> None:
    lives, _ = served(0.02, 1.0, rate_per_s=150)
    slower = lives.latency.copy()
    a_clear_one = int(np.flatnonzero(~lives.wake & (lives.paused == 0))[100])
    slower[a_clear_one] += 0.01
    again = lived(lives.start, slower, lives.events)
    assert (again.wake == lives.wake).all()
