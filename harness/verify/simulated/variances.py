# SPDX-License-Identifier: Apache-2.0
"""Verification of the variance split: its intervals hold the true component of every level."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.variance_split import WITHIN, variance_split
from harness.verify.simulated.result import Cell, VerifyResult, average, result, share

#: Standard deviations of the logs: sessions, blocks, trials, windows.
TRUTH = {"session": 0.03, "block": 0.02, "trial": 0.04, WITHIN: 0.03}
LEVELS = ("session", "block", "trial")
#: Sessions -> blocks of each; two trials of five windows a block, as the reference has.
DESIGNS = {"five sessions of 10 blocks": [10] * 5, "sessions of 5, 10 and 10 blocks": [5, 10, 10]}


def variances(sims: int, seed: int) -> VerifyResult:
    """Sessions of blocks of two trials of windows; control: the spread of trial means taken for that of trials."""
    cells: list[Cell] = []
    naive = 0.0
    for number, (words, blocks) in enumerate(DESIGNS.items()):
        rng = np.random.default_rng([seed, number])
        frame = _frame(blocks)
        held = dict.fromkeys(TRUTH, 0)
        values: dict[str, list[float]] = {name: [] for name in TRUTH}
        n_naive = 0
        for _ in range(sims):
            frame["value"] = _values(rng, frame)
            found = variance_split(frame, "value", LEVELS)
            for one in found.levels:
                held[one.name] += one.low <= TRUTH[one.name] ** 2 <= one.high
                values[one.name].append(one.variance / TRUTH[one.name] ** 2)
            n_naive += _naive_holds(frame)
        naive = max(naive, n_naive / sims)
        cells += [
            share(
                sims,
                name=f"interval of {name} holds the truth, {words}",
                value=n / sims,
                at_least=0.93,
                # between so few sessions the method is on the safe side
                at_most=None if name == "session" else 0.97,
            )
            for name, n in held.items()
        ]
        cells += [
            average(values[name], name=f"{name} over its truth, {words}", at_least=0.9, at_most=1.1)
            for name in ("trial", WITHIN)
        ]
    cells.append(
        share(sims, name="interval of the spread of all trial means as that of trials", value=naive, at_most=0.7,
              control=True)
    )  # fmt: skip
    return result(
        "variances",
        bar="coverage of every component in [.93, .97] (of sessions >= .93); trials and windows within 10 % on average",
        control="the spread of all trials' means, taken for that between trials of a block, covers < .7",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _frame(blocks: list[int]) -> pd.DataFrame:
    rows = [
        (session, block, trial, window)
        for session, n in enumerate(blocks)
        for block in range(n)
        for trial in range(2)
        for window in range(5)
    ]
    return pd.DataFrame(rows, columns=[*LEVELS, "window"])


def _values(rng: np.random.Generator, frame: pd.DataFrame) -> Floats:
    """Return one value a row: an effect of each of its groups, and its own."""
    x = rng.normal(0.0, TRUTH[WITHIN], len(frame))
    for depth, name in enumerate(LEVELS):
        group = frame.groupby(list(LEVELS[: depth + 1]), sort=False).ngroup().to_numpy()
        x += rng.normal(0.0, TRUTH[name], int(group.max()) + 1)[group]
    return np.asarray(x, dtype=np.float64)


def _naive_holds(frame: pd.DataFrame) -> bool:
    means = frame.groupby(list(LEVELS), sort=False)["value"].mean().to_numpy(dtype=np.float64)
    square, df = float(means.var(ddof=1)), means.size - 1
    low, high = (square * df / float(scipy.special.chdtri(df, p)) for p in (0.025, 0.975))
    return low <= TRUTH["trial"] ** 2 <= high
