# SPDX-License-Identifier: Apache-2.0
"""Verification of effects of factors on p99: simulated factorials in blocks, complete and with cells missing."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.factor_effects import CellName, Term, contrast
from harness.analysis.stats.inputs import Floats
from harness.verify.simulated.comparisons import LEVEL, covered
from harness.verify.simulated.distributions import LAWS, Law, trial_effects
from harness.verify.simulated.result import Cell, VerifyResult, result, share

BLOCKS = (5, 10, 20)
#: Standard deviation of what the trials of a block share; of a trial of each variant: the cells differ in theirs.
BLOCK_SD = 0.10
TRIAL_SD = {"go": 0.02, "java": 0.06}
VARIANTS, LOGGING, WARM_UP = ("go", "java"), ("off", "on"), ("none", "short", "long")
CELLS: tuple[CellName, ...] = tuple(product(VARIANTS, LOGGING, WARM_UP))
#: As an experiment has it that takes each factor from one base: no log line together with a warm-up.
SOME: tuple[CellName, ...] = tuple(cell for cell in CELLS if cell[1] == "off" or cell[2] == "none")
BY_VARIANT: Term = {0: ("java", "go")}
BY_LOGGING: Term = {0: ("java", "go"), 1: ("on", "off")}
BY_WARM_UP: Term = {0: ("java", "go"), 2: ("long", "none")}
#: True logs: of Java, of logging, of both together, and of a warm-up that helps Java alone.
JAVA, ON, BOTH, WARM = log(1.3), log(1.5), log(1.1), log(0.8)

#: Of the cell on power, and of the control: trials of one variation, requests of a trial.
CV, CONTROL_SD, REQUESTS, REQUEST_SD, CONTROL_SIMS = 0.03, 0.06, 2000, 0.3, 400
#: Of the other control: four variants of which one is noisy.
NOISY = (0.02, 0.12, 0.02, 0.02)


def factors(sims: int, seed: int) -> VerifyResult:
    """Intervals of effects over blocks; controls: a regression of requests, and one variance for all cells."""
    cells: list[Cell] = []
    for number, (law, k) in enumerate(product(LAWS, BLOCKS)):
        rng = np.random.default_rng([seed, number])
        logs = _sessions(rng, law, sims, k)
        truths = {
            "variant": (BY_VARIANT, JAVA + BOTH / 2 + WARM / 3),
            "variant by logging": (BY_LOGGING, BOTH),
        }
        for what, (term, truth) in truths.items():
            cells.append(_coverage(logs, CELLS, term, truth, name=f"{what}, {law}, k = {k}"))
    for number, law in enumerate(LAWS):
        rng = np.random.default_rng([seed, 50 + number])
        some = _sessions(rng, law, sims, 10)[..., [CELLS.index(cell) for cell in SOME]]
        cells.append(_coverage(some, SOME, BY_WARM_UP, WARM, name=f"cells missing, {law}, k = 10"))
    found = _found(np.random.default_rng([seed, 97]), sims)
    name = "interaction of 10 % found, CV 3 %, k = 10"
    cells.append(share(sims, name=name, value=found, at_least=0.95))
    n = min(sims, CONTROL_SIMS)
    naive = _over_requests(np.random.default_rng([seed, 98]), n)
    cells.append(share(n, name="quantile regression of requests", value=naive, at_most=0.70, control=True))
    equal = _one_variance(np.random.default_rng([seed, 99]), sims)
    name = "one variance for all cells, one noisy"
    cells.append(share(sims, name=name, value=equal, at_most=0.90, control=True))
    return result(
        "factors", bar="coverage of effects and interactions in [.93, .97]; an interaction of 10 % found in >= .95",
        control="p99 regressed over requests < .70; one variance for all cells < .90",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _sessions(rng: np.random.Generator, law: Law, sims: int, k: int) -> Floats:
    """Return log p99 of every trial, shape (sims, k, cells)."""
    logs = np.empty((sims, k, len(CELLS)))
    for place, (variant, logging, warm_up) in enumerate(CELLS):
        java, on = variant == "java", logging == "on"
        truth = java * JAVA + on * ON + (java and on) * BOTH + (java and warm_up == "long") * WARM
        logs[..., place] = truth + trial_effects(rng, law, (sims, k), sd=TRIAL_SD[variant])
    return logs + rng.normal(0.0, BLOCK_SD, (sims, k, 1))


def _coverage(logs: Floats, cells: tuple[CellName, ...], term: Term, truth: float, *, name: str) -> Cell:
    value = covered(intervals.student(_contrasts(logs, cells, term), LEVEL), truth)
    return share(len(logs), name=name, value=value, at_least=0.93, at_most=0.97)


def _contrasts(logs: Floats, cells: tuple[CellName, ...], term: Term) -> Floats:
    """Return one number a block, shape (sims, k)."""
    made = contrast(cells, term)
    assert made is not None, "every effect that is asked for here has its cells"
    return np.asarray(logs @ made[0], dtype=np.float64)


def _two_by_two(rng: np.random.Generator, shape: tuple[int, ...], sd: float) -> tuple[Floats, Term]:
    """Return log p99 of the trials of two factors of two levels, shape (..., 4), with an interaction of ``BOTH``."""
    logs = np.array([0.0, ON, JAVA, JAVA + ON + BOTH]) + rng.normal(0.0, sd, (*shape, 4))
    return logs + rng.normal(0.0, BLOCK_SD, (*shape, 1)), BY_LOGGING


FOUR: tuple[CellName, ...] = tuple(product(VARIANTS, LOGGING))


def _found(rng: np.random.Generator, sims: int) -> float:
    logs, term = _two_by_two(rng, (sims, 10), CV)
    bounds = intervals.student(_contrasts(logs, FOUR, term), LEVEL)
    return float(np.mean((bounds.low > 0) | (bounds.high < 0)))


def _over_requests(rng: np.random.Generator, sims: int) -> float:
    """Return the coverage of the same interaction where p99 is regressed on the factors over all requests at once.

    In a saturated factorial the quantile regression is the quantile of each cell's requests, and its standard error,
    with requests independent, that of four sample quantiles.
    """
    k, inside = 10, 0
    n = k * REQUESTS
    half = 1.96 * np.sqrt(n * 0.99 * 0.01)
    ranks = np.clip(np.round([0.99 * n - half, 0.99 * n, 0.99 * n + half]).astype(int), 0, n - 1)
    for _ in range(sims):
        logs, term = _two_by_two(rng, (k,), CONTROL_SD)
        requests = logs.T[:, :, None] + rng.normal(0.0, REQUEST_SD, (4, k, REQUESTS))
        low, centre, high = np.partition(requests.reshape(4, n), ranks, axis=1)[:, ranks].T
        found = float(_contrasts(centre[None, None], FOUR, term)[0, 0])
        error = float(np.sqrt((((high - low) / 2) ** 2).sum()))
        inside += abs(found - BOTH) <= error
    return inside / sims


def _one_variance(rng: np.random.Generator, sims: int) -> float:
    """Return the coverage of the noisy variant against the reference by least squares with blocks as a factor."""
    k = 10
    logs = rng.normal(0.0, 1.0, (sims, k, 4)) * NOISY + rng.normal(0.0, BLOCK_SD, (sims, k, 1))
    means = logs.mean(axis=1, keepdims=True)
    rest = logs - means - logs.mean(axis=2, keepdims=True) + logs.mean(axis=(1, 2), keepdims=True)
    df = (k - 1) * 3
    error = np.sqrt((rest**2).sum(axis=(1, 2)) / df * 2 / k)
    gap = np.abs(means[:, 0, 1] - means[:, 0, 0])
    return float(np.mean(gap <= intervals.t_critical(LEVEL, df) * error))
