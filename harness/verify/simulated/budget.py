# SPDX-License-Identifier: Apache-2.0
"""Verification of blocks to the undecided: coverage is kept, and the same is said with fewer trials."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.next_blocks import undecided
from harness.verify.simulated.result import VerifyResult, average, result, share

Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

LEVEL, MARGIN = 0.95, 0.05
FIRST, MOST = 5, 20
SD = 0.03
#: Of six variants against the reference: equal, within the band, beyond it, and far.
RATIOS = (1.0, 1.02, 1.1, 1.2, 1.5, 0.7)


def budget(sims: int, seed: int) -> VerifyResult:
    """Sessions that begin with 5 blocks and go on to 20 for what is undecided; control: until 1 is left out."""
    rng = np.random.default_rng(seed)
    held = dict.fromkeys(RATIOS, 0.0)
    alike, spent = [], np.zeros(sims)
    most_each = np.zeros(sims)
    for ratio in RATIOS:
        d = log(ratio) + _differences(rng, sims)
        low, high, used = stopped(d, in_band)
        held[ratio] = float(np.mean((low <= log(ratio)) & (log(ratio) <= high)))
        spent += used
        most_each = np.maximum(most_each, used)
        all_low, all_high = _interval(d)
        alike.append(_said(low, high) == _said(all_low, all_high))
    spent += most_each  # the reference is measured as long as any variant is
    cells = [
        share(sims, name=f"coverage, ratio {ratio}", value=value, at_least=0.93, at_most=0.97)
        for ratio, value in held.items()
    ]
    cells.append(
        average(spent / ((len(RATIOS) + 1) * MOST), name="trials, over those of 20 blocks each", at_most=0.6)
    )
    cells.append(
        average(
            np.mean(alike, axis=0),
            name="share of variants of which 20 blocks each say the same",
            at_least=0.9,
        )
    )
    d = _differences(rng, sims)
    low, high, _ = stopped(d, _holds_one)
    peeked = float(np.mean((low <= 0) & (high >= 0)))
    cells.append(
        share(
            sims,
            name="coverage, ratio 1.0, stopped as soon as 1 is left out",
            value=peeked,
            at_most=0.92,
            control=True,
        )
    )
    return result(
        "undecided",
        bar="coverage in [.93, .97]; <= .60 of the trials; the same said of >= .90 of variants",
        control="stopping as soon as the interval leaves out 1 covers < .92",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _differences(rng: np.random.Generator, sims: int) -> Floats:
    return rng.normal(0.0, SD, (sims, MOST)) - rng.normal(0.0, SD, (sims, MOST))


def _interval(d: Floats) -> tuple[Floats, Floats]:
    bounds = intervals.student(d, LEVEL)
    return bounds.low, bounds.high


def stopped(d: Floats, go_on: Callable[[Floats, Floats], Bools]) -> tuple[Floats, Floats, Floats]:
    """Return interval and number of blocks of each session, shapes (sims,), when it was stopped."""
    low, high = _interval(d[:, :FIRST])
    used = np.full(len(d), float(FIRST))
    for k in range(FIRST + 1, MOST + 1):
        on = go_on(low, high) & (used == k - 1)
        if not on.any():
            break
        next_low, next_high = _interval(d[on, :k])
        low[on], high[on], used[on] = next_low, next_high, k
    return low, high, used


def in_band(low: Floats, high: Floats) -> Bools:
    """Whether a session goes on: its interval holds an end of the band."""
    return undecided(low, high, MARGIN)


def _holds_one(low: Floats, high: Floats) -> Bools:
    return np.asarray((low <= 0) & (high >= 0))


def _said(low: Floats, high: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """0: undecided, 1: within the band, 2: beyond it."""
    end = float(np.log1p(MARGIN))
    inside = (low >= -end) & (high <= end)
    return np.where(inside, 1, np.where((low >= end) | (high <= -end), 2, 0))
