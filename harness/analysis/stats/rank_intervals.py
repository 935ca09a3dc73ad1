# SPDX-License-Identifier: Apache-2.0
"""Which places in an order the trials allow each variant: simultaneous rank intervals, ties shared.

Every pair of variants is compared block by block on logs. One critical value holds for all pairs at once, so the chance
that any pair is ordered wrongly is at most one minus the level, and all intervals hold together (max-t; Tukey 1953 for
pairs, Mogstad, Romano, Shaikh and Wilhelm 2024 for ranks). Variants that no comparison tells apart share their ranks.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import sqrt

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.pairing import over_partner, require, split_excluded, split_missing
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.model.base import Frozen

#: Draws from which a critical value is taken, and their seed: the same size gives the same value.
_DRAWS, _SEED = 20_000, 1


class RankInterval(Frozen):
    """The ranks that a variant may have; 1 is best."""

    variant: str
    low: int = Field(description="the best rank that is not ruled out")
    high: int = Field(description="the worst rank that is not ruled out")
    n_variants: int
    n_blocks: int = Field(description="blocks in which every variant has a trial")

    @property
    def text(self) -> str:
        """``2``, or ``2 to 4``."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


def rank_intervals(
    trials: pd.DataFrame, metric: str, *, higher_is_better: bool, level: float = 0.95
) -> tuple[RankInterval, ...]:
    """Return the rank interval of every variant, in the order of their means, the best first.

    Blocks that lack a variant are left out, and with fewer than five complete ones every rank is possible.

    Args:
        trials: one cell of the table of trials: one row of each variant in a block; duplicates of the reference and
            excluded trials are left out. metric: a positive column.

    Raises:
        InputError: no such column, values not positive and finite, or several trials of a variant in one block.
    """
    require(trials, metric, ())
    counted, _ = split_missing(split_excluded(trials)[0], metric)
    counted = over_partner(counted[~counted["duplicate"].astype(bool)], metric)
    if counted.empty:
        return ()
    values = counted[metric].to_numpy(dtype=np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError(
            "ranks are of logs", place=metric, found="0 or less, or infinity", allowed="positive values"
        )
    if counted.duplicated(["session_id", "block", "variant"]).any():
        raise InputError("one variant has several trials in one block", place=metric, allowed="one cell")
    table = counted.pivot(index=["session_id", "block"], columns="variant", values=metric).dropna()
    logs = np.log(table.to_numpy(dtype=np.float64)) * (1.0 if higher_is_better else -1.0)
    ranks = ranks_of(logs, level=level)
    best_first = np.argsort(-logs.mean(axis=0), kind="stable") if len(logs) else range(table.shape[1])
    return tuple(
        RankInterval(
            variant=str(table.columns[one]), low=int(ranks[one, 0]), high=int(ranks[one, 1]),
            n_variants=table.shape[1], n_blocks=len(table),
        )
        for one in best_first
    )  # fmt: skip


def ranks_of(logs: Floats, *, level: float = 0.95) -> NDArray[np.int64]:
    """Return the best and the worst rank of each variant, shape (variants, 2).

    Args:
        logs: shape (blocks, variants), the higher the better.
    """
    n_blocks, n_variants = logs.shape
    if n_blocks < FEWEST_FOR_P:
        return np.tile(np.array([1, n_variants]), (n_variants, 1))
    wins = np.zeros((n_variants, n_variants), dtype=bool)
    limit = critical_value(n_variants, n_blocks, level)
    for a, b in combinations(range(n_variants), 2):
        t = float(_t(logs[:, a] - logs[:, b]))
        wins[a, b], wins[b, a] = t > limit, t < -limit
    return np.stack([1 + wins.sum(axis=0), n_variants - wins.sum(axis=1)], axis=1)


@cache
def critical_value(n_variants: int, n_blocks: int, level: float) -> float:
    """Return the quantile of the largest paired t of all pairs where no two variants differ, by simulation.

    The variants have independent normal logs with one standard deviation; ``test_known_truths.py`` has other truths.
    """
    if n_variants < 2:
        return 0.0
    rng = np.random.default_rng([_SEED, n_variants, n_blocks])
    logs = rng.normal(size=(n_variants, _DRAWS, n_blocks))
    largest = np.zeros(_DRAWS)
    for a, b in combinations(range(n_variants), 2):
        np.maximum(largest, np.abs(_t(logs[a] - logs[b])), out=largest)
    return float(np.quantile(largest, level))


def _t(d: Floats) -> Floats:
    """Paired t over the last axis; differences that do not vary count as infinitely sure, and 0 as none."""
    centre, spread = d.mean(axis=-1), d.std(axis=-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t: Floats = np.asarray(centre / (spread / sqrt(d.shape[-1])), dtype=np.float64)
    t[np.isnan(t)] = 0.0
    return t
