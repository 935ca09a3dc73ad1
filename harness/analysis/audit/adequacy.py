# SPDX-License-Identifier: Apache-2.0
"""Was it enough? Blocks that a narrow interval needs, modes that few trials may miss, equal against equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.stats.aa_test import AATest, aa_test
from harness.analysis.stats.assumptions import unseen_mode_share
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.pairing import inputs_of, pair_by_block, require, split_excluded, split_missing
from harness.analysis.stats.sample_size import plan_repetitions
from harness.errors import InputError
from harness.model import Frozen

#: Fewer pairs than this have no variation to plan from.
FEWEST_PAIRS = 3


class BlocksNeeded(Frozen):
    """What the blocks of one experiment can tell, and how many would be needed to tell more. Over its comparisons."""

    metric: str
    n_comparisons: int
    n_blocks: int = Field(description="pairs of the comparison that has the fewest")
    half_width: float = Field(description="of the 95 % interval of a ratio, as a share; median comparison")
    wanted: float = Field(description="half-width that the blocks below are for")
    needed: int | None = Field(description="blocks, median comparison; None: no practical number")
    needed_most: int | None
    unseen_share: float = Field(description="a mode rarer than this may be unseen in so many trials (95 %)")


class EqualCell(Frozen):
    """The reference against its own duplicate in one cell of an experiment."""

    levels: dict[str, str]
    metric: str
    found: AATest
    n_blocks: int


def leading_metric(trials: pd.DataFrame) -> str:
    """Return what a load can differ in: throughput where users wait, mean latency where arrivals come at a rate."""
    return "throughput_per_s" if (trials["load_model"] == "closed").any() else "latency_mean_s"


def blocks_needed(
    trials: pd.DataFrame, reference: str, factors: Sequence[str], *, half_width: float = 0.02
) -> BlocksNeeded | None:
    """Return how many blocks every comparison with the reference would need; ``None``: there is none.

    Args:
        trials: of one experiment. factors: its columns that tell the cells apart.
        half_width: wanted, as a share: 0.02 is +-2 %.

    Raises:
        InputError: a column is missing.
    """
    metric = leading_metric(trials)
    kept = _usable(trials, metric)
    plain = kept[~kept["duplicate"].astype(bool)]
    widths, needed, sizes = [], [], []
    for a, b in _pairs(plain, reference, factors, metric):
        try:
            plan = plan_repetitions(a, b, half_width=half_width)
            needed.append(float(plan.n_blocks))
            sd = plan.sd_log_ratio
        except InputError:  # the variation is beyond any practical number of blocks
            needed.append(np.inf)
            sd = float(np.log(a / b).std(ddof=1))
        sizes.append(a.size)
        widths.append(float(np.expm1(t_critical(0.95, a.size - 1) * sd / np.sqrt(a.size))))
    if not sizes:
        return None
    middle, most = float(np.median(needed)), max(needed)
    return BlocksNeeded(
        metric=metric,
        n_comparisons=len(sizes),
        n_blocks=min(sizes),
        half_width=float(np.median(widths)),
        wanted=half_width,
        needed=None if np.isinf(middle) else int(np.ceil(middle)),
        needed_most=None if np.isinf(most) else int(most),
        unseen_share=unseen_mode_share(min(sizes)),
    )


def equal_cells(
    trials: pd.DataFrame, factors: Sequence[str], *, level: float = 0.95
) -> tuple[EqualCell, ...]:
    """Return, for each cell that has one, the reference against its duplicate: a difference there is a false alarm.

    Raises:
        InputError: a column is missing.
    """
    metric = leading_metric(trials)
    kept = _usable(trials, metric)
    twice = kept["duplicate"].astype(bool)
    found = []
    for levels, duplicates in _by(kept[twice], factors):
        twins = kept[~twice & kept["configuration"].isin(duplicates["configuration"])]
        a, b, _ = pair_by_block(twins, duplicates, also=("configuration",))
        if len(a) < FEWEST_PAIRS:
            continue
        one, other = (arm[metric].to_numpy(dtype=np.float64) for arm in (a, b))
        test = aa_test(one, other, level=level)
        ratio = test.ratio.model_copy(
            update={
                "estimand": f"{metric}, reference over its duplicate",
                "inputs": inputs_of(pd.concat([a, b])),
            }
        )
        found.append(
            EqualCell(
                levels=levels, metric=metric, found=test.model_copy(update={"ratio": ratio}), n_blocks=len(a)
            )
        )
    return tuple(found)


def _usable(trials: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The kept trials that have the metric, of the load model that it is told of."""
    require(trials, metric, ("load_model",))
    kept, _ = split_missing(split_excluded(trials)[0], metric)
    model = "closed" if metric == "throughput_per_s" else "open"
    return kept[(kept["load_model"] == model) & (kept[metric] > 0)]


def _pairs(
    plain: pd.DataFrame, reference: str, factors: Sequence[str], metric: str
) -> Iterator[tuple[Floats, Floats]]:
    """Values of every other variant and of the reference, block by block, cell by cell."""
    for _, cell in _by(plain, factors):
        ours = cell[cell["variant"] == reference]
        for name in cell.loc[cell["variant"] != reference, "variant"].unique():
            a, b, _ = pair_by_block(cell[cell["variant"] == name], ours)
            if len(a) >= FEWEST_PAIRS:
                yield a[metric].to_numpy(dtype=np.float64), b[metric].to_numpy(dtype=np.float64)


def _by(frame: pd.DataFrame, factors: Sequence[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Cells with their levels, in order of appearance; one without levels where there is no factor."""
    if not factors:
        if len(frame):
            yield {}, frame
        return
    for key, cell in frame.groupby(list(factors), sort=False):
        yield dict(zip(factors, map(str, key), strict=True)), cell
