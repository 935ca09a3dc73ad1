# SPDX-License-Identifier: Apache-2.0
"""Several sessions of one question: whether their verdicts agree, how often they would, and a ratio's mean over them.

Two verdicts *contradict* when both cannot hold: opposite directions, or a difference beside an equivalence whose
intervals share no ratio. They *agree* when they say the same, and when both say that nothing that matters was found
(equivalent, and different but negligible). *One undecided*: all else.

What sampling alone gives (:func:`expected_agreement`): if the true ratio is the same in both sessions, the mean of
both log ratios, weighted by precision, says all that they tell of it, and their difference is independent of it:
Student's t around 0 with Welch's degrees of freedom. The mean of each pair stays, the difference is drawn anew, and
:func:`harness.analysis.stats.verdicts.decide` is asked again for both sessions, with the p of the paired t and all else
as it was. All variants share the trials of the reference, so half of the variance of each difference is common to them;
of one variant all metrics are taken to move together, which gives the widest interval.

A ratio over sessions (:func:`between_sessions`): random effects. The variance tau squared of the sessions' true ratios
is estimated by Paule and Mandel (1982); the interval of the mean is that of Hartung and Knapp (2001) and Sidik and
Jonkman (2002), never narrower than without tau. The range for another session is Student's prediction interval over the
logarithms of the measured ratios: the usual one (Higgins, Thompson and Spiegelhalter 2009) held 90 % in place of 95 %
for six sessions whose true ratios vary as much as their errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log, sqrt
from typing import Any, Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.inputs import Floats, fraction
from harness.analysis.stats.intervals import nothing, t_critical, t_two_sided_p
from harness.analysis.stats.verdicts import Interval, decide, default_margin, smallest_p
from harness.errors import InputError
from harness.model import Estimate, Verdict
from harness.model.base import Frozen

Kind = Literal["agree", "one undecided", "contradict"]
KINDS: tuple[Kind, ...] = ("agree", "one undecided", "contradict")

_NEGLIGIBLE = (Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)
_DIFFERENT = (Verdict.DIFFERENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)
_UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.NOT_ABOUT_SERVICES)


class VerdictPair(Frozen):
    """One variant in one metric at one cell, in both sessions; ``changed``: of other programs in the second."""

    first: Comparison
    second: Comparison
    kind: Kind
    changed: bool


class SessionAgreement(Frozen):
    """Every verdict that both sessions have. ``changed``: variants that were another program in the other session."""

    pairs: tuple[VerdictPair, ...]
    changed: tuple[str, ...]

    def counts(self, *, changed: bool = False) -> dict[Kind, int]:
        """Return how many pairs are of each kind, 0 included: of the same programs, or of those that changed."""
        result = Counter(pair.kind for pair in self.pairs if pair.changed == changed)
        return {kind: result[kind] for kind in KINDS}

    def n_undecided_in_both(self, *, changed: bool = False) -> int:
        """Return how many pairs agree only in that neither session decides: they tell nothing of the services."""
        return sum(
            {pair.first.verdict, pair.second.verdict} <= set(_UNDECIDED)
            for pair in self.pairs
            if pair.changed == changed and pair.kind == "agree"
        )

    def n(self, *, changed: bool = False) -> int:
        """Return how many pairs there are of the same programs, or of those that changed."""
        return sum(self.counts(changed=changed).values())

    @property
    def share(self) -> float | None:
        """Share of the pairs of the same programs that agree; ``None``: there are none."""
        return self.counts()["agree"] / self.n() if self.n() else None


def agreement(
    first: Sequence[Comparison], second: Sequence[Comparison], *, changed: Collection[str] = ()
) -> SessionAgreement:
    """Set the verdicts of two sessions side by side; comparisons that only one of them has are left out.

    Args:
        first, second: at most one comparison of each variant, metric and cell.
        changed: variants whose program, or whose reference's, is not the same in both.
    """
    by_place = {_place(comparison): comparison for comparison in second}
    pairs = []
    for comparison in first:
        again = by_place.get(_place(comparison))
        if again is not None:
            differs = bool({comparison.variant, comparison.reference} & set(changed))
            kind = kind_of(comparison, again)
            pairs.append(VerdictPair(first=comparison, second=again, kind=kind, changed=differs))
    compared = {name for pair in pairs for name in (pair.first.variant, pair.first.reference)}
    return SessionAgreement(pairs=tuple(pairs), changed=tuple(name for name in changed if name in compared))


def kind_of(first: Comparison, second: Comparison) -> Kind:
    """Return what two comparisons on one question are to each other."""
    a, b = first.ratio, second.ratio
    ends = (a.low, a.high, b.low, b.high)
    overlap = None in ends or (a.low <= b.high and b.low <= a.high)  # type: ignore[operator]  # none of them is None
    same_side = ((a.value or 0.0) > 1) == ((b.value or 0.0) > 1)
    return kind_of_verdicts(first.verdict, second.verdict, same_side=same_side, overlap=overlap)


def kind_of_verdicts(first: Verdict, second: Verdict, *, same_side: bool, overlap: bool) -> Kind:
    """Return what two verdicts are to each other.

    Args:
        same_side: both ratios are above 1, or neither is. overlap: their 95 % intervals share a ratio.
    """
    verdicts = (first, second)
    if first == second and first in _UNDECIDED:
        return "agree"
    if any(verdict in _UNDECIDED for verdict in verdicts):
        return "one undecided"
    if all(verdict in _NEGLIGIBLE for verdict in verdicts):
        return "agree"
    if same_side and all(verdict in _DIFFERENT for verdict in verdicts):
        return "agree" if first == second else "one undecided"
    if all(verdict in _DIFFERENT for verdict in verdicts) or not overlap:
        return "contradict"
    return "one undecided"


def _place(comparison: Comparison) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
    levels = tuple(sorted(comparison.levels.items()))
    return comparison.reference, comparison.variant, comparison.metric, levels


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
            self._interval(log_ratio, 0.95), self._interval(log_ratio, 0.90), n_blocks=self.n_blocks,
            margin=self.margin or default_margin(""), noise=None if self.margin else float("inf"), p_adjusted=p,
            family_size=self.n_family, not_about=self.not_about,
        ).verdict  # fmt: skip

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
    sessions: SessionAgreement, *, changed: bool = False, seed: int = 0
) -> ExpectedAgreement | None:
    """Return on how many verdicts two sessions of the same power would agree; ``None``: there are no such pairs.

    A pair of which one side has no interval stays what it is.

    Args:
        changed: of the programs that changed, as if they had not; else of those that are the same in both sessions.
    """
    pairs = [pair for pair in sessions.pairs if pair.changed == changed]
    kinds = []
    for pair in pairs:
        first, second = side_of(pair.first), side_of(pair.second)
        unmoved = np.full(_STEPS, KINDS.index(pair.kind), dtype=np.int64)
        kinds.append(unmoved if first is None or second is None else kinds_of(first, second))
    cells = [tuple(sorted(pair.first.levels.items())) for pair in pairs]
    variants = [(pair.first.variant, cell) for pair, cell in zip(pairs, cells, strict=True)]
    return expected(kinds, cells, variants, seed=seed) if pairs else None


def kinds_of(first: Side, second: Side) -> Indices:
    """Return what the two are to each other at each step of their difference, as indices of ``KINDS``."""
    variances = first.error**2, second.error**2
    variance = sum(variances)
    df = variance**2 / sum(
        v**2 / (side.n_blocks - 1) for v, side in zip(variances, (first, second), strict=True)
    )
    mean = (first.log_ratio * variances[1] + second.log_ratio * variances[0]) / variance
    chance = (np.arange(_STEPS) + 0.5) / _STEPS
    results = []
    for difference in (sqrt(variance) * scipy.special.stdtrit(df, chance)).tolist():
        a, b = mean + difference * variances[0] / variance, mean - difference * variances[1] / variance
        results.append(KINDS.index(kind_at(first, second, a, b)))
    return np.array(results, dtype=np.int64)


def kind_at(first: Side, second: Side, a: float, b: float) -> Kind:
    """Return what two comparisons would be to each other, had their log ratios been ``a`` and ``b``."""
    return kind_of_verdicts(
        first.verdict(a),
        second.verdict(b),
        same_side=(a > 0) == (b > 0),
        overlap=abs(a - b) <= first.half_width(LEVEL) + second.half_width(LEVEL),
    )


def expected(
    kinds: Sequence[Indices], cells: Sequence[object], variants: Sequence[object], *, seed: int = 0
) -> ExpectedAgreement:
    """Return the mean number that agree, and between which numbers it is in 95 % of sessions.

    Args:
        kinds: of each pair, one or more, as ``kinds_of`` returns them.
        cells, variants: of each pair; those of one cell share the reference, those of one variant all trials.
    """
    rng = np.random.default_rng(seed)
    common = {item: rng.standard_normal(_DRAWS) for item in dict.fromkeys(cells)}
    own = {item: rng.standard_normal(_DRAWS) for item in dict.fromkeys(variants)}
    agree: Floats = np.zeros(_DRAWS)
    for of_pair, cell, variant in zip(kinds, cells, variants, strict=True):
        place = scipy.special.ndtr(sqrt(0.5) * (common[cell] + own[variant]))
        agree += (of_pair == KINDS.index("agree"))[np.minimum((place * _STEPS).astype(int), _STEPS - 1)]
    low, high = np.quantile(agree, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    n_agree, _, n_contradict = (
        float(sum(np.mean(of_pair == place) for of_pair in kinds)) for place in range(len(KINDS))
    )
    return ExpectedAgreement(
        n=len(kinds), agree=n_agree, low=int(low), high=int(high), contradict=n_contradict
    )


def side_of(comparison: Comparison) -> Side | None:
    """Return what decides a comparison; ``None``: its interval has no width."""
    value, low, high = comparison.ratio.value, comparison.ratio.low, comparison.ratio.high
    if value is None or low is None or high is None or not 0 < low < high:
        return None
    p, adjusted, n_blocks = comparison.p_value, comparison.p_adjusted, comparison.n_blocks
    return Side(
        log_ratio=log(value), error=log(high / low) / 2 / _critical(comparison.ratio.level, n_blocks - 1),
        n_blocks=n_blocks, margin=comparison.margin, n_family=comparison.n_family,
        p_factor=adjusted / p if adjusted is not None and p else None, not_about=comparison.not_about,
    )  # fmt: skip


#: With fewer sessions the degrees of freedom of a prediction interval leave it without a meaning.
FEWEST_TO_PREDICT = 4
METHOD = "random effects over sessions (Paule-Mandel, Hartung-Knapp)"
PREDICTION = "Student's prediction interval over sessions"


class BetweenSessions(Frozen):
    """The mean ratio over sessions, the range of the ratio in another session, and how much sessions differ."""

    mean: Estimate
    predicted: Estimate  # value: the mean; interval: of a ratio measured in another session
    tau: float = Field(ge=0, description="standard deviation of the sessions' true log ratios")
    i2: float = Field(
        ge=0, le=1, description="share of the variance between sessions that their own errors do not make"
    )
    n_sessions: int


def between_sessions(
    ratios: ArrayLike,
    standard_errors: ArrayLike,
    *,
    estimand: str,
    level: float = 0.95,
    inputs: Sequence[str] = (),
    n_trials: int = 0,
) -> BetweenSessions:
    """Combine the ratio of each session.

    Args:
        ratios: one a session, shape (k,), above 0. standard_errors: of their logarithms, shape (k,), above 0.
        estimand: what the ratio is of. level: of both intervals.

    Raises:
        InputError: fewer than two sessions, other shapes, or values that are not above 0.
    """
    fraction(level, "level")
    logs, errors = _checked(ratios, standard_errors)
    k = len(logs)
    tau2 = _paule_mandel(logs, errors)
    weights = 1 / (errors**2 + tau2)
    mean = float(np.average(logs, weights=weights))
    spread = float((weights * (logs - mean) ** 2).sum() / (k - 1))
    error = float(np.sqrt(max(1.0, spread) / weights.sum()))
    fixed = 1 / errors**2
    cochran = float((fixed * (logs - np.average(logs, weights=fixed)) ** 2).sum())

    about: dict[str, Any] = {"level": level, "unit": "ratio", "n_trials": n_trials, "inputs": tuple(inputs)}

    def estimate(centre: float, half: float, method: str, what: str) -> Estimate:
        if not np.isfinite(half):
            why = f"{k} sessions: a prediction needs {FEWEST_TO_PREDICT}"
            return nothing(why, estimand=what, **about)
        value, low, high = (float(np.exp(log)) for log in (centre, centre - half, centre + half))
        return Estimate(value=value, low=low, high=high, method=method, estimand=what, **about)

    critical = float(t_critical(level, k - 1))
    another = float(np.std(logs, ddof=1)) * float(np.sqrt(1 + 1 / k)) if k >= FEWEST_TO_PREDICT else np.nan
    return BetweenSessions(
        mean=estimate(mean, critical * error, METHOD, f"mean of {estimand} over {k} sessions"),
        predicted=estimate(
            float(logs.mean()), critical * another, PREDICTION, f"{estimand}, measured in another session"
        ),
        tau=float(np.sqrt(tau2)),
        i2=max(0.0, 1 - (k - 1) / cochran) if cochran > 0 else 0.0,
        n_sessions=k,
    )


def _paule_mandel(logs: Floats, errors: Floats) -> float:
    """Return the variance between sessions that makes the weighted squares as large as they are on average."""

    def surplus(tau2: float) -> float:
        weights = 1 / (errors**2 + tau2)
        centre = np.average(logs, weights=weights)
        return float((weights * (logs - centre) ** 2).sum()) - (len(logs) - 1)

    if surplus(0.0) <= 0:
        return 0.0
    upper = float(np.var(logs, ddof=1)) + 1e-12
    while surplus(upper) > 0:
        upper *= 2
    return float(scipy.optimize.brentq(surplus, 0.0, upper, xtol=1e-16))


def _checked(ratios: ArrayLike, standard_errors: ArrayLike) -> tuple[Floats, Floats]:
    values, errors = (np.asarray(given, dtype=np.float64) for given in (ratios, standard_errors))
    if values.shape != errors.shape or values.ndim != 1 or len(values) < 2:
        raise InputError(
            "ratios and standard errors are not of the same sessions", found=f"{values.shape} and {errors.shape}",
            allowed="two sequences of one length, of at least two sessions",
        )  # fmt: skip
    for name, given in (("ratio", values), ("standard error", errors)):
        wrong = given[~(np.isfinite(given) & (given > 0))]
        if len(wrong):
            raise InputError(f"a {name} that is not above 0", found=str(wrong[0]), allowed="above 0")
    return np.log(values), errors
