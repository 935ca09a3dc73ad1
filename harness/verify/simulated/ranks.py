# SPDX-License-Identifier: Apache-2.0
"""Verification of rank intervals: all true ranks lie inside at once, with ties and near-ties, and they do tell."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.rank_intervals import critical_value, ranks_of
from harness.verify.simulated.result import Cell, VerifyResult, result, share

LEVEL, INSIDE = 0.95, 0.93
BLOCKS = (5, 10, 20)
#: True logs of six variants, and the standard deviation of each variant's trials.
TRUTHS = {
    "all tied": (np.zeros(6), np.full(6, 0.03)),
    "three pairs tied": (np.repeat([0.2, 0.1, 0.0], 2), np.full(6, 0.03)),
    "near-ties of 1 %": (0.01 * np.arange(6.0), np.full(6, 0.03)),
    "all tied, one noisy": (np.zeros(6), np.array([0.12, 0.03, 0.03, 0.03, 0.03, 0.03])),
}
#: Of the cell on power: steps that ten blocks tell apart.
STEP, CV = 0.10, 0.03


def ranks(sims: int, seed: int) -> VerifyResult:
    """Sessions of six variants; control: pairs judged one by one, each at its own 95 %."""
    cells: list[Cell] = []
    for number, (name, n_blocks) in enumerate((name, k) for name in TRUTHS for k in BLOCKS):
        truth, sd = TRUTHS[name]
        rng = np.random.default_rng([seed, number])
        inside = _inside(rng, truth, sd, sims, n_blocks)
        cells.append(share(sims, name=f"all inside, {name}, k = {n_blocks}", value=inside, at_least=INSIDE))
    rng = np.random.default_rng([seed, 98])
    told = _exact(rng, STEP * np.arange(6.0), np.full(6, CV), sims, 10)
    cells.append(
        share(sims, name="all ranks single, steps of 10 %, CV 3 %, k = 10", value=told, at_least=0.95)
    )
    rng = np.random.default_rng([seed, 99])
    wrong = _inside(rng, *TRUTHS["all tied"], sims, 10, pair_by_pair=True)
    cells.append(
        share(sims, name="all inside, pair by pair, all tied, k = 10", value=wrong, at_most=0.8, control=True)
    )
    return result(
        "ranks", bar="all true ranks inside at once in >= .93; steps of 10 % told apart in >= .95",
        control="pairs judged one by one <= .80", cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _inside(
    rng: np.random.Generator,
    truth: Floats,
    sd: Floats,
    sims: int,
    n_blocks: int,
    *,
    pair_by_pair: bool = False,
) -> float:
    """Return the share of sessions in which every variant's interval holds all ranks that its true value allows."""
    best = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    worst = truth.size - (truth[None, :] < truth[:, None]).sum(axis=1)
    n = 0
    for _ in range(sims):
        logs = truth + rng.normal(0.0, 1.0, (n_blocks, truth.size)) * sd
        found = _pair_by_pair(logs) if pair_by_pair else ranks_of(logs, level=LEVEL)
        n += bool((found[:, 0] <= best).all() and (found[:, 1] >= worst).all())
    return n / sims


def _exact(rng: np.random.Generator, truth: Floats, sd: Floats, sims: int, n_blocks: int) -> float:
    """Return the share of sessions in which every interval is one rank."""
    drawn = (truth + rng.normal(0.0, 1.0, (n_blocks, truth.size)) * sd for _ in range(sims))
    return sum(bool((found[:, 0] == found[:, 1]).all()) for found in map(ranks_of, drawn)) / sims


def _pair_by_pair(logs: Floats) -> Floats:
    """Ranks as they come out where each pair has its own 95 %, as if it were the only one."""
    n_blocks, n_variants = logs.shape
    limit = critical_value(2, n_blocks, LEVEL)
    wins = np.zeros((n_variants, n_variants), dtype=bool)
    for a, b in combinations(range(n_variants), 2):
        d = logs[:, a] - logs[:, b]
        t = d.mean() / (d.std(ddof=1) / n_blocks**0.5)
        wins[a, b], wins[b, a] = t > limit, t < -limit
    return np.stack([1 + wins.sum(axis=0), n_variants - wins.sum(axis=1)], axis=1).astype(np.float64)
