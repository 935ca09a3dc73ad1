# SPDX-License-Identifier: Apache-2.0
"""Rows of effects: of factors together, of a step within blocks, and of a slow core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from harness.analysis.audit.session_checks import speed_response
from harness.analysis.stats.factor_effects import Interaction
from harness.analysis.stats.factor_effects import interactions as interactions_of
from harness.analysis.stats.intervals import t_critical
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
    levels = [factor for factor in factors if factor != "variant"]
    labels = dict(zip(trials["variant"], trials["label"], strict=True))
    rows = []
    for key, cell in trials.groupby(list(by), sort=False) if by else [((), trials)]:
        place = dict(zip(by, map(str, key), strict=True))
        effects = interactions_of(cell, metric, factors) if cell[metric].notna().any() else ()
        rows += [_row(effect, name, metric) | effect.levels | place for effect in effects]
    for row in rows:
        row["label"] = labels.get(row.get("variant"))
    return stack(empty(*levels, *(factor for factor in by if factor != "variant")), tidy(rows))


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


def block_mean(values: pd.Series[float], *, level: float = 0.95, **about: Any) -> dict[str, Any]:
    """Return the record of the mean of one number a block, with Student's interval: of differences, which may be
    negative.

    Args:
        about: further columns, such as the name of the result and its inputs.
    """
    n, mean = len(values), float(values.mean())
    half = (
        float(t_critical(level, n - 1)) * float(values.to_numpy().std(ddof=1)) / n**0.5
        if n > 1
        else float("nan")
    )
    return {
        "kind": "mean", "value": mean, "low": mean - half, "high": mean + half, "level": level, "unit": "",
        "method": "mean of differences within blocks, Student's t", "n_trials": 2 * n, "n_blocks": n, "warnings": [],
        **about,
    }  # fmt: skip


def elasticities(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> pd.DataFrame:
    """Return by how many percent a metric grows where a fixed calculation on the service's CPU takes one percent
    longer, for each variant; one whose trials do not tell is left out."""
    rows = []
    for variant, own in trials.groupby("variant", sort=False):
        response = speed_response(own, metric, level=level) if "service_step_s" in own else None
        if response is not None and response.elasticity.value is not None:
            about = {"metric": metric, "variant": variant, "label": own["label"].iloc[0]}
            rows.append(of_estimate(response.elasticity, name="elasticity", kind="fit", **about))
    return tidy(rows)
