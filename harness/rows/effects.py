# SPDX-License-Identifier: Apache-2.0
"""Rows of the effects of factors together: does one effect depend on the level of another factor?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from harness.analysis.stats.factor_effects import Interaction
from harness.analysis.stats.factor_effects import interactions as interactions_of
from harness.model import Verdict
from harness.rows.results import of_estimate
from harness.rows.schema import empty, stack, tidy


def interactions(
    trials: pd.DataFrame, metric: str, name: str, factors: Sequence[str], *, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Return ratios of ratios over blocks, of every pair of factors: 1 where one effect is the same at both levels.

    The levels of a row are those in the numerators; each is against the first one in ``trials``.

    Args:
        factors: columns of levels; ``variant`` may be one of them. by: each combination of these on its own.
    """
    others = [factor for factor in factors if factor != "variant"]
    labels = dict(zip(trials["variant"], trials["label"], strict=True))
    rows = []
    for key, cell in trials.groupby(list(by), sort=False) if by else [((), trials)]:
        place = dict(zip(by, map(str, key), strict=True))
        effects = interactions_of(cell, metric, factors) if cell[metric].notna().any() else ()
        rows += [_row(effect, name, metric) | effect.levels | place for effect in effects]
    for row in rows:
        row["label"] = labels.get(row.get("variant"))
    return stack(empty(*others, *(factor for factor in by if factor != "variant")), tidy(rows))


def _row(effect: Interaction, name: str, metric: str) -> dict[str, Any]:
    """Return the record of an effect; one that was found is *different*, any other inconclusive."""
    verdict = Verdict.DIFFERENT if effect.shown else Verdict.INCONCLUSIVE
    row = of_estimate(effect.ratio, name=name, kind="ratio", metric=metric)
    return row | {
        "reference": ", ".join(effect.against.values()),
        "verdict": str(Verdict.NOT_ABOUT_SERVICES if effect.not_about else verdict),
        "p": effect.p_adjusted,
        "n_blocks": effect.n_blocks,
        "why": effect.not_about or row["why"],
    }
