# SPDX-License-Identifier: Apache-2.0
"""The smallest ratio that a session of so many blocks tells from 1: its power curve, from its own pairs.

The spread of the log ratio within the blocks of one session says what the next session can tell. It is itself an
estimate, of few pairs; the ratio is set so that the chance of a detection, averaged over what so few pairs may say of
the spread, is the stated power. So it holds on average over sessions, and for known spread it is the usual one of the
noncentral t.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.estimates import CONSTANT, nothing
from harness.analysis.stats.inputs import Floats, arms, fraction
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.pairing import (
    inputs_of,
    narrowed,
    pair_by_block,
    require,
    split_excluded,
    split_missing,
)
from harness.errors import InputError
from harness.model import Estimate
from harness.model.base import Frozen
from harness.model.digits import whole_percent

POWER = 0.8
BLOCKS = (5, 10, 20)
#: Fewer pairs than this say nothing of their spread.
FEWEST_PAIRS = 3
_METHOD = "power of the paired t"
#: Beyond so many standard errors every test finds the effect.
_SURE = 30.0


class Detectable(Frozen):
    """What a session of ``n_blocks`` blocks tells of one pair."""

    n_blocks: int
    ratio: Estimate = Field(description="at least 1; a ratio below 1 is told from its inverse on")


class PowerCurve(Frozen):
    """One pair of arms in one metric and cell: the spread within blocks, and the smallest ratio by blocks."""

    metric: str
    variant: str
    reference: str
    twice: bool = Field(description="the reference against its own duplicate")
    levels: dict[str, str]
    sd_log_ratio: float | None = Field(description="within blocks; None: too few pairs")
    n_pairs: int
    smallest: tuple[Detectable, ...]

    def at(self, n_blocks: int) -> Estimate | None:
        """Return the smallest ratio at this number of blocks; ``None``: it was not asked for."""
        return next((one.ratio for one in self.smallest if one.n_blocks == n_blocks), None)


def detectable_ratio(
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_blocks: int,
    power: float = POWER,
    level: float = 0.95,
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the smallest ratio above 1 that ``n_blocks`` blocks tell from 1 in a share ``power`` of sessions.

    The interval is that of the spread: chi-squared, for the same ``n_blocks``.

    Args:
        a, b: both arms of a session that was measured, one positive value per block each, shapes (k,).
        n_blocks: of the session that is planned, 2 or more.
        level: of the interval of the ratio that decides, and of the one that is returned.

    Raises:
        InputError: arms of different length, values that are not positive, or fewer than two blocks planned.
    """
    fraction(power, "power")
    fraction(level, "level")
    if n_blocks < 2:
        raise InputError("one block tells no ratio", place="n_blocks", found=n_blocks, allowed="2 or more")
    left, right = arms(a, b, paired=True)
    if min(left.min(), right.min()) <= 0:
        raise InputError("a log ratio needs positive values", found="zero or less", allowed="above 0")
    says = _Smallest(f"{n_blocks} blocks", _METHOD, power, level, 2 * left.size, inputs)
    if left.size < FEWEST_PAIRS:
        return says.nothing(f"{left.size} pairs: fewer than {FEWEST_PAIRS} say nothing of their spread")
    sd, df = float(np.log(left / right).std(ddof=1)), left.size - 1
    if sd == 0:
        return says.nothing(CONSTANT)
    low, high = (sd * np.sqrt(df / scipy.special.chdtri(df, (1 + s * level) / 2)) for s in (-1, 1))
    sure = effect(None, n_blocks, power, level)
    return says.ratio(sd * effect(df, n_blocks, power, level), low * sure, high * sure)


class _Smallest(NamedTuple):
    """What every estimate of a smallest ratio has."""

    by: str
    method: str
    power: float
    level: float
    n_trials: int
    inputs: tuple[str, ...]

    def ratio(self, log_ratio: float, low: float | None = None, high: float | None = None) -> Estimate:
        return Estimate(
            value=float(np.exp(log_ratio)),
            low=None if low is None else float(np.exp(low)),
            high=None if high is None else float(np.exp(high)),
            level=self.level,
            unit="ratio",
            method=self.method,
            estimand=self._estimand,
            n_trials=self.n_trials,
            inputs=self.inputs,
        )

    def nothing(self, why: str) -> Estimate:
        return nothing(
            why, method=self.method, estimand=self._estimand, unit="ratio", n_trials=self.n_trials,
            level=self.level, inputs=self.inputs,
        )  # fmt: skip

    @property
    def _estimand(self) -> str:
        return f"smallest ratio told from 1 by {self.by} in {whole_percent(self.power)} of sessions"


