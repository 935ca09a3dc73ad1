# SPDX-License-Identifier: Apache-2.0
"""On how many verdicts would two sessions agree if nothing had changed? What sampling alone gives, from their power.

A verdict near its margin is decided in one session and not in the next: that is no contradiction, and how often it
happens follows from the widths of both intervals. If the true ratio is the same in both sessions, the mean of both log
ratios, weighted by precision, says all that they tell of it, and their difference is independent of that mean:
Student's t around 0, its scale from both standard errors (Welch's degrees of freedom). So the mean of each pair stays
as it was found, the difference is drawn anew, and the rule of :func:`harness.analysis.stats.verdicts.decide` is asked
again for both sessions. No assumption on the true ratios enters, and what is expected does not depend on how far apart
the two sessions were.

Held as they were: the widths of the intervals, margins, the adjustment of p over the family, and what bounded the
trials. The p is that of the paired t in place of sign flips. All variants share the trials of the reference, so half of
the variance of each difference is taken to be common to them; of one variant all metrics are taken to move together,
which gives the widest interval. ``harness verify agreement`` holds both, the mean and the interval, against simulated
sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log, sqrt

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import NDArray

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import t_critical, t_two_sided_p
from harness.analysis.stats.session_agreement import KINDS, Kind, SessionAgreement, kind_of_verdicts
from harness.analysis.stats.verdicts import Interval, decide, default_margin, smallest_p
from harness.model import Verdict
from harness.model.base import Frozen

Indices = NDArray[np.int64]
LEVEL = 0.95
#: Differences that each pair is asked at, of equal probability; and sessions that are drawn for the interval.
_STEPS, _DRAWS = 40, 4000


class ExpectedAgreement(Frozen):
    """Of so many pairs of verdicts: how many agree, in the mean and in 95 % of sessions, where nothing changed."""

    n: int
    agree: float
    low: int
    high: int
    contradict: float


@dataclass(frozen=True, kw_only=True)
class Side:
    """One comparison in one session: log ratio, its standard error, and what its verdict is decided by.

    ``margin``: as it was widened, a share; ``None``: nothing can be called equivalent. ``p_factor``: an adjusted p over
    the p itself; ``None``: there is none.
    """

    log_ratio: float
    error: float
    n_blocks: int
    margin: float | None
    n_family: int = 1
    p_factor: float | None = None
    not_about: str | None = None

    def verdict(self, log_ratio: float) -> Verdict:
        """Return what would have been said, had the log ratio been this."""
        p = None
        if self.p_factor is not None:
            p = float(t_two_sided_p(log_ratio / self.error, self.n_blocks - 1))
            p = min(1.0, max(p, smallest_p(self.n_blocks)) * self.p_factor)
        return decide(
            self._interval(log_ratio, 0.95),
            self._interval(log_ratio, 0.90),
            n_blocks=self.n_blocks,
            margin=self.margin or default_margin(""),
            noise=None if self.margin else float("inf"),
            p_adjusted=p,
            family_size=self.n_family,
            not_about=self.not_about,
        ).verdict

    def half_width(self, level: float) -> float:
        """Return half of the interval of the log ratio."""
        return self.error * _critical(level, self.n_blocks - 1)

    def _interval(self, log_ratio: float, level: float) -> Interval:
        half = self.half_width(level)
        return Interval(low=exp(log_ratio - half), high=exp(log_ratio + half))


@cache
def _critical(level: float, degrees: int) -> float:
    """Return ``t_critical``: it is asked for at every step of every pair."""
    return float(t_critical(level, degrees))


def expected_agreement(
    found: SessionAgreement, *, changed: bool = False, seed: int = 0
) -> ExpectedAgreement | None:
    """Return on how many verdicts two sessions of the same power would agree; ``None``: there are no such pairs.

    A pair of which one side has no interval stays what it is.

    Args:
        changed: of the programs that changed, as if they had not; else of those that are the same in both sessions.
    """
    pairs = [pair for pair in found.pairs if pair.changed == changed]
    kinds = []
    for pair in pairs:
        first, second = side_of(pair.first), side_of(pair.second)
        if first is None or second is None:
            kinds.append(np.full(_STEPS, KINDS.index(pair.kind), dtype=np.int64))
        else:
            kinds.append(kinds_of(first, second))
    cells = [tuple(sorted(pair.first.levels.items())) for pair in pairs]
    variants = [(pair.first.variant, cell) for pair, cell in zip(pairs, cells, strict=True)]
    return expected(kinds, cells, variants, seed=seed) if pairs else None


def kinds_of(first: Side, second: Side) -> Indices:
    """Return what the two are to each other at each step of their difference, as indices of ``KINDS``."""
    variances = first.error**2, second.error**2
    both = sum(variances)
    df = both**2 / sum(v**2 / (side.n_blocks - 1) for v, side in zip(variances, (first, second), strict=True))
    mean = (first.log_ratio * variances[1] + second.log_ratio * variances[0]) / both
    chance = (np.arange(_STEPS) + 0.5) / _STEPS
    found = []
    for difference in (sqrt(both) * scipy.special.stdtrit(df, chance)).tolist():
        a, b = mean + difference * variances[0] / both, mean - difference * variances[1] / both
        found.append(KINDS.index(kind_at(first, second, a, b)))
    return np.array(found, dtype=np.int64)


def kind_at(first: Side, second: Side, a: float, b: float) -> Kind:
    """Return what two comparisons would be to each other, had their log ratios been ``a`` and ``b``."""
    return kind_of_verdicts(
        first.verdict(a),
        second.verdict(b),
        same_side=(a > 0) == (b > 0),
        overlap=abs(a - b) <= first.half_width(LEVEL) + second.half_width(LEVEL),
    )


def expected(
    kinds: Sequence[Indices],
    cells: Sequence[object],
    variants: Sequence[object],
    *,
    seed: int = 0,
) -> ExpectedAgreement:
    """Return the mean number that agree, and between which numbers it is in 95 % of sessions.

    Args:
        kinds: of each pair, one or more, as ``kinds_of`` returns them.
        cells, variants: of each pair; those of one cell share the reference, those of one variant all trials.
    """
    rng = np.random.default_rng(seed)
    common = {one: rng.standard_normal(_DRAWS) for one in dict.fromkeys(cells)}
    own = {one: rng.standard_normal(_DRAWS) for one in dict.fromkeys(variants)}
    agree: Floats = np.zeros(_DRAWS)
    for mine, cell, variant in zip(kinds, cells, variants, strict=True):
        place = scipy.special.ndtr(sqrt(0.5) * (common[cell] + own[variant]))
        agree += (mine == _index("agree"))[np.minimum((place * _STEPS).astype(int), _STEPS - 1)]
    low, high = np.quantile(agree, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return ExpectedAgreement(
        n=len(kinds),
        agree=float(sum(np.mean(mine == _index("agree")) for mine in kinds)),
        low=int(low),
        high=int(high),
        contradict=float(sum(np.mean(mine == _index("contradict")) for mine in kinds)),
    )


def _index(kind: Kind) -> int:
    return KINDS.index(kind)


def side_of(one: Comparison) -> Side | None:
    """Return what decides a comparison; ``None``: its interval has no width."""
    value, low, high = one.ratio.value, one.ratio.low, one.ratio.high
    if value is None or low is None or high is None or not 0 < low < high:
        return None
    error = log(high / low) / 2 / _critical(one.ratio.level, one.n_blocks - 1)
    factor = one.p_adjusted / one.p_value if one.p_adjusted is not None and one.p_value else None
    return Side(
        log_ratio=log(value),
        error=error,
        n_blocks=one.n_blocks,
        margin=one.margin,
        n_family=one.n_family,
        p_factor=factor,
        not_about=one.not_about,
    )
