# SPDX-License-Identifier: Apache-2.0
"""Whether a measured number fulfils a predicate: it does, it does not, or that cannot be said.

A ratio is judged by the rule of every comparison (:func:`harness.analysis.stats.verdicts.decide`), held against the
predicate's limit in the place of 1. A value is judged by its interval alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from harness.analysis.stats.verdicts import (
    ALPHA,
    FEWEST_FOR_P,
    Decision,
    adjust_pvalues,
    decide,
    equivalence_band,
    verdict,
)
from harness.model import Estimate, Verdict
from harness.model.claim import Above, Near, Predicate
from harness.model.digits import whole_percent
from harness.model.formatting import NOT_ABOUT
from harness.questions.claims.measured import Measured

Outcome = Literal["holds", "fails", "undecided", "not testable"]

_EQUAL = (Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """``margin``: what counted as negligible; ``p_adjusted``: over the ``n_family`` numbers of its family."""

    outcome: Outcome
    why: str
    margin: float | None = None
    p_adjusted: float | None = None
    n_family: int = 0


def judge(predicate: Predicate, found: Measured, *, p_adjusted: float | None, n_family: int) -> Judgement:
    """Return whether a measured number fulfils its predicate.

    Args:
        p_adjusted: of the ratio against the limit, over its family; None: none was computed.
        n_family: how many p-values the family has.
    """
    if found.not_about is not None:
        return Judgement(outcome="undecided", why=f"{NOT_ABOUT}: {found.not_about}")
    if found.estimate.value is None or found.estimate.low is None or found.estimate.high is None:
        why = "; ".join(found.estimate.warnings) or "no interval"
        return Judgement(outcome="undecided", why=why)
    if found.n < FEWEST_FOR_P:
        return Judgement(outcome="undecided", why=f"{found.n} blocks, fewer than {FEWEST_FOR_P}")
    if found.comparison is None:
        return _of_value(predicate, found.estimate.low, found.estimate.high)
    one_sided = not isinstance(predicate, Near)
    ratio = over(found.comparison.ratio, predicate.limit)
    equivalence = over(found.comparison.equivalence, predicate.limit)
    said = decide(
        ratio,
        equivalence,
        n_blocks=found.comparison.n_blocks,
        margin=predicate.margin,
        noise=found.comparison.noise.noise,
        p_adjusted=p_adjusted if one_sided else None,
        family_size=n_family,
        alike_by=found.comparison.alike_by,
    )
    equal = said.verdict in _EQUAL
    # the margin may have been widened to the noise: what is equal by that alone is neither near nor apart
    noise_alone = equal and verdict(ratio, equivalence, margin=predicate.margin) not in _EQUAL
    if noise_alone:
        outcome: Outcome = "undecided"
    else:
        outcome = (
            _one_sided(predicate, found.estimate.value, said) if one_sided else _near(predicate, ratio, said)
        )
    why = _noise_words(said) if noise_alone else _why(outcome, said)
    alike_by = found.comparison.alike_by
    if alike_by is not None and not _stands_farther_from_1(outcome, predicate, found.comparison.ratio):
        outcome, why = "undecided", f"the ratio of the services is farther from 1: {alike_by}"
    return Judgement(
        outcome=outcome,
        why=why,
        margin=said.margin,
        p_adjusted=said.p_adjusted if one_sided else None,
        n_family=n_family if one_sided else 0,
    )


def _stands_farther_from_1(outcome: Outcome, predicate: Predicate, ratio: Estimate) -> bool:
    """Return whether an outcome would be the same of any ratio that is farther from 1 than the measured one."""
    if outcome == "undecided" or ratio.low is None or ratio.high is None:
        return True
    low, high = (0.0 if ratio.low <= 1 else ratio.low), (inf if ratio.high >= 1 else ratio.high)
    return _of_value(predicate, low, high).outcome == outcome


def over(ratio: Estimate, limit: float) -> Estimate:
    """Return the estimate of a ratio over a limit."""
    if limit == 1.0:
        return ratio
    changed = {
        name: None if bound is None else bound / limit
        for name, bound in (("value", ratio.value), ("low", ratio.low), ("high", ratio.high))
    }
    return ratio.model_copy(update={**changed, "estimand": f"{ratio.estimand}, over {limit:g}"})


def family_p(numbers: Sequence[tuple[str, Predicate, Measured]]) -> Mapping[int, tuple[float | None, int]]:
    """Return place in ``numbers`` -> adjusted p-value (Holm) and size of the family.

    Numbers: family, predicate and what was measured. Equivalence has no p-value here, nor has a number that does
    not speak of the services.
    """
    found: dict[int, tuple[float | None, int]] = {}
    for family in dict.fromkeys(name for name, _, _ in numbers):
        mine = [
            (place, None if isinstance(predicate, Near) or one.not_about is not None else one.p_value)
            for place, (name, predicate, one) in enumerate(numbers)
            if name == family
        ]
        adjusted = adjust_pvalues([p for _, p in mine], method="holm")
        size = sum(p is not None for _, p in mine)
        found |= {place: (p, size) for (place, _), p in zip(mine, adjusted, strict=True)}
    return found


def _one_sided(predicate: Predicate, value: float, said: Decision) -> Outcome:
    if said.verdict in _EQUAL:
        return "fails"
    if said.verdict is not Verdict.DIFFERENT:
        return "undecided"
    return "holds" if (value > predicate.limit) == isinstance(predicate, Above) else "fails"


def _near(predicate: Predicate, ratio: Estimate, said: Decision) -> Outcome:
    """Different is not enough to be outside of the margin: the interval has to leave that out."""
    if said.verdict in _EQUAL:
        return "holds"
    band = equivalence_band(said.margin or predicate.margin)
    if band is None or ratio.low is None or ratio.high is None:
        return "undecided"
    return "fails" if ratio.low > band[1] or ratio.high < band[0] else "undecided"


def _noise_words(said: Decision) -> str:
    return f"within what equal trials differ by, {whole_percent(said.margin or 0)}, and not within the claim's margin"


def _of_value(predicate: Predicate, low: float, high: float) -> Judgement:
    if isinstance(predicate, Near):
        least, greatest = predicate.band
        holds, fails = least <= low and high <= greatest, low > greatest or high < least
    elif isinstance(predicate, Above):
        holds, fails = low > predicate.limit, high < predicate.limit
    else:
        holds, fails = high < predicate.limit, low > predicate.limit
    outcome: Outcome = "holds" if holds else "fails" if fails else "undecided"
    return Judgement(outcome=outcome, why=_INTERVAL[outcome], margin=predicate.margin)


_INTERVAL = {
    "holds": "the 95 % interval fulfils it",
    "fails": "the 95 % interval excludes it",
    "undecided": "the 95 % interval allows both",
}


def _why(outcome: Outcome, said: Decision) -> str:
    if outcome == "undecided" and said.p_adjusted is not None and said.p_adjusted > ALPHA:
        return "different on its own, not within its family"
    if outcome == "undecided" and said.why_not_equivalent is not None:
        return f"{_INTERVAL[outcome]}; nothing is called equivalent: {said.why_not_equivalent}"
    if outcome == "fails" and said.verdict in _EQUAL:
        return "the 90 % interval lies within the margin of the limit"
    if outcome == "holds" and said.verdict in _EQUAL:
        return "the 90 % interval lies within the margin"
    return _INTERVAL[outcome]
