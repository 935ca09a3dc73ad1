# SPDX-License-Identifier: Apache-2.0
"""From trials to leaves of a tree of results: a mean, a comparison, or that there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pandas as pd

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.estimates import nothing as nothing_of
from harness.analysis.stats.pairing import inputs_of, narrowed, unit_of
from harness.analysis.stats.summaries import SUMMED, summarised
from harness.model import Estimate
from harness.publish.results import NO_COMPARISON, Absent, Leaf, Tree


def each(
    trials: pd.DataFrame | None,
    names: Iterable[str],
    say: Callable[[pd.DataFrame], Leaf],
    nothing: Leaf,
    *,
    of: str = "variant",
) -> Mapping[str, Leaf]:
    """Return name -> what ``say`` makes of the trials that have it in the column ``of``; of none: ``nothing``."""
    found = {} if trials is None else {str(name): mine for name, mine in trials.groupby(of)}
    return {name: say(found[name]) if name in found else nothing for name in names}


def means(trials: pd.DataFrame | None, variants: Iterable[str], column: str) -> Mapping[str, Leaf]:
    """Return variant -> the mean of a column over its trials (see ``mean_of``)."""
    return each(trials, variants, lambda mine: mean_of(mine, column), Absent(unit=unit_of(column)))


def mean_of(trials: pd.DataFrame, column: str) -> Estimate:
    """Return the mean over trials: geometric, of log odds for a share, arithmetic without an interval where a trial
    has 0, or 100 % (:func:`harness.analysis.stats.means.mean_within`)."""
    if column not in trials or trials[column].isna().all():
        why = f"no trial has a {column}"
        return nothing_of(why, estimand=column, unit=unit_of(column), inputs=inputs_of(trials))
    return summarised(narrowed(trials, column, *SUMMED).assign(variant="all"), column)


def ratios(found: Sequence[Comparison], variants: Iterable[str], main: Mapping[str, str]) -> Tree:
    """Return variant -> its comparison with the reference in the main cell; where there are other cells, their
    comparisons as ``variant.factor-level.factor-level``."""
    leaves: dict[str, Leaf] = dict.fromkeys(variants, NO_COMPARISON)
    for one in found:
        elsewhere = () if one.levels == main else map("-".join, one.levels.items())
        leaves[".".join((one.variant, *elsewhere))] = one
    return leaves