def power_curve(
    trials: pd.DataFrame,
    metric: str,
    *,
    reference: str,
    by: Sequence[str] = (),
    blocks: Sequence[int] = BLOCKS,
    power: float = POWER,
    level: float = 0.95,
) -> tuple[PowerCurve, ...]:
    """Return the curve of every pair that a session has: the reference with its duplicate, every variant with it.

    Args:
        trials: one row per trial. metric: a numeric column of it. reference: the variant that the others are
            compared with. by: factor columns; each combination of their values has its own pairs.
        blocks: the numbers of blocks that are asked for.

    Returns:
        In each cell the duplicate first, then the variants in order of appearance; pairs of which no block has both
        arms are left out.

    Raises:
        InputError: unknown column; several trials of one variant in one block and cell.
    """
    require(trials, metric, by)
    kept, _ = split_missing(split_excluded(narrowed(trials, metric, "source", *by))[0], metric)
    cells = kept.groupby(list(by), sort=False, observed=True) if by else [((), kept)]
    found = []
    for key, cell in cells:
        duplicate = cell["duplicate"].astype(bool)
        plain, again = cell[~duplicate], cell[duplicate]
        ours = plain[plain["variant"] == reference]
        pairs = [(reference, again[again["variant"] == reference])]
        pairs += [(str(n), plain[plain["variant"] == n]) for n in plain["variant"].unique() if n != reference]
        for variant, arm in pairs:
            a, b, _ = pair_by_block(arm, ours, wide=trials)
            x, y = (one[metric].to_numpy(dtype=np.float64) for one in (a, b))
            if not x.size or min(x.min(), y.min()) <= 0:
                continue
            inputs = inputs_of(pd.concat([a, b]))
            smallest = tuple(
                Detectable(
                    n_blocks=n,
                    ratio=detectable_ratio(x, y, n_blocks=n, power=power, level=level, inputs=inputs),
                )
                for n in blocks
            )
            found.append(
                PowerCurve(
                    metric=metric,
                    variant=variant,
                    reference=reference,
                    twice=variant == reference,
                    levels=dict(zip(by, map(str, key), strict=True)),
                    sd_log_ratio=float(np.log(x / y).std(ddof=1)) if x.size >= FEWEST_PAIRS else None,
                    n_pairs=x.size,
                    smallest=smallest,
                )
            )
    return tuple(found)


def unpaired_curve(
    trials: pd.DataFrame,
    metric: str,
    *,
    reference: str,
    blocks: Sequence[int] = BLOCKS,
    power: float = POWER,
    level: float = 0.95,
) -> tuple[Detectable, ...]:
    """Return what two arms of so many trials each would tell if their blocks were not used: Student's two-sample t.

    All trials of the reference and its duplicate are taken for one sample, so whatever moved over the session is in
    their spread. It is what random blocks gain that this is held against.

    Args:
        trials: of one cell. blocks: trials of each arm. Others as for :func:`power_curve`.

    Raises:
        InputError: unknown column.
    """
    require(trials, metric, ())
    kept, _ = split_missing(split_excluded(narrowed(trials, metric, "source"))[0], metric)
    mine = kept[(kept["variant"] == reference) & (kept[metric] > 0)]
    logs = np.log(mine[metric].to_numpy(dtype=np.float64))
    found = []
    for n in blocks:
        says = _Smallest(
            f"{n} trials an arm", "power of the two-sample t", power, level, logs.size, inputs_of(mine)
        )
        sd = float(logs.std(ddof=1)) if logs.size > FEWEST_PAIRS else 0.0
        ratio = (
            says.nothing("too few trials, or no variation between them")
            if sd == 0
            else says.ratio(sd * effect(logs.size - 1, n, power, level, two_samples=True))
        )
        found.append(Detectable(n_blocks=n, ratio=ratio))
    return tuple(found)


@cache
def effect(
    df: int | None, n_blocks: int, power: float = POWER, level: float = 0.95, *, two_samples: bool = False
) -> float:
    """Return the detectable log ratio in standard deviations of one block's log ratio.

    Args:
        df: degrees of freedom of the standard deviation; ``None``: it is known.
        n_blocks: of the planned session.
        two_samples: the arms are not paired: the standard deviation is that of one trial's logarithm.
    """
    test_df = 2 * (n_blocks - 1) if two_samples else n_blocks - 1
    chances, steps = _power_table(test_df, level)
    errors = np.sqrt(n_blocks / 2 if two_samples else n_blocks)
    if df is None:
        spread = np.ones(1)
    else:  # what the estimated deviation may be over the true one, in equal shares
        shares = (np.arange(400) + 0.5) / 400
        spread = np.sqrt(scipy.special.chdtri(df, 1 - shares) / df)

    def short_of(size: float) -> float:
        return power - float(np.interp(size * spread * errors, steps, chances).mean())

    low, high = 0.0, 1.0
    while short_of(high) > 0:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if short_of(middle) > 0 else (low, middle)
    return high


@cache
def _power_table(df: int, level: float) -> tuple[Floats, Floats]:
    """Return the power of the two-sided t at each distance in standard errors, and these distances."""
    steps = np.linspace(0.0, _SURE, 1501)
    t = float(t_critical(level, df))
    chances = 1 - scipy.special.nctdtr(df, steps, t) + scipy.special.nctdtr(df, steps, -t)
    # far out the series of the library loses its digits; the power only grows
    return np.maximum.accumulate(np.where(np.isfinite(chances), chances, 1.0)), steps
