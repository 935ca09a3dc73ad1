# SPDX-License-Identifier: Apache-2.0
"""Blocks to the undecided: which comparisons more blocks would decide, and how many fit into a budget of trials.

A comparison is undecided while its interval holds an end of the band of equivalence: what is inside of it is
negligible, what is outside of it is not, and blocks are spent until the interval says which. Whether the interval holds
1 is never asked: stopping as soon as it does not would find a difference where there is none
(``rematch verify undecided``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.model.base import Frozen

#: More is beyond any practical session.
MOST_BLOCKS = 1000


class MoreBlocks(Frozen):
    """One undecided comparison, and the blocks that would decide it if its value and its spread are the true ones."""

    variant: str
    metric: str
    levels: dict[str, str]
    n_blocks: int = Field(description="that it has")
    n_more: int | None = Field(
        description="None: its value is so near an end of the band that none decide it"
    )
    granted: int = Field(description="of those, what the budget has room for")


def undecided(low: Floats, high: Floats, margin: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which intervals of log ratios hold an end of the band from 1/(1 + margin) to 1 + margin.

    Args:
        low, high: of any one shape; logarithms.
    """
    end = float(np.log1p(margin))
    return np.asarray(((low < end) & (end < high)) | ((low < -end) & (-end < high)))


def next_blocks(
    found: Sequence[Comparison], *, trials: int, margin: float | None = None
) -> tuple[MoreBlocks, ...]:
    """Return the undecided comparisons, the quickest to decide first, and share out a budget of trials among them.

    A block of a variant takes two trials: its own, and one of the reference, which variants of one cell share. Only
    comparisons that are about the services are asked for. One that the budget cannot decide gets nothing: blocks that
    do not decide are spent for nothing.

    Args:
        found: of one metric. trials: how many may be spent. margin: absent: that of each comparison.

    Raises:
        InputError: a budget below 0, or comparisons of several metrics.
    """
    if trials < 0:
        raise InputError("not a number of trials", place="trials", found=trials, allowed="0 or more")
    metrics = {one.metric for one in found}
    if len(metrics) > 1:
        raise InputError(
            "one budget is shared out over one metric",
            found=", ".join(sorted(metrics)),
            allowed="one of them",
        )
    wanted = [(one, more) for one in found for more in _wanted(one, margin)]
    wanted.sort(key=lambda pair: pair[1] if pair[1] is not None else MOST_BLOCKS + 1)
    referenced: dict[tuple[tuple[str, str], ...], int] = {}
    said = []
    for one, more in wanted:
        cell, granted = tuple(sorted(one.levels.items())), 0
        if more is not None:
            cost = more + max(0, more - referenced.get(cell, 0))
            if cost <= trials:
                trials, granted = trials - cost, more
                referenced[cell] = max(referenced.get(cell, 0), more)
        said.append(
            MoreBlocks(
                variant=one.variant, metric=one.metric, levels=one.levels, n_blocks=one.n_blocks, n_more=more,
                granted=granted,
            )
        )  # fmt: skip
    return tuple(said)


def wants_more(one: Comparison) -> bool:
    """Tell whether a comparison is undecided, and blocks can change that; too few blocks are always undecided."""
    return bool(_wanted(one, None))


def _wanted(one: Comparison, margin: float | None) -> list[int | None]:
    """The further blocks of an undecided comparison; empty: it is decided, or nothing can decide it."""
    width = one.margin if margin is None else margin
    ratio = one.ratio
    if not one.about_services or width is None or ratio.value is None:
        return []
    if one.n_blocks < FEWEST_FOR_P or ratio.low is None or ratio.high is None:
        return [max(FEWEST_FOR_P - one.n_blocks, 1)]
    low, high = float(np.log(ratio.low)), float(np.log(ratio.high))
    if not bool(undecided(np.asarray(low), np.asarray(high), width)):
        return []
    sd = (high - low) / 2 * np.sqrt(one.n_blocks) / float(t_critical(ratio.level, one.n_blocks - 1))
    gap = abs(abs(float(np.log(ratio.value))) - float(np.log1p(width)))
    k = np.arange(one.n_blocks + 1, MOST_BLOCKS + 1)
    enough = t_critical(ratio.level, k - 1) * sd / np.sqrt(k) <= gap
    return [int(k[int(np.argmax(enough))]) - one.n_blocks if enough.any() else None]
