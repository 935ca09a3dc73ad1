# SPDX-License-Identifier: Apache-2.0
"""Verification of the capacity search: queues whose capacity is known, with trials that differ and services that stall.

A ladder offers ten rates, each for as long as decides on a rate; a binary search tries each rate once. Both judge
trials by the same goals as the search does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from math import exp

import numpy as np
from scipy.optimize import isotonic_regression

from harness.analysis.load.capacity_search import judged, search_capacity
from harness.analysis.stats.inputs import Floats
from harness.model import CapacityGoals, SearchTrial
from harness.verify.simulated.result import Cells, VerifyResult

GOALS = CapacityGoals()
#: Requests per second that a server that is never idle answers on average: users without a pause reach that.
SATURATED_PER_S = 2000.0
LOW, HIGH = GOALS.from_share * SATURATED_PER_S, GOALS.to_share * SATURATED_PER_S
#: Of a trial: standard deviation of the log of its speed; stalls of a whole trial, per second, and how long they last.
SPEED_SD, STALLS_PER_S, STALL_S = 0.01, 0.02, 0.35
#: Laws of service times: given a generator and how many, times of mean 1.
LAWS: Mapping[str, Callable[[np.random.Generator, int], Floats]] = {
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "log-normal": lambda rng, n: rng.lognormal(-0.5, 1.0, n),
}
#: Rates of the ladder, as shares of the saturated throughput.
RUNGS = np.linspace(0.78, 1.05, 10)
TRIALS_A_RUNG = round(GOALS.trials_s / GOALS.trial_s)
WITHIN = 0.03
#: Trials that say what is true at a rate, and the rates between which it is looked for.
_TRUE_TRIALS, _TRUE_STEP, _TRUE_SEED = 201, 0.0025, 5


def capacity(sims: int, seed: int) -> VerifyResult:
    """Searches and ladders on the same queues; control: a binary search that tries each rate once."""
    cells = Cells(
        "capacity", sims, seed,
        bar="within 3 % of a ten-point ladder and of the truth in >= .90, in <= .40 of its load time",
        control="a binary search without repeated trials <= .75",
    )  # fmt: skip
    load_s: list[float] = []
    single: list[bool] = []
    for number, law in enumerate(LAWS):
        truth = true_capacity(law)
        searched, stepped = np.empty(sims), np.empty(sims)
        for sim in range(sims):
            rng = np.random.default_rng([seed, number, sim])
            result = search_capacity(partial(trial, rng, law), GOALS, lowest_per_s=LOW, highest_per_s=HIGH)
            searched[sim], stepped[sim] = result.lower_per_s, ladder(rng, law)
            load_s.append(result.load_s)
            single.append(abs(binary_search(rng, law) / truth - 1) <= WITHIN)
        for name, rate in (("ladder", stepped), ("truth", truth)):
            near = float(np.mean(np.abs(searched / rate - 1) <= WITHIN))
            cells.share(f"within 3 % of the {name}, {law}", near, at_least=0.9)
    ladder_s = len(RUNGS) * GOALS.trials_s
    cells.average("load time over that of the ladder", np.array(load_s) / ladder_s, at_most=0.4)
    name = "binary search, each rate once: within 3 % of the truth"
    cells.share(name, float(np.mean(single)), n=len(single), at_most=0.75, control=True)
    return cells.result()


def trial(rng: np.random.Generator, law: str, rate_per_s: float, duration_s: float) -> SearchTrial:
    """Return one trial of a queue with one server: Poisson arrivals, first come first served, all answered."""
    n = int(rng.poisson(rate_per_s * duration_s))
    right_per_s = late = 0.0
    if n:
        gaps = np.cumsum(rng.exponential(1.0, n + 1))
        arrived = duration_s * gaps[:-1] / gaps[-1]  # uniform, in order
        speed = SATURATED_PER_S * exp(rng.normal(0.0, SPEED_SD))
        service = LAWS[law](rng, n) / speed
        for at in rng.uniform(0.0, duration_s, int(rng.poisson(STALLS_PER_S * duration_s))):
            service[min(int(np.searchsorted(arrived, at)), n - 1)] += STALL_S
        # Lindley: an answer is ready at the end of all work since the server was last idle
        work = np.cumsum(service)
        done = work + np.maximum.accumulate(arrived - (work - service))
        late = float(np.mean(done - arrived > GOALS.late_after_s))
        right_per_s = n / max(float(done[-1]), duration_s)
    return judged(
        GOALS, rate_per_s=rate_per_s, duration_s=duration_s, n_arrivals=n, right_per_s=right_per_s, lost_share=0.0,
        late_share=late,
    )  # fmt: skip


def ladder(rng: np.random.Generator, law: str) -> float:
    """Return the rate from which on more trials are bad than the exceed ratio allows, between the rungs around it.

    A rung has few trials, and its share of bad ones varies. It cannot fall with the rate, so the shares are first made
    to rise (isotonic regression): the capacity read off them varies by half as much as by the first rung that is bad.
    """
    bad = [
        np.mean([not trial(rng, law, rate, GOALS.trial_s).good for _ in range(TRIALS_A_RUNG)])
        for rate in (RUNGS * SATURATED_PER_S).tolist()
    ]  # fmt: skip
    beyond = isotonic_regression(bad).x - GOALS.exceed_ratio
    first = next((place for place, item in enumerate(beyond) if item > 0), None)
    if first is None or first == 0:
        return float(RUNGS[-1 if first is None else 0]) * SATURATED_PER_S
    below, above = float(beyond[first - 1]), float(beyond[first])
    part = -below / (above - below)
    return SATURATED_PER_S * float(RUNGS[first - 1] + part * (RUNGS[first] - RUNGS[first - 1]))


def binary_search(rng: np.random.Generator, law: str) -> float:
    """Return the highest rate that was good in its one trial, below the lowest one that was bad in its."""
    low, high = LOW, HIGH
    while high / low - 1 > GOALS.width:
        middle = (low * high) ** 0.5
        good = trial(rng, law, middle, GOALS.trial_s).good
        low, high = (middle, high) if good else (low, middle)
    return low


@cache
def true_capacity(law: str) -> float:
    """Return the rate above which more trials are bad than the exceed ratio allows, from many at each rate."""
    low, high = float(RUNGS[0]), float(RUNGS[-1])
    number = 0
    while high - low > _TRUE_STEP:
        middle = (low + high) / 2
        rng = np.random.default_rng([_TRUE_SEED, list(LAWS).index(law), number])
        number += 1
        bad = [not trial(rng, law, middle * SATURATED_PER_S, GOALS.trial_s).good for _ in range(_TRUE_TRIALS)]
        low, high = (low, middle) if np.mean(bad) > GOALS.exceed_ratio else (middle, high)
    return SATURATED_PER_S * (low + high) / 2
