# SPDX-License-Identifier: Apache-2.0
"""Verifications of quantiles: within one trial, and pooled over trials."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from harness.analysis.attribution.share_of_quantile import LatencyCounts, counted, pooled_and_without
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.quantiles import jackknife_variance, order_statistic_ranks, rank, woodruff_ranks
from harness.verify.simulated.comparisons import ar_series
from harness.verify.simulated.result import Cells, VerifyResult

LEVEL = 0.95
REQUEST_SD, TRIAL_SD = 0.5, 0.05


def quantile(sims: int, seed: int) -> VerifyResult:
    """p99 inside one trial of AR(.9) requests, and over ten trials that differ; control: requests as if independent."""
    n, q = 20_000, 0.99
    truth = float(special.ndtri(q))
    rng = np.random.default_rng(seed)
    woodruff = independent = 0
    lower, upper = order_statistic_ranks(n, q, LEVEL)
    for start in range(0, sims, 50):  # bounds the memory at 50 x n requests
        x = ar_series(rng, (min(50, sims - start), n), 0.9)
        value = np.partition(x, rank(n, q) - 1, axis=-1)[:, rank(n, q) - 1]
        low, high = woodruff_ranks(x, value, q, LEVEL)
        # an interval of order statistics holds the truth where their ranks lie around that of the truth
        below = np.count_nonzero(x <= truth, axis=-1)
        woodruff += int(np.count_nonzero((low <= below) & (below < high)))
        independent += int(np.count_nonzero((lower <= below) & (below < upper)))
    cells = Cells(
        "quantile", sims, seed,
        bar="p99 coverage in [.92, .97]; pooled over trials: jackknife t in [.92, .97] for p99, and for p99.9 with 100 "
        "tail requests a trial",
        control="order statistics < .70, of the pool < .80",
    )  # fmt: skip
    cells.share("Woodruff with batch means, p99, AR .9", woodruff / sims, at_least=0.92, at_most=0.97)
    cells.share("order statistics, p99, AR .9", independent / sims, at_most=0.7, control=True)
    for q, n_pooled in ((0.99, 5_000), (0.999, 100_000)):
        rng = np.random.default_rng([seed, n_pooled])
        jackknife, naive = pooled_coverage(rng, sims, k=10, n=n_pooled, q=q)
        cells.share(f"jackknife t over 10 trials, p{q * 100:g}", jackknife, at_least=0.92, at_most=0.97)
        cells.share(f"order statistics of the pool, p{q * 100:g}", naive, at_most=0.8, control=True)
    return cells.result()


def pooled_coverage(rng: np.random.Generator, sims: int, *, k: int, n: int, q: float) -> tuple[float, float]:
    """Return the coverage of a quantile pooled over k trials that differ, and that of requests as the unit."""
    truth = _mixture_quantile(q)
    threshold = _mixture_quantile(1 - 6 * (1 - q))
    critical = float(t_critical(LEVEL, k - 1))
    lower, upper = order_statistic_ranks(k * n, q, LEVEL)
    jackknife = naive = 0
    for _ in range(sims):
        values, owner = _tail(rng, k, n, threshold)
        whole, without = pooled_and_without([_counts(values[owner == i], n) for i in range(k)], q)
        half = critical * np.sqrt(jackknife_variance(np.log(without)))
        jackknife += bool(abs(np.log(whole) - truth) <= half)
        first = k * n - values.size
        naive += bool(values[lower - 1 - first] <= truth <= values[upper - 1 - first])
    return jackknife / sims, naive / sims


def _counts(tail: Floats, n: int) -> LatencyCounts:
    """Return a trial of n requests, given the logarithms of its largest; the rest are in the lowest bin."""
    beyond = counted(np.exp(tail))
    return LatencyCounts(np.append(0, beyond.bins), np.append(n - tail.size, beyond.counts))


def _tail(
    rng: np.random.Generator, k: int, n: int, threshold: float
) -> tuple[Floats, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return all log latencies above the threshold of k trials of n requests, sorted, and whose they are.

    Only the tail is drawn: how many lie in it is binomial, where they lie is uniform in probability.
    """
    effects = rng.normal(0.0, TRIAL_SD, k)
    beyond = special.ndtr(-(threshold - effects) / REQUEST_SD)
    counts = rng.binomial(n, beyond)
    owner = np.repeat(np.arange(k), counts)
    values = effects[owner] - REQUEST_SD * special.ndtri(beyond[owner] * rng.random(owner.size))
    order = np.argsort(values)
    return values[order], owner[order]


def _mixture_quantile(q: float) -> float:
    """Return the q quantile of one request of a random trial: normal trials, normal requests, on the log scale."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()

    def excess(x: float) -> float:
        return float(weights @ special.ndtr((x - TRIAL_SD * nodes) / REQUEST_SD) - q)

    return float(optimize.brentq(excess, -5.0, 5.0, xtol=1e-12))
