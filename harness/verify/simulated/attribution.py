# SPDX-License-Identifier: Apache-2.0
"""Verification of attribution: the share that pauses explain, chance coincidence, and the clocks' offset.

The truth of a share is a second run of the same simulated queue, with the same arrivals and
the same service times, from which only the pauses are gone. A share of p99.9 is told by the clear ones among a
hundred requests beyond it: which of them are clear is chance, and makes nearly all of its error, to either side. The
error with its sign stands beside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.analysis.attribution.attribute import attributable_fractions
from harness.analysis.attribution.clock_offset import estimate_clock_offset
from harness.analysis.attribution.event_matching import coincidence_test
from harness.analysis.attribution.spans import Span
from harness.formats.arrays import FloatArray
from harness.verify.simulated.quantile_shares import pooled_cells
from harness.verify.simulated.queueing import (
    Arrivals,
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)
from harness.verify.simulated.result import Cell, VerifyResult, average, result, share

SHARE_ERROR, OFFSET_ERROR_S = 0.02, 0.001
#: Requests beyond the quantile in the counterfactual; with fewer its own sampling error would be measured.
FEWEST_TAIL = 100

#: One pair of runs of a queue for so many lists of the coincidence test.
RUNS_SHARE = 25


class _Load(NamedTuple):
    kind: Arrivals
    rho: float
    rate_per_s: float
    pause_s: float
    every_s: float


_LOADS = (
    _Load("poisson", 0.0, 1000.0, 0.03, 1.0),
    _Load("poisson", 0.6, 1000.0, 0.10, 2.0),
    _Load("gamma", 0.0, 1500.0, 0.05, 1.0),
    _Load("even", 0.6, 500.0, 0.10, 2.0),
    _Load("on_off", 0.0, 3000.0, 0.02, 0.5),
)


def attribution(sims: int, seed: int) -> VerifyResult:
    """Mean error of the share over ``sims`` / 25 runs a load, two at least; coincidence over ``sims`` lists."""
    cells: list[Cell] = []
    naive: list[float] = []
    offset_worst = 0.0
    runs = max(2, sims // RUNS_SHARE)
    for number, load in enumerate(_LOADS):
        rng = np.random.default_rng([seed, number])
        errors: dict[float, list[float]] = {0.99: [], 0.999: []}
        for _ in range(runs):
            start, latency, pauses, without = _twice(load, rng)
            for quantile, match in errors.items():
                if len(without) * (1 - quantile) < FEWEST_TAIL:
                    continue
                (share,) = attributable_fractions(
                    start, latency, {"gc_pause": pauses.spans}, quantiles=(quantile,), resamples=20
                )
                truth = 1 - float(np.quantile(without, quantile)) / float(np.quantile(latency, quantile))
                match.append((share.quantile_share.value or 0.0) - truth)
                naive.append(abs((share.quantile_share_lower.value or 0.0) - truth))
            offset_worst = max(offset_worst, _offset_error(start + latency, pauses, latency, rng))
        for quantile, match in errors.items():
            if match:
                where = f"{load.kind} {load.rate_per_s:g}/s, {load.pause_s * 1e3:g} ms, AR {load.rho:g}"
                name = f"mean error of the share of p{quantile * 100:g}, {where}"
                cells.append(average(np.abs(match), name=name, at_most=SHARE_ERROR))
                cells.append(average(match, name=f"with its sign: {name}"))
    cells.append(
        average(
            naive,
            name="overlap subtracted only, mean error",
            at_least=SHARE_ERROR,
            control=True,
        )
    )
    cells.append(Cell(name="clock offset, largest error in s", value=offset_worst, at_most=OFFSET_ERROR_S))
    cells += _coincidence(sims, np.random.default_rng([seed, 99]))
    cells += pooled_cells(sims, seed)
    return result(
        "attribution",
        bar="mean error of the share <= .02; shift test: false positives <= .06, power >= .95; offset within 1 ms; "
        "pooled share: coverage in [.92, .97] ([.92, .99] of the upper bound and where nearly all requests are clear), "
        "bias <= .02",
        control="subtracting the overlap alone, matching without a shift test, and requests as the unit are wrong",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _twice(load: _Load, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, Pauses, FloatArray]:
    """Return start, latency and pauses of one run, and the latency of the same run without pauses."""
    # Long enough that a tail of FEWEST_TAIL requests exists beyond p99.9 at a thousand a second.
    duration_s = 120.0
    arrivals = arrival_times(load.kind, load.rate_per_s, duration_s, rng)
    service = service_times(len(arrivals), ServiceLaw(rho=load.rho), rng)
    pauses = regular_pauses(duration_s, load.pause_s, load.every_s, rng)
    servers = max(6, int(load.rate_per_s * 0.01))
    start, latency = simulate_open(arrivals, service, servers=servers, pauses=pauses)
    return start, latency, pauses, simulate_open(arrivals, service, servers=servers)[1]


def _offset_error(
    completion: FloatArray, pauses: Pauses, latency: FloatArray, rng: np.random.Generator
) -> float:
    true_offset = float(rng.uniform(-2, 2))
    match = estimate_clock_offset(
        completion + true_offset, pauses.spans, median_service_s=float(np.median(latency))
    )
    return float("inf") if match.offset_s is None else abs(match.offset_s - true_offset)


def _coincidence(sims: int, rng: np.random.Generator) -> list[Cell]:
    """The shift test on stalls that follow pauses, and on stalls with a rhythm of their own."""
    window = (0.0, 60.0)
    chance, real, any_match = 0, 0, 0
    for i in range(sims):
        pauses = _rhythm(rng, 40)
        others = _rhythm(rng, 30)
        unrelated = coincidence_test(others, pauses, window=window, tolerance_s=0.005, shifts=199, seed=i)
        chance += unrelated.p_value is not None and unrelated.p_value <= 0.05
        any_match += unrelated.n_matched > 0
        # Two in three stalls are pauses seen a little later, the rest something else.
        mixed = sorted([*((low + 0.002, high + 0.004) for low, high in pauses[::2]), *others[::3]])
        related = coincidence_test(mixed, pauses, window=window, tolerance_s=0.005, shifts=199, seed=i)
        real += related.p_value is not None and related.p_value <= 0.05
    return [
        share(sims, name="shift test, unrelated: share called related", value=chance / sims, at_most=0.06),
        share(sims, name="shift test, related: share seen", value=real / sims, at_least=0.95),
        share(
            sims,
            name="any match taken for a relation, unrelated",
            value=any_match / sims,
            at_least=0.5,
            control=True,
        ),
    ]


def _rhythm(rng: np.random.Generator, n: int) -> list[Span]:
    """Spans as regular as collections are: gaps of gamma law, lengths of 10 to 40 ms."""
    gaps = rng.gamma(6.0, 1.0, n + 1)
    starts = np.cumsum(gaps)[:-1] / gaps.sum() * 60.0
    starts = (starts + rng.uniform(0, 60.0)) % 60.0
    return sorted((float(s), float(s + rng.uniform(0.01, 0.04))) for s in starts)
