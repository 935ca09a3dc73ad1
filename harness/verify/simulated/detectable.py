# SPDX-License-Identifier: Apache-2.0
"""Verification of the power curve: an effect of the stated size is found in the stated share of sessions."""

from __future__ import annotations

from math import log1p

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.detectable import BLOCKS, POWER, effect
from harness.analysis.stats.inputs import Floats
from harness.verify.simulated.comparisons import covered, paired_p
from harness.verify.simulated.distributions import LAWS, Law, trial_effects
from harness.verify.simulated.result import VerifyResult, result, share

#: Pairs of the session that the ratio is stated from.
PILOTS = (5, 10, 20)
WINDOWS = 10
#: What the power may be off where trials are normal, and where they are not: the t test's own.
_NORMAL, _OTHER = 0.03, 0.06


def detectable(sims: int, seed: int) -> VerifyResult:
    """Pairs of sessions: the first states the smallest ratio, the second has it; control: spread of windows."""
    cells = []
    for number, (n_pilot, n_blocks) in enumerate((p, k) for p in PILOTS for k in BLOCKS):
        rng = np.random.default_rng([seed, number])
        found = _found(rng, "normal", sims, n_pilot, n_blocks)
        name = f"found, stated from {n_pilot} pairs for {n_blocks} blocks"
        cells.append(share(sims, name=name, value=found, at_least=POWER - _NORMAL, at_most=POWER + _NORMAL))
    for number, law in enumerate(one for one in LAWS if one != "normal"):
        rng = np.random.default_rng([seed, 50 + number])
        found = _found(rng, law, sims, 10, 10)
        name = f"found, {law} trials, stated from 10 pairs for 10 blocks"
        cells.append(share(sims, name=name, value=found, at_least=POWER - _OTHER, at_most=POWER + _OTHER))
    for number, n_blocks in enumerate(BLOCKS):
        rng = np.random.default_rng([seed, 70 + number])
        name = f"found without blocks, stated from 20 trials for {n_blocks} trials an arm"
        cells.append(
            share(
                sims,
                name=name,
                value=_unpaired(rng, sims, n_blocks),
                at_least=POWER - _NORMAL,
                at_most=POWER + _NORMAL,
            )
        )
    held, other = _known(np.random.default_rng([seed, 90]), sims)
    cells.append(
        share(
            sims,
            name="interval holds a handicap of 5 % of declared size",
            value=held,
            at_least=0.93,
            at_most=0.97,
        )
    )
    cells.append(
        share(
            sims,
            name="interval holds 5 %, where the handicap is twice that",
            value=other,
            at_most=0.5,
            control=True,
        )
    )
    rng = np.random.default_rng([seed, 99])
    cells.append(
        share(
            sims,
            name="found, stated from windows as if they were trials",
            value=_of_windows(rng, sims),
            at_most=0.5,
            control=True,
        )
    )
    return result(
        "detectable",
        bar="an effect of the stated size is found in .77 to .83 of sessions (.74 to .86 where trials are not normal); "
        "the interval holds a declared handicap in .93 to .97",
        control="a size stated from the windows of trials is found in < .5; a handicap twice as large is held in < .5",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _found(rng: np.random.Generator, law: Law, sims: int, n_pilot: int, n_blocks: int) -> float:
    """Share of second sessions that tell an effect of the size that the first one states."""
    first, second = (_differences(rng, law, sims, k) for k in (n_pilot, n_blocks))
    stated = first.std(axis=-1, ddof=1) * effect(n_pilot - 1, n_blocks)
    return float(np.mean(paired_p(second + stated[:, None]) <= 0.05))


def _differences(rng: np.random.Generator, law: Law, sims: int, k: int) -> Floats:
    return trial_effects(rng, law, (sims, k)) - trial_effects(rng, law, (sims, k))


def _unpaired(rng: np.random.Generator, sims: int, n: int) -> float:
    """The same for two arms without blocks: the spread is that of twenty trials of one arm."""
    stated = rng.normal(0.0, 0.04, (sims, 20)).std(axis=-1, ddof=1) * effect(19, n, two_samples=True)
    a, b = rng.normal(0.0, 0.04, (sims, n)) + stated[:, None], rng.normal(0.0, 0.04, (sims, n))
    bounds = intervals.two_sample(a, b, 0.95, welch=False)
    return float(np.mean((bounds.low > 0) | (bounds.high < 0)))


def _known(rng: np.random.Generator, sims: int) -> tuple[float, float]:
    """Share of sessions of ten blocks whose interval holds log(1 - .05), for a handicap of 5 % and for one of 10 %."""
    d, declared = _differences(rng, "normal", sims, 10), log1p(-0.05)
    return (
        covered(intervals.student(d + declared, 0.95), declared),
        covered(intervals.student(d + log1p(-0.10), 0.95), declared),
    )


def _of_windows(rng: np.random.Generator, sims: int) -> float:
    """The same, where each of ten trials counts as ten windows of half its spread."""
    k = 10
    trials, second = (rng.normal(0.0, 0.05, (sims, k)) for _ in range(2))
    windows = trials[..., None] + rng.normal(0.0, 0.025, (sims, k, WINDOWS))
    sd = windows.reshape(sims, -1).std(axis=-1, ddof=1)
    stated = sd * effect(k * WINDOWS - 1, k * WINDOWS)
    return float(np.mean(paired_p(second + stated[:, None]) <= 0.05))
