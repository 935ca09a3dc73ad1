# SPDX-License-Identifier: Apache-2.0
"""Several sessions of one question: whether their verdicts agree, how often they would, and a ratio's mean over them.

Two verdicts *contradict* when both cannot hold: opposite directions, or a difference beside an equivalence whose
intervals share no ratio. They *agree* when they say the same, and when both say that nothing that matters was found
(equivalent, and different but negligible). *One undecided*: all else.

A ratio over sessions (:func:`between_sessions`): random effects. The variance tau squared of the sessions' true ratios
is estimated by Paule and Mandel (1982); the interval of the mean is that of Hartung and Knapp (2001) and Sidik and
Jonkman (2002), never narrower than without tau. The range for another session is Student's prediction interval over the
logarithms of the measured ratios: the usual one (Higgins, Thompson and Spiegelhalter 2009) held 90 % in place of 95 %
for six sessions whose true ratios vary as much as their errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.inputs import Floats, fraction
from harness.analysis.stats.intervals import nothing, t_critical
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
        agreeing = [pair for pair in self.pairs if (pair.changed, pair.kind) == (changed, "agree")]
        return sum({pair.first.verdict, pair.second.verdict} <= set(_UNDECIDED) for pair in agreeing)

    def n(self, *, changed: bool = False) -> int:
        """Return how many pairs there are of the same programs, or of those that changed."""
        return sum(pair.changed == changed for pair in self.pairs)

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
    pairs = [
        VerdictPair(
            first=comparison, second=again, kind=kind_of(comparison, again),
            changed=not {comparison.variant, comparison.reference}.isdisjoint(changed),
        )
        for comparison in first
        if (again := by_place.get(_place(comparison))) is not None
    ]  # fmt: skip
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
    """Return what two verdicts are to each other; ``same_side``: both ratios are above 1, or neither is; ``overlap``:
    their 95 % intervals share a ratio."""
    verdicts = {first, second}
    if first == second and first in _UNDECIDED:
        return "agree"
    if verdicts & set(_UNDECIDED):
        return "one undecided"
    if verdicts <= set(_NEGLIGIBLE):
        return "agree"
    differ = verdicts <= set(_DIFFERENT)
    if same_side and differ:
        return "agree" if first == second else "one undecided"
    return "contradict" if differ or not overlap else "one undecided"


def _place(comparison: Comparison) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
    levels = tuple(sorted(comparison.levels.items()))
    return comparison.reference, comparison.variant, comparison.metric, levels


#: With one degree of freedom a prediction interval is without a meaning; with two it holds what it should.
FEWEST_TO_PREDICT = 3
METHOD = "random effects over sessions (Paule-Mandel, Hartung-Knapp)"
PREDICTION = "Student's prediction interval over sessions"


class BetweenSessions(Frozen):
    """The mean ratio over sessions, the range of the ratio in another session, and how much sessions differ."""

    mean: Estimate
    predicted: Estimate  # value: the mean; interval: of a ratio measured in another session
    i2: float = Field(ge=0, le=1)  # share of the variance between sessions that their own errors do not make


def between_sessions(
    ratios: ArrayLike, standard_errors: ArrayLike, *, estimand: str, level: float = 0.95, inputs: Sequence[str] = (),
    n_trials: int = 0,
) -> BetweenSessions:  # fmt: skip
    """Combine the ratio of each session. Raises InputError: fewer than two sessions, other shapes, or values that are
    not above 0.

    Args:
        ratios: one a session, shape (k,), above 0. standard_errors: of their logarithms, shape (k,), above 0.
        estimand: what the ratio is of. level: of both intervals.
    """
    fraction(level, "level")
    logs, errors = _checked(ratios, standard_errors)
    k = len(logs)
    tau2 = _paule_mandel(logs, errors)
    weights = 1 / (errors**2 + tau2)
    mean = float(np.average(logs, weights=weights))
    spread = float((weights * (logs - mean) ** 2).sum() / (k - 1))
    error = float(np.sqrt(max(1.0, spread) / weights.sum()))
    cochran = _squares(0.0, logs, errors)

    def estimate(centre: float, half: float, method: str, what: str) -> Estimate:
        about: dict[str, Any] = {"estimand": what, "level": level, "unit": "ratio", "n_trials": n_trials}
        about["inputs"] = tuple(inputs)
        if not np.isfinite(half):
            return nothing(f"{k} sessions: a prediction needs {FEWEST_TO_PREDICT}", **about)
        value, low, high = (float(np.exp(log)) for log in (centre, centre - half, centre + half))
        return Estimate(value=value, low=low, high=high, method=method, **about)

    critical = float(t_critical(level, k - 1))
    another = float(np.std(logs, ddof=1)) * float(np.sqrt(1 + 1 / k)) if k >= FEWEST_TO_PREDICT else np.nan
    whole, next_one = f"mean of {estimand} over {k} sessions", f"{estimand}, measured in another session"
    return BetweenSessions(
        mean=estimate(mean, critical * error, METHOD, whole),
        predicted=estimate(float(logs.mean()), critical * another, PREDICTION, next_one),
        i2=max(0.0, 1 - (k - 1) / cochran) if cochran > 0 else 0.0,
    )  # fmt: skip


def _squares(tau2: float, logs: Floats, errors: Floats) -> float:
    weights = 1 / (errors**2 + tau2)
    return float((weights * (logs - np.average(logs, weights=weights)) ** 2).sum())


def _paule_mandel(logs: Floats, errors: Floats) -> float:
    """Return the variance between sessions that makes the weighted squares as large as they are on average."""

    def surplus(tau2: float) -> float:
        return _squares(tau2, logs, errors) - (len(logs) - 1)

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
