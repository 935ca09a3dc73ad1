# SPDX-License-Identifier: Apache-2.0
"""Whether a measured number fulfils a predicate: it does, it does not, or that cannot be said; and by how much.

A ratio is judged by the rule of every comparison (:func:`harness.analysis.stats.verdicts.decide`), held against the
predicate's limit in the place of 1. A value is judged by its interval alone, and a fact of files as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nextafter
from typing import Literal

from harness.analysis.stats.comparisons import Comparison, WithOthers
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
from harness.model.claim import Above, Below, Near, Predicate
from harness.model.digits import whole_percent
from harness.model.formatting import NOT_ABOUT
from harness.questions.claims.measured import Measured

Outcome = Literal["holds", "fails", "undecided", "not testable"]
#: How a measured ratio stands to the published one, where it is not about the same.
Size = Literal["weaker", "stronger", "reversed"]
#: A ratio this many times as far from 1 as the published one, or one over this, is another size.
OTHER_SIZE = 2.0

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
    low, high = found.estimate.low, found.estimate.high
    if found.fact or found.not_about is not None or low is None or high is None:
        return _without_interval(predicate, found)
    comparison, n = found.comparison, found.n_measured
    if n < FEWEST_FOR_P:
        return Judgement(outcome="undecided", why=f"{n} blocks, fewer than {FEWEST_FOR_P}")
    if comparison is None:
        return _of_value(predicate, low, high)
    judged = _of_ratio(predicate, comparison, comparison, n, p_adjusted, n_family)
    if comparison.beside is not None:
        # without the young trials and with them: what they turn is undecided
        other = _of_ratio(predicate, comparison, comparison.beside, n, p_adjusted, n_family)
        if other.outcome != judged.outcome:
            return replace(judged, outcome="undecided", why=f"{judged.outcome} without its young trials only")
    return judged


def _without_interval(predicate: Predicate, found: Measured) -> Judgement:
    """Judge what no interval speaks of: a fact, a time below its resolution, or nothing that can be judged."""
    value = found.estimate.value
    if found.not_about is not None:
        return Judgement(outcome="undecided", why=f"{NOT_ABOUT}: {found.not_about}")
    if found.fact and value is not None:
        return Judgement(
            outcome="holds" if predicate.holds(value) else "fails", why="a fact of files or of a build"
        )
    if found.below is not None:
        judged = _of_value(predicate, 0.0, nextafter(found.below, 0.0))
        return replace(judged, why="less than the windows of the warm-up tell apart")
    return Judgement(outcome="undecided", why="; ".join(found.estimate.warnings) or "no interval")


def _of_ratio(
    predicate: Predicate,
    comparison: Comparison,
    ratios: Comparison | WithOthers,
    n_blocks: int,
    p_adjusted: float | None,
    n_family: int,
) -> Judgement:
    """Judge the ratio of a comparison, or that with the trials which it leaves out."""
    one_sided = not isinstance(predicate, Near)
    ratio, equivalence = (over(one, predicate.limit) for one in (ratios.ratio, ratios.equivalence))
    said = decide(
        ratio,
        equivalence,
        n_blocks=n_blocks,
        margin=predicate.margin,
        noise=comparison.noise.noise,
        p_adjusted=p_adjusted if one_sided else None,
        family_size=n_family,
        alike_by=comparison.alike_by,
    )
    equal = said.verdict in _EQUAL
    # the margin may have been widened to the noise: what is equal by that alone is neither near nor apart
    noise_alone = equal and verdict(ratio, equivalence, margin=predicate.margin) not in _EQUAL
    if noise_alone:
        outcome: Outcome = "undecided"
    elif one_sided:
        outcome = _one_sided(predicate, ratios.ratio.value or 0.0, said)
    else:
        outcome = _near(predicate, ratio, said)
    why = _noise_words(said) if noise_alone else _why(outcome, said)
    alike_by = comparison.alike_by
    if alike_by is not None and not _stands_farther_from_1(outcome, predicate, ratios.ratio):
        outcome, why = "undecided", f"the ratio of the services is farther from 1: {alike_by}"
    return Judgement(
        outcome=outcome,
        why=why,
        margin=said.margin,
        p_adjusted=said.p_adjusted if one_sided else None,
        n_family=n_family if one_sided else 0,
    )


def size_of(predicate: Predicate, published: float | None, ratio: Estimate, outcome: Outcome) -> Size | None:
    """Return how a measured ratio stands to the published one; ``None``: about the same, or it cannot be said.

    Distances are those from 1, of a half as of twice. *Weaker* and *stronger*: it holds, and its whole interval is less
    than half as far from 1 as the published ratio, or more than twice as far, on the side that is claimed. *Reversed*:
    it fails, and its whole interval lies beyond the margin on the other side of 1 than the published ratio, or the
    limit where no ratio was printed.
    """
    if ratio.low is None or ratio.high is None:
        return None
    low, high = sorted((_from_1(ratio.low), _from_1(ratio.high)))
    if outcome == "fails":
        side = _side(predicate, published)
        least = min(-side * low, -side * high)
        return "reversed" if side and least > predicate.margin else None
    if outcome != "holds" or published is None or isinstance(predicate, Near):
        return None
    sign = 1 if isinstance(predicate, Above) else -1
    least, most = sorted((sign * low, sign * high))
    claimed = sign * _from_1(published)
    if claimed <= 0:
        return None
    return "weaker" if most < claimed / OTHER_SIZE else "stronger" if least > claimed * OTHER_SIZE else None


def _side(predicate: Predicate, published: float | None) -> int:
    """Return on which side of 1 a ratio is claimed to be: 1 above, -1 below, 0 on neither."""
    if published is not None:
        distance = _from_1(published)
        return 0 if abs(distance) <= predicate.margin else 1 if distance > 0 else -1
    if isinstance(predicate, Above):
        return int(predicate.limit >= 1)
    return -int(isinstance(predicate, Below) and predicate.limit <= 1)


def _from_1(ratio: float) -> float:
    """Return how far a ratio is from 1: 1 of twice, -1 of a half."""
    return ratio - 1 if ratio >= 1 else 1 - 1 / ratio


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
