# SPDX-License-Identifier: Apache-2.0
"""Rows of several sessions: trials of one place against trials of another, which share no blocks; and the same ratio in
several sessions, its mean and the range in another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.stats.aa_noise import aa_noise, noise_of
from harness.analysis.stats.about_services import condition_of, latency_of_tool, not_about_services
from harness.analysis.stats.ages import of_one_age
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.stats.session_agreement import between_sessions
from harness.analysis.stats.verdicts import FEWEST_FOR_P, decide, default_margin
from harness.model import Estimate, Verdict
from harness.rows.results import age_in, of_estimate
from harness.rows.schema import empty, stack, tidy


def between(
    trials: pd.DataFrame,
    metric: str,
    name: str,
    *,
    factor: str,
    base: str,
    again: str | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return each level of a factor over ``base`` within each variant, trial against trial: Welch's t of logarithms.

    For levels of which each is a session of its own. What changed on the machine between two sessions counts as the
    level's, so no margin is below what the level ``again`` differs from ``base``, nor below the noise within ``base``.

    Args:
        again: the level that is ``base`` measured once more; ``None``: it was not.
    """
    twins = aa_noise(trials[trials[factor] == base], metric)
    known = [twins.noise] if twins.noise is not None and twins.n_blocks >= FEWEST_FOR_P else []
    rows: list[dict[str, Any]] = []
    for variant, cell in counting(trials).dropna(subset=[metric]).groupby("variant", sort=False):
        arms = {str(place): arm for place, arm in cell.groupby(factor, sort=False)}
        if base not in arms:
            continue
        noises = [*known]
        if again in arms and min(len(arms[again]), len(arms[base])) >= FEWEST_FOR_P:
            drift = noise_of(_ratio(arms[again], arms[base], metric, 0.90))
            noises += [] if drift is None else [drift]
        noise = max(noises, default=None)
        about = {"variant": variant, "label": cell["label"].iloc[0], "reference": base}
        rows += [
            _row(arm, arms[base], metric, noise, level) | about | {"name": name, factor: place}
            for place, arm in arms.items()
            if place != base
        ]
    return stack(empty(factor), tidy(rows))


def _row(
    arm: pd.DataFrame, base: pd.DataFrame, metric: str, noise: float | None, level: float
) -> dict[str, Any]:
    """Return the record of one arm over another."""
    if condition_of(metric) is not None:
        arm, base = of_one_age(arm), of_one_age(base)
    n = min(len(arm), len(base))
    not_about = not_about_services(arm, base, metric)
    part = latency_of_tool(arm, base, metric)
    ratio, inner = (_ratio(arm, base, metric, each) for each in (level, 0.90))
    decision = decide(
        ratio, inner, n_blocks=n, margin=default_margin(metric), noise=noise, not_about=not_about,
        alike_by=None if part is None else part.why_not_equivalent,
    )  # fmt: skip
    row = of_estimate(ratio, kind="ratio", metric=metric)
    return row | {
        "verdict": str(decision.verdict),
        "margin": decision.margin,
        "n_blocks": n,
        "age": age_in(arm, metric),
        "reference_age": age_in(base, metric),
        "why": not_about or row["why"],
    }


def _ratio(arm: pd.DataFrame, base: pd.DataFrame, metric: str, level: float) -> Estimate:
    values = [each[metric].to_numpy(dtype=np.float64) for each in (arm, base)]
    inputs = inputs_of(pd.concat([arm, base]))
    return effect_size_ci(*values, paired=False, estimator="welch_log_t", level=level, inputs=inputs)


def over_sessions(ratios: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Return for each result and variant the mean ratio over sessions, the range in another one, and I squared.

    A ratio without an interval, of fewer blocks than a verdict needs, or not about the services, is left out, and so
    is what has fewer than two sessions then. The standard error of a session is that of its own interval: Student's,
    over its blocks. ``ratios``: rows of :func:`harness.rows.compare`, one a session for each result and variant.
    """
    usable = ratios[
        ratios["low"].notna()
        & (ratios["n_blocks"] >= FEWEST_FOR_P)
        & (ratios["verdict"] != Verdict.NOT_ABOUT_SERVICES)
        & (ratios["variant"] != ratios["reference"])
    ]
    rows = []
    for (name, _), arms in usable.groupby(["name", "variant"], sort=False):
        if len(arms) < 2:
            continue
        logs = np.log(arms[["low", "high"]].to_numpy(dtype=np.float64))
        critical = t_critical(float(arms["level"].iloc[0]), arms["n_blocks"].to_numpy(dtype=np.float64) - 1)
        combined = between_sessions(
            arms["value"].to_numpy(dtype=np.float64),
            (logs[:, 1] - logs[:, 0]) / (2 * critical),
            estimand=str(arms["estimand"].iloc[0]),
            level=level,
            inputs=[trial for inputs in arms["inputs"] for trial in inputs],
            n_trials=int(arms["n_trials"].sum()),
        )
        about = {part: arms[part].iloc[0] for part in ("name", "variant", "metric", "label", "reference")}
        about["n_blocks"] = int(arms["n_blocks"].sum())
        mean = of_estimate(combined.mean, **about, kind="between")
        i2 = mean | {"kind": "share", "name": f"{name}_i2", "value": combined.i2, "unit": "share"}
        i2 |= {
            "estimand": "share of the variance between sessions that their own errors do not make (I squared)"
        }
        predicted = of_estimate(combined.predicted, **about, kind="predicted")
        rows += [mean, predicted, i2 | dict.fromkeys(("low", "high"))]
    return stack(tidy(rows))
