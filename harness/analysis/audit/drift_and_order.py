# SPDX-License-Identifier: Apache-2.0
"""Is this very session to be trusted? Equal arms, the order of trials, and drift; its arithmetic: ``trial_checks``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used
from pydantic import Field

from harness.analysis.audit.slopes import slope_within
from harness.analysis.stats import intervals
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.pairing import inputs_of, require, split_excluded, split_missing
from harness.errors import InputError
from harness.model import Estimate, Frozen

#: Fewer equal trials than this cannot be dealt into two arms in a way that says anything.
FEWEST_EQUAL = 4
DRAWS = 4000


class EqualArms(Frozen):
    """Equal trials dealt into two arms again and again: how often a method sees a difference that is not there."""

    metric: str
    blocked: Estimate = Field(
        description="share of deals within blocks in which the paired interval excludes one"
    )
    ordered: Estimate = Field(
        description="first half of the session over its second half: what measuring one variant after the "
        "other would have said of two equal ones"
    )
    spread: Estimate = Field(description="coefficient of variation over equal trials")
    n_trials: int
    n_blocks: int


class Drift(Frozen):
    """How a metric moves with the place of a trial in the session, all configurations together."""

    metric: str
    over_session: Estimate = Field(description="factor from the first trial to the last")
    p_value: float | None


def equal_arms(trials: pd.DataFrame, metric: str, *, level: float = 0.95, seed: int = 0) -> EqualArms:
    """Deal trials that differ in nothing but their name into two arms, within blocks, and count false alarms.

    Args:
        trials: of one experiment whose variants are all equal (``aa``), duplicates included.

    Raises:
        InputError: no such column, or fewer than ``FEWEST_EQUAL`` trials.
    """
    require(trials, metric, ())
    kept, _ = split_missing(split_excluded(trials)[0], metric)
    kept = kept.sort_values("position")
    if len(kept) < FEWEST_EQUAL or (kept[metric] <= 0).any():
        raise InputError(
            "too few equal trials",
            place=metric,
            found=len(kept),
            allowed=f"{FEWEST_EQUAL} or more, all above 0",
        )
    values = kept[metric].to_numpy(dtype=np.float64)
    logs = [
        np.log(block[metric].to_numpy(dtype=np.float64)) for _, block in kept.groupby(["session_id", "block"])
    ]
    dealt = [block for block in logs if len(block) >= 2]
    half = len(values) // 2
    ordered = effect_size_ci(
        values[:half],
        values[half:],
        paired=False,
        estimator="welch_log_t",
        level=level,
        inputs=inputs_of(kept),
    )
    return EqualArms(
        metric=metric,
        blocked=_false_alarms(dealt, level, seed, inputs_of(kept), metric),
        ordered=ordered.model_copy(
            update={"estimand": f"{metric}: first half of the session over the second"}
        ),
        spread=Estimate(
            value=float(np.std(np.log(values), ddof=1)),
            unit="relative",
            method="standard deviation of logarithms",
            estimand=f"spread of {metric} over equal trials",
            n_trials=len(kept),
            inputs=inputs_of(kept),
        ),
        n_trials=len(kept),
        n_blocks=len(dealt),
    )


def drift(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> Drift:
    """Return the factor by which a metric moved from the first trial to the last, by a line through logarithms.

    Each configuration is taken relative to its own mean, so that their order does not matter; the t interval
    counts the means that were taken.

    Raises:
        InputError: no such column.
    """
    require(trials, metric, ())
    kept, _ = split_missing(split_excluded(trials)[0], metric)
    kept = kept[kept[metric] > 0]
    n, what = len(kept), f"{metric}: factor from the first trial to the last"
    x = kept["position"].to_numpy(dtype=np.float64)
    found = None
    if n:
        found = slope_within(
            (x - x.min()) / max(float(np.ptp(x)), 1.0),
            np.log(kept[metric].to_numpy(dtype=np.float64)),
            kept["configuration"].to_numpy(dtype=object),
            level=level,
        )
    if found is None:
        return Drift(
            metric=metric,
            over_session=nothing("too few trials of each configuration", estimand=what, unit="ratio"),
            p_value=None,
        )
    return Drift(
        metric=metric,
        over_session=Estimate(
            value=float(np.exp(found.value)),
            low=float(np.exp(found.low)),
            high=float(np.exp(found.high)),
            level=level,
            unit="ratio",
            method="line through logarithms within configurations",
            estimand=what,
            n_trials=n,
            inputs=inputs_of(kept),
        ),
        p_value=found.p_value,
    )


def _false_alarms(
    blocks: list[Floats], level: float, seed: int, inputs: tuple[str, ...], metric: str
) -> Estimate:
    what = f"{metric}: deals of equal trials in which the paired interval excludes one"
    if len(blocks) < 3:
        why = f"{len(blocks)} blocks with two equal trials: too few"
        return nothing(why, estimand=what, unit="share")
    rng = np.random.default_rng(seed)
    # Each deal takes two trials of every block at random, in random order.
    deals = np.stack([_pairs(block, rng) for block in blocks], axis=1)
    bounds = intervals.student(deals, level)
    alarms = int(np.count_nonzero((bounds.low > 0) | (bounds.high < 0)))
    low, high = scipy.stats.binomtest(alarms, DRAWS).proportion_ci(level, method="wilson")
    return Estimate(
        value=alarms / DRAWS, low=float(low), high=float(high), level=level, unit="share",
        method=f"{DRAWS} deals at random; the interval is of the deals, not of the trials", estimand=what,
        n_trials=sum(map(len, blocks)), seed=seed, inputs=inputs,
    )  # fmt: skip


def _pairs(block: Floats, rng: np.random.Generator) -> Floats:
    """Differences of two different trials of a block, one for each deal, shape (DRAWS,)."""
    first = rng.integers(len(block), size=DRAWS)
    second = (first + rng.integers(1, len(block), size=DRAWS)) % len(block)
    return np.asarray(block[first] - block[second])
