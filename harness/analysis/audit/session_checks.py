# SPDX-License-Identifier: Apache-2.0
"""Is a session to be trusted? Equal against equal, and whether a metric followed the speed of the machine's CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used

from harness.analysis.stats import intervals
from harness.analysis.stats.aa_noise import AANoise, aa_noise
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import nothing, t_critical, t_two_sided_p
from harness.analysis.stats.pairing import inputs_of, require, split_excluded, split_missing
from harness.analysis.tables.resource_columns import SERVICE, at_other_speed
from harness.errors import InputError
from harness.model import Estimate, Frozen, Support

#: Fewer pairs than this have no variation to plan from.
FEWEST_PAIRS = 3


def leading_metric(trials: pd.DataFrame) -> str:
    """Return what a load can differ in: throughput where users wait, mean latency where arrivals come at a rate."""
    return "throughput_per_s" if (trials["load_model"] == "closed").any() else "latency_mean_s"


def equal_cells(trials: pd.DataFrame, factors: Sequence[str]) -> tuple[tuple[dict[str, str], AANoise], ...]:
    """Return the levels of each cell and the reference over its duplicate there, where ``FEWEST_PAIRS`` blocks hold
    both."""
    metric = leading_metric(trials)
    require(trials, metric, ("load_model", *factors))
    counted, _ = split_missing(split_excluded(trials)[0], metric)
    model = "closed" if metric == "throughput_per_s" else "open"
    usable = counted[(counted["load_model"] == model) & (counted[metric] > 0)]
    groups = usable.groupby(list(factors), sort=False) if factors else [((), usable)]
    cells = [(dict(zip(factors, map(str, key), strict=True)), aa_noise(cell, metric)) for key, cell in groups]
    return tuple((levels, noise) for levels, noise in cells if noise.n_blocks >= FEWEST_PAIRS)


#: Fewer equal trials than this cannot be dealt into two arms in a way that says anything.
FEWEST_EQUAL = 4
DRAWS = 4000


class EqualArms(Frozen):
    """Equal trials dealt into two arms again and again: how often a method sees a difference that is not there."""

    metric: str
    blocked: Estimate  # share of deals within blocks in which the paired interval excludes one
    #: first half of the session over its second half: what measuring one variant after the other would have
    #: said of two equal ones
    ordered: Estimate
    spread: Estimate  # coefficient of variation over equal trials


def equal_arms(trials: pd.DataFrame, metric: str) -> EqualArms:
    """Deal trials that differ in nothing but their name into two arms, within blocks, and count false alarms. Raises
    InputError: no such column, or fewer than ``FEWEST_EQUAL`` trials."""
    require(trials, metric, ())
    counted, _ = split_missing(split_excluded(trials)[0], metric)
    counted = counted.sort_values("position")
    if len(counted) < FEWEST_EQUAL or (counted[metric] <= 0).any():
        allowed = f"{FEWEST_EQUAL} or more, all above 0"
        raise InputError("too few equal trials", place=metric, found=len(counted), allowed=allowed)
    values, inputs = counted[metric].to_numpy(dtype=np.float64), inputs_of(counted)
    grouped = counted.groupby(["session_id", "block"])[metric]
    blocks = [np.log(block.to_numpy(np.float64)) for _, block in grouped]
    dealt = [block for block in blocks if len(block) >= 2]
    half = len(values) // 2
    ordered = effect_size_ci(
        values[:half], values[half:], paired=False, estimator="welch_log_t", inputs=inputs
    )
    spread = Estimate(
        value=float(np.std(np.log(values), ddof=1)), unit="relative", method="standard deviation of logarithms",
        estimand=f"spread of {metric} over equal trials", n_trials=len(counted), inputs=inputs,
    )  # fmt: skip
    estimand = f"{metric}: first half of the session over the second"
    return EqualArms(
        metric=metric, blocked=_false_alarms(dealt, inputs, metric),
        ordered=ordered.model_copy(update={"estimand": estimand}), spread=spread,
    )  # fmt: skip


def _false_alarms(blocks: list[Floats], inputs: tuple[str, ...], metric: str) -> Estimate:
    what = f"{metric}: deals of equal trials in which the paired interval excludes one"
    if len(blocks) < 3:
        why = f"{len(blocks)} blocks with two equal trials: too few"
        return nothing(why, estimand=what, unit="share")
    rng = np.random.default_rng(0)
    differences = []
    for block in blocks:  # each deal takes two trials of every block at random, in random order
        first = rng.integers(len(block), size=DRAWS)
        second = (first + rng.integers(1, len(block), size=DRAWS)) % len(block)
        differences.append(block[first] - block[second])
    deals = np.stack(differences, axis=1)
    bounds = intervals.student(deals, 0.95)
    alarms = int(np.count_nonzero((bounds.low > 0) | (bounds.high < 0)))
    low, high = scipy.stats.binomtest(alarms, DRAWS).proportion_ci(0.95, method="wilson")
    return Estimate(
        value=alarms / DRAWS, low=float(low), high=float(high), unit="share",
        method=f"{DRAWS} deals at random; the interval is of the deals, not of the trials", estimand=what,
        n_trials=sum(map(len, blocks)), seed=0, inputs=inputs,
    )  # fmt: skip


#: Degrees of freedom below which no interval is given.
FEWEST_DEGREES = 2


@dataclass(frozen=True, kw_only=True)
class Slope:
    """A least-squares slope with its t interval. ``p_value``: of no slope; ``None``: all points are on the line."""

    value: float
    low: float
    high: float
    p_value: float | None


def slope_within(
    x: Floats, y: Floats, groups: np.ndarray[tuple[int, ...], np.dtype[np.object_]], *, level: float = 0.95
) -> Slope | None:
    """Return the common slope of ``y`` over ``x`` within groups, shapes (n,), with its t interval (analysis of
    covariance). ``None``: fewer than ``FEWEST_DEGREES`` degrees of freedom are left, or no group has two different
    values of ``x``."""
    degrees = len(y) - len(set(groups)) - 1
    x, y = _centred(x, groups), _centred(y, groups)
    spread = float(x @ x)
    if degrees < FEWEST_DEGREES or spread <= 0:
        return None
    slope = float(x @ y) / spread
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / degrees / spread))
    wide = float(t_critical(level, degrees)) * error
    p_value = float(t_two_sided_p(slope / error, degrees)) if error > 0 else None
    return Slope(value=slope, low=slope - wide, high=slope + wide, p_value=p_value)


def _centred(values: Floats, groups: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> Floats:
    frame = pd.Series(values)
    return np.asarray((frame - frame.groupby(groups).transform("mean")).to_numpy(dtype=np.float64))


@dataclass(frozen=True, kw_only=True)
class SpeedResponse:
    """By how many percent a metric changes where the fixed calculation takes one percent more CPU time."""

    elasticity: Estimate


def speed_response(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> SpeedResponse | None:
    """Return how a metric followed the speed of the service's CPUs: slope of logarithms within variants; ``None``: not
    read. ``trials``: of one session under one load; those excluded for their speed count here."""
    known = trials[(~trials["excluded"].astype(bool) | at_other_speed(trials)) & trials[SERVICE].notna()]
    known = known[known[metric] > 0]
    if known.empty:
        return None
    what = f"percent by which {metric} changes where a fixed calculation takes one percent more CPU time"
    x, y = (np.log(known[name].to_numpy(dtype=np.float64)) for name in (SERVICE, metric))
    line = slope_within(x, y, known["variant"].to_numpy(dtype=object), level=level)
    elasticity = nothing("too few trials of each variant", estimand=what, unit="1", level=level)
    if line is not None:
        elasticity = Estimate(
            value=line.value, low=line.low, high=line.high, level=level, unit="1", support=Support.REAL,
            method="line through logarithms within variants", estimand=what, n_trials=len(known),
            inputs=inputs_of(known),
        )  # fmt: skip
    return SpeedResponse(elasticity=elasticity)
