# SPDX-License-Identifier: Apache-2.0
"""Stall detection on simulated queues: pauses of twice the ordinary 99th percentile and more are found, and nothing else.

The control is a common peak finder on the same requests. Files of real load tools that chose no threshold:
``test_recorded.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.spans import Span
from harness.analysis.attribution.stalls import detect_stalls
from harness.formats.arrays import FloatArray
from harness.tests.analysis.stats.test_known_truths import holds
from harness.verify.simulated.queueing import (
    Arrivals,
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)

RATE_PER_S, TOLERANCE_S = 200.0, 0.005
N_PAUSES, EVERY_S, CALM_S = 120, 1.0, 300.0
#: The threshold that peak finders are commonly used with, in their spreads.
COMMON = 3.0


def load(
    kind: Arrivals, rho: float, duration_s: float, pauses: Pauses, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return an open loop on servers of which a third are busy; ``rho``: autocorrelation of the service times."""
    arrivals = arrival_times(kind, RATE_PER_S, duration_s, rng)
    service = service_times(len(arrivals), ServiceLaw(rho=rho), rng)
    return simulate_open(arrivals, service, servers=6, pauses=pauses)


def detected(start: FloatArray, latency: FloatArray) -> list[Span]:
    return [(stall.start_s, stall.end_s) for stall in detect_stalls(start, latency) if stall.kind == "stall"]


def peaks(start: FloatArray, latency: FloatArray) -> list[Span]:
    """``scipy.signal.find_peaks`` as commonly used; give it every chance: what is near each other is one detection."""
    mean, spread = float(latency.mean()), float(latency.std())
    places, _ = scipy.signal.find_peaks(latency, height=mean + COMMON * spread, prominence=spread)
    spans: list[Span] = []
    for low, length in zip(start[places].tolist(), latency[places].tolist(), strict=True):
        if spans and low <= spans[-1][1] + TOLERANCE_S:
            spans[-1] = (spans[-1][0], max(spans[-1][1], low + length))
        else:
            spans.append((low, low + length))
    return spans


@pytest.mark.parametrize(("kind", "rho"), [("poisson", 0.9), ("even", 0.0)])
def test_pauses_are_found_and_nothing_else(kind: Arrivals, rho: float) -> None:
    rng = np.random.default_rng(1)
    start, latency = load(kind, rho, CALM_S, Pauses(), rng)
    n_false, p99 = len(detected(start, latency)), float(np.quantile(latency, 0.99))
    assert scipy.stats.poisson.sf(n_false - 1, 0.1 * CALM_S / 60) > 0.025, "more than .1 a minute"
    length_s = max(2 * p99, 15 / RATE_PER_S)  # 15 requests or so are held up
    pauses = regular_pauses(N_PAUSES * EVERY_S, length_s, EVERY_S, rng)
    start, latency = load(kind, rho, N_PAUSES * EVERY_S + 0.5, pauses, rng)
    shares = []
    for spans in (detected(start, latency), peaks(start, latency)):
        n_right = len(match_events(spans, pauses.spans, tolerance_s=TOLERANCE_S).pairs)
        shares.append(n_right / (len(spans) + N_PAUSES - n_right))
    # an F1 of .95: of all events that were found or to be found, .905 are both
    assert holds(shares[0], at_least=0.905, n=N_PAUSES)
    assert shares[1] < shares[0] - 0.05, "the common peak finder"
