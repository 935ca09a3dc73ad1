# SPDX-License-Identifier: Apache-2.0
"""How many blocks a session needs, and the smallest ratio that so many tell from 1, from its own pairs.

The spread of the log ratio is itself an estimate, of few pairs: the stated power is an average over what it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import Floats, arms, fraction
from harness.analysis.stats.intervals import CONSTANT, nothing, t_critical
from harness.analysis.stats.pairing import inputs_of, pair_by_block, require, split_excluded, split_missing
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.model import Estimate
from harness.model.base import Frozen
from harness.model.digits import whole_percent

POWER, LEVEL = 0.8, 0.95
BLOCKS = (5, 10, 20)
#: Fewer pairs than this say nothing of their spread.
FEWEST_PAIRS = 3
#: Beyond so many standard errors every test finds the effect.
_SURE = 30.0


class Detectable(Frozen):
    """What a session of ``n_blocks`` blocks tells of one pair."""

    n_blocks: int
    ratio: Estimate  # at least 1; a ratio below 1 is told from its inverse on


class PowerCurve(Frozen):
    """One pair of arms in one metric: the spread within blocks, and the smallest ratio by blocks."""

    variant: str
    reference: str
    twice: bool  # the reference against its own duplicate
    sd_log_ratio: float | None  # within blocks; None: too few pairs
    n_pairs: int
    smallest: tuple[Detectable, ...]


def detectable_ratio(a: ArrayLike, b: ArrayLike, *, n_blocks: int, inputs: tuple[str, ...] = ()) -> Estimate:
    """Return the smallest ratio above 1 that ``n_blocks`` blocks tell from 1 at 95 % in ``POWER`` of sessions.

    Args:
        a, b: both arms, one positive value per block each, shapes (k,). n_blocks: planned, 2 or more.
    """
    if n_blocks < 2:
        raise InputError("one block tells no ratio", place="n_blocks", found=n_blocks, allowed="2 or more")
    logs = _log_ratios(a, b)
    share = whole_percent(POWER)
    about: dict[str, Any] = {
        "method": "power of the paired t", "n_trials": 2 * logs.size, "inputs": inputs, "unit": "ratio",
        "estimand": f"smallest ratio told from 1 by {n_blocks} blocks in {share} of sessions",
    }  # fmt: skip
    if logs.size < FEWEST_PAIRS:
        return nothing(f"{logs.size} pairs: fewer than {FEWEST_PAIRS} say nothing of their spread", **about)
    sd, df = float(logs.std(ddof=1)), logs.size - 1
    if sd == 0:
        return nothing(CONSTANT, **about)
    low, high = (sd * np.sqrt(df / scipy.special.chdtri(df, (1 + s * LEVEL) / 2)) for s in (-1, 1))
    sure, size = effect(None, n_blocks), sd * effect(df, n_blocks)
    value, low, high = (float(np.exp(log_ratio)) for log_ratio in (size, low * sure, high * sure))
    return Estimate(value=value, low=low, high=high, level=LEVEL, **about)


def _log_ratios(a: ArrayLike, b: ArrayLike) -> Floats:
    left, right = arms(a, b, paired=True)
    if min(left.min(), right.min()) <= 0:
        raise InputError("a log ratio needs positive values", found="zero or less", allowed="above 0")
    return np.asarray(np.log(left / right))


def power_curve(
    trials: pd.DataFrame, metric: str, *, reference: str, blocks: Sequence[int] = BLOCKS
) -> tuple[PowerCurve, ...]:
    """Return the curve of every pair that a session has: first the reference with its duplicate, then every variant.

    Args:
        trials: one row per trial, of one cell. blocks: numbers of blocks that are asked for.
    """
    require(trials, metric, ())
    counted, _ = split_missing(split_excluded(trials)[0], metric)
    duplicate = counted["duplicate"].astype(bool)
    plain, again = counted[~duplicate], counted[duplicate]
    base = plain[plain["variant"] == reference]
    pairs = [(reference, again[again["variant"] == reference])]
    pairs += [(str(n), plain[plain["variant"] == n]) for n in plain["variant"].unique() if n != reference]
    curves = []
    for variant, arm in pairs:
        a, b, _ = pair_by_block(arm, base)
        x, y = (frame[metric].to_numpy(dtype=np.float64) for frame in (a, b))
        if not x.size or min(x.min(), y.min()) <= 0:
            continue
        inputs = inputs_of(pd.concat([a, b]))
        ratios = {n: detectable_ratio(x, y, n_blocks=n, inputs=inputs) for n in blocks}
        curve = PowerCurve(
            variant=variant, reference=reference, twice=variant == reference, n_pairs=x.size,
            sd_log_ratio=float(np.log(x / y).std(ddof=1)) if x.size >= FEWEST_PAIRS else None,
            smallest=tuple(Detectable(n_blocks=n, ratio=ratio) for n, ratio in ratios.items()),
        )  # fmt: skip
        curves.append(curve)
    return tuple(curves)


@cache
def effect(df: int | None, n_blocks: int) -> float:
    """Return the detectable log ratio in standard deviations of one block's log ratio.

    Args:
        df: degrees of freedom of the standard deviation; ``None``: it is known. n_blocks: of the planned session.
    """
    chances, steps = _power_table(n_blocks - 1)
    if df is None:
        spread = np.ones(1)
    else:  # what the estimated deviation may be over the true one, in equal shares
        shares = (np.arange(400) + 0.5) / 400
        spread = np.sqrt(scipy.special.chdtri(df, 1 - shares) / df)

    def short_of(size: float) -> float:
        return POWER - float(np.interp(size * spread * np.sqrt(n_blocks), steps, chances).mean())

    low, high = 0.0, 1.0
    while short_of(high) > 0:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if short_of(middle) > 0 else (low, middle)
    return high


@cache
def _power_table(df: int) -> tuple[Floats, Floats]:
    """Return the power of the two-sided t at each distance in standard errors, and these distances."""
    steps = np.linspace(0.0, _SURE, 1501)
    t = float(t_critical(LEVEL, df))
    chances = 1 - scipy.special.nctdtr(df, steps, t) + scipy.special.nctdtr(df, steps, -t)
    # far out the series of the library loses its digits; the power only grows
    return np.maximum.accumulate(np.where(np.isfinite(chances), chances, 1.0)), steps


MOST_BLOCKS = 100_000


def plan_repetitions(a: ArrayLike, b: ArrayLike, *, half_width: float = 0.02) -> int:
    """Return how many blocks make the half-width of the ratio's interval ``half_width`` (a share) or less, by a pilot.
    Raises InputError: a pilot of one block, or not positive; or no practical number of blocks is enough.

    Args:
        a, b: one positive value per block each, shapes (k,), k of 2 or more.
    """
    logs = _log_ratios(a, b)
    if logs.size < 2:
        raise InputError("a pilot of one block has no variation", found="1 block", allowed="about 5")
    return blocks_for(float(logs.std(ddof=1)), half_width)


def blocks_for(sd_log_ratio: float, half_width: float = 0.02) -> int:
    """Return the fewest blocks (5 or more) with t sd / sqrt(k) <= log(1 + half_width). Raises InputError: none."""
    k = np.arange(FEWEST_FOR_P, MOST_BLOCKS)
    widths = t_critical(LEVEL, k - 1) / np.sqrt(k) * sd_log_ratio
    enough = widths <= np.log1p(fraction(half_width, "half_width"))
    if not enough.any():
        raise InputError(
            "no practical number of blocks is enough", found=f"standard deviation {sd_log_ratio:.3g}",
            allowed="a wider half_width",
        )  # fmt: skip
    return FEWEST_FOR_P + int(np.argmax(enough))
