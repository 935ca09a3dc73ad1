# SPDX-License-Identifier: Apache-2.0
"""A simulated service with pauses at known times: the truth that stall detection is held against.

A first-come-first-served queue with several servers, in open or closed loop. A pause stops every server: the queue is
computed in working time and mapped back to wall time, so runs with and without pauses differ in nothing else.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left, bisect_right

import numpy as np
import scipy  # loads its slow submodules when they are first used

from harness.formats.arrays import FloatArray
from harness.model import Frozen


class ServiceLaw(Frozen):
    """How long requests take when nothing is in their way."""

    median_s: float = 0.003
    sigma: float = 0.4
    rho: float = 0.0
    outlier_share: float = 0.003


class Pauses(Frozen):
    """Spans in which every server stands still."""

    starts_s: tuple[float, ...] = ()
    lengths_s: tuple[float, ...] = ()

    @property
    def spans(self) -> list[tuple[float, float]]:
        """(start, end) of each, in time order."""
        return [(start, start + length) for start, length in zip(self.starts_s, self.lengths_s, strict=True)]


def service_times(n: int, law: ServiceLaw, rng: np.random.Generator) -> FloatArray:
    """Return n service times in seconds: autocorrelated, with isolated outliers of 5 to 20 times the usual."""
    noise = rng.standard_normal(n) * np.sqrt(1 - law.rho**2)
    noise[0] = rng.standard_normal()
    z = scipy.signal.lfilter([1.0], [1.0, -law.rho], noise)
    times = law.median_s * np.exp(law.sigma * z)
    outliers = rng.random(n) < law.outlier_share
    times[outliers] *= rng.uniform(5, 20, int(outliers.sum()))
    return np.asarray(np.maximum(times, 1e-6))


def arrival_times(rate_per_s: float, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return Poisson arrivals in [0, duration_s), shape (n,), sorted."""
    return np.asarray(np.sort(rng.random(rng.poisson(rate_per_s * duration_s)) * duration_s))


def regular_pauses(
    duration_s: float, length_s: float, every_s: float, rng: np.random.Generator, *, spread: float = 0.3
) -> Pauses:
    """Return pauses of ``length_s`` to ``(1 + spread) length_s``, one in each stretch of ``every_s``."""
    n = int(duration_s / every_s)
    starts = (np.arange(n) + 0.2 + 0.6 * rng.random(n)) * every_s
    return Pauses(
        starts_s=tuple(starts.tolist()), lengths_s=tuple((length_s * rng.uniform(1, 1 + spread, n)).tolist())
    )


def simulate_open(
    arrivals: FloatArray, service: FloatArray, *, servers: int, pauses: Pauses | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return (start_s, latency_s) of an open loop: everybody comes when they come."""
    clock = _WorkingClock(pauses or Pauses())
    coming = clock.to_work(arrivals)
    if servers == 1:  # what was left of the work when each came, all at once
        worked = np.cumsum(service)
        done = worked + np.maximum.accumulate(coming - (worked - service))
        return arrivals, clock.to_wall(done) - arrivals
    free = [0.0] * servers
    finishes: list[float] = []
    for at, needs in zip(coming.tolist(), service.tolist(), strict=True):
        finished = max(free[0], at) + needs
        heapq.heapreplace(free, finished)
        finishes.append(finished)
    return arrivals, clock.to_wall(np.array(finishes)) - arrivals


def simulate_closed(
    users: int,
    duration_s: float,
    law: ServiceLaw,
    rng: np.random.Generator,
    *,
    servers: int,
    think_s: float = 0.0,
    pauses: Pauses | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return (start_s, latency_s) of a closed loop: ``users`` wait for their answer, think, and ask again."""
    clock = _WorkingClock(pauses or Pauses())
    pool = itertools.cycle(service_times(200_000, law, rng).tolist())
    waiting = [(rng.random() * 0.1, user) for user in range(users)]
    heapq.heapify(waiting)
    free = [0.0] * servers
    starts: list[float] = []
    latencies: list[float] = []
    while waiting[0][0] <= duration_s:  # the others come later still
        at, user = waiting[0]
        done = max(free[0], clock.to_work_once(at)) + next(pool)
        heapq.heapreplace(free, done)
        answered = clock.to_wall_once(done)
        starts.append(at)
        latencies.append(answered - at)
        heapq.heapreplace(waiting, (answered + (rng.exponential(think_s) if think_s else 0.0), user))
    return np.array(starts), np.array(latencies)


class _WorkingClock:
    """Wall time without the pauses, and back."""

    def __init__(self, pauses: Pauses) -> None:
        self.starts = np.array(pauses.starts_s)
        self.ends = self.starts + np.array(pauses.lengths_s)
        self.before = np.concatenate([[0.0], np.cumsum(self.ends - self.starts)])
        self.work_starts = self.starts - self.before[:-1]
        self._work_list, self._before_list = self.work_starts.tolist(), self.before.tolist()
        self._start_list, self._end_list = [*self.starts.tolist(), np.inf], self.ends.tolist()

    def to_work(self, wall: FloatArray) -> FloatArray:
        if not len(self.starts):
            return wall
        i = np.searchsorted(self.ends, wall, side="right")
        inside = wall >= np.append(self.starts, np.inf)[i]
        return np.where(inside, np.append(self.work_starts, 0.0)[i], wall - self.before[i])

    def to_wall(self, work: FloatArray) -> FloatArray:
        return np.asarray(work + self.before[np.searchsorted(self.work_starts, work, side="left")])

    def to_work_once(self, wall: float) -> float:
        """The same for one moment, quicker."""
        i = bisect_right(self._end_list, wall)
        return float(self._work_list[i] if wall >= self._start_list[i] else wall - self._before_list[i])

    def to_wall_once(self, work: float) -> float:
        return float(work + self._before_list[bisect_left(self._work_list, work)])
