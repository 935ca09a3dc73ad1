# SPDX-License-Identifier: Apache-2.0
"""The loads on which stall detection is verified: arrivals, services and pauses of three kinds.

The detector was developed against open and closed loops with regular pauses. The held-out loads come from
another arrival process, another service law and other pause laws. Those of ``fresh`` are a third kind of all
three, written when every threshold had long been fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, get_args

import numpy as np

from harness.formats.arrays import FloatArray
from harness.verify.simulated.queueing import (
    Arrivals,
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_closed,
    simulate_open,
)

Requests = tuple[FloatArray, FloatArray]
#: A rate and a time to arrivals; arrivals and a time to service times; a number and a shortest length to pauses.
Arrive = Callable[[float, float, np.random.Generator], FloatArray]
Serve = Callable[[FloatArray, float, np.random.Generator], FloatArray]
PauseLaw = Callable[[int, float, np.random.Generator], Pauses]
SLOW_LOADS = 4


class Scenario(NamedTuple):
    """One load on one service: simulates it for a time, with pauses or without."""

    group: str
    name: str
    simulate: Callable[[float, Pauses, np.random.Generator], Requests]
    pauses: PauseLaw
    calm_share: float
    #: Slow loads cost little: more pauses there, so that one pause does not decide a cell.
    more: int = 1


def open_loops() -> list[Scenario]:
    """Four arrival processes, independent and autocorrelated service, three rates; a third of the servers busy."""
    return [
        _open(
            f"{kind}, AR {rho:g}",
            f"{rate:g}/s",
            rate,
            partial(arrival_times, kind),
            _by_law(ServiceLaw(rho=rho)),
            _one_a_second,
            calm_share=0.3 if rate > 2000 else 1.0,
        )
        for kind in get_args(Arrivals)
        for rho in (0.0, 0.9)
        for rate in (200.0, 1000.0, 4000.0)
    ]


def closed_loops() -> list[Scenario]:
    """Users who wait for their answer: without thinking, and with."""

    def scenario(users: int, think_s: float, rho: float) -> Scenario:
        def simulate(duration_s: float, pauses: Pauses, rng: np.random.Generator) -> Requests:
            return simulate_closed(
                users,
                duration_s,
                ServiceLaw(rho=rho),
                rng,
                servers=max(8, users),
                think_s=think_s,
                pauses=pauses,
            )

        return Scenario(
            f"closed, AR {rho:g}",
            f"{users} users thinking {think_s * 1e3:g} ms",
            simulate,
            _one_a_second,
            0.3,
        )

    return [
        scenario(users, think_s, rho)
        for rho in (0.0, 0.9)
        for users, think_s in ((16, 0.0), (32, 0.02), (100, 0.05))
    ]


def held_out() -> list[Scenario]:
    """Batches and waves of arrivals, Weibull service, clustered or heavy-tailed pauses."""
    serve = _by_law(ServiceLaw(median_s=0.002, rho=0.8, outlier_share=0.005, tail="weibull"))
    return [
        _open("held out", f"{arrive.__name__} {rate:g}/s, {pauses.__name__}", rate, arrive, serve, pauses)
        for arrive in (batches, waves)
        for rate in (400.0, 1500.0)
        for pauses in (clustered_exponential, pareto)
    ]


def fresh() -> list[Scenario]:
    """Self-similar arrivals, a cache that hits or misses and at times goes cold, pauses in bursts.

    The thresholds of the detector were fixed before this was written. The numbers here were chosen once,
    for what services do, before any score was seen, and are not to be changed after one was.
    """
    return [
        _open("fresh", f"self-similar {rate:g}/s, {pauses.__name__}", rate, self_similar, cached, pauses)
        for rate in (300.0, 1200.0)
        for pauses in (bursts, jittered)
    ]


def _open(
    group: str,
    name: str,
    rate_per_s: float,
    arrive: Arrive,
    serve: Serve,
    pauses: PauseLaw,
    *,
    calm_share: float = 1.0,
) -> Scenario:
    def simulate(duration_s: float, paused: Pauses, rng: np.random.Generator) -> Requests:
        arrivals = arrive(rate_per_s, duration_s, rng)
        service = serve(arrivals, duration_s, rng)
        return simulate_open(arrivals, service, servers=max(6, int(rate_per_s * 0.01)), pauses=paused)

    return Scenario(group, name, simulate, pauses, calm_share, SLOW_LOADS if rate_per_s < 500 else 1)


def _by_law(law: ServiceLaw) -> Serve:
    def serve(arrivals: FloatArray, _duration_s: float, rng: np.random.Generator) -> FloatArray:
        return service_times(len(arrivals), law, rng)

    return serve


def self_similar(rate_per_s: float, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return the arrivals of forty sources, each on and off for Pareto times of index 1.5, Poisson while on."""
    n_sources, shortest_s = 40, 0.1
    parts = []
    for _ in range(n_sources):
        # enough periods that their sum passes the end: the mean is three times the shortest
        n = int(duration_s / (2 * shortest_s)) + 20
        lengths = shortest_s * (1 + rng.pareto(1.5, n))
        edges = np.cumsum(lengths) - rng.uniform(0, 1.0)
        on = edges[: len(edges) // 2 * 2].reshape(-1, 2)
        on = on[(on[:, 0] < duration_s) & (on[:, 1] > 0)]
        counts = rng.poisson((on[:, 1] - on[:, 0]) * 2 * rate_per_s / n_sources)
        low, high = np.repeat(on, counts, axis=0).T
        parts.append(low + rng.random(len(low)) * (high - low))
    times = np.sort(np.concatenate(parts))
    return np.asarray(times[(times >= 0) & (times < duration_s)])


def cached(arrivals: FloatArray, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return gamma service times of 1 ms for hits and 8 ms for misses; a cold cache misses four in ten for a while."""
    n_cold = rng.poisson(duration_s / 12)
    cold_from = np.sort(rng.random(n_cold) * duration_s)
    cold_for = rng.exponential(2.0, n_cold)
    cold = np.zeros(len(arrivals), dtype=bool)
    for low, length in zip(cold_from.tolist(), cold_for.tolist(), strict=True):
        cold[np.searchsorted(arrivals, low) : np.searchsorted(arrivals, low + length)] = True
    missed = rng.random(len(arrivals)) < np.where(cold, 0.4, 0.15)
    return np.asarray(rng.gamma(4.0, np.where(missed, 0.008, 0.001) / 4.0))


def batches(rate_per_s: float, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return arrival times in batches of a geometric size, three on average, each spread over a millisecond or so."""
    n = rng.poisson(rate_per_s / 3 * duration_s)
    size = rng.geometric(1 / 3, n)
    times = np.repeat(rng.random(n) * duration_s, size)
    times = np.sort(times + rng.exponential(0.001, len(times)))
    return np.asarray(times[times < duration_s])


def waves(rate_per_s: float, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return Poisson arrivals whose rate swings by four fifths every three seconds."""
    times = np.sort(rng.random(rng.poisson(1.8 * rate_per_s * duration_s)) * duration_s)
    chance = (1 + 0.8 * np.sin(2 * np.pi * times / 3)) / 1.8
    return np.asarray(times[rng.random(len(times)) < chance])


def _one_a_second(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    every_s = max(1.0, 5 * length_s)
    return regular_pauses(n * every_s, length_s, every_s, rng)


def clustered_exponential(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    """Return pauses in clusters of three a few lengths apart; lengths exponential beyond ``length_s``."""
    lengths = length_s + rng.exponential(length_s, n)
    lull = np.where(np.arange(n) % 3 == 0, 2.0, 0.0) + rng.uniform(4, 8, n) * length_s
    return _in_a_row(lull, lengths)


def pareto(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    """Return pauses at random times; lengths Pareto of index 1.5, none above 2 s."""
    lengths = np.minimum(length_s * (1 + rng.pareto(1.5, n)), 2.0)
    return _in_a_row(4 * length_s + rng.exponential(1.0, n), np.maximum(lengths, length_s))


def bursts(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    """Return pauses after Weibull lulls of shape .6, 1.5 s on average; lengths log-normal beyond ``length_s``."""
    lulls = 4 * length_s + rng.weibull(0.6, n)
    return _in_a_row(lulls, length_s * (1 + rng.lognormal(-0.5, 0.7, n)))


def jittered(n: int, length_s: float, rng: np.random.Generator) -> Pauses:
    """Return pauses once in 1.2 s or so, as a timer sets them off; a fifth of them three times as long."""
    longer = np.where(rng.random(n) < 0.2, 3.0, 1.0)
    return _in_a_row(np.maximum(rng.normal(1.2, 0.1, n), 0.5) + 4 * length_s, length_s * longer)


def _in_a_row(lulls: FloatArray, lengths: FloatArray) -> Pauses:
    starts = np.cumsum(lulls) + np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return Pauses(starts_s=tuple(starts.tolist()), lengths_s=tuple(lengths.tolist()))
