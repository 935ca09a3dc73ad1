# SPDX-License-Identifier: Apache-2.0
"""What a comparison says: one rule for verdict, margin and p-value; adjusted p-values and grades.

:func:`decide` is the rule. Tables, figures and texts print what it returns and add nothing of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from pydantic import Field

from harness.analysis.stats.inputs import Floats
from harness.errors import InputError
from harness.model import Estimate, Verdict
from harness.model.base import Frozen

Grade = Literal["too few", "exploratory", "confirmatory"]
Family = Literal["exploratory", "confirmatory"]

#: Below this number of blocks no p-value is printed; from the second on a claim may be confirmatory.
FEWEST_FOR_P = 5
FEWEST_FOR_CONFIRMATORY = 10

#: What counts as negligible where nothing else is said: a share of the reference.
DEFAULT_MARGIN = 0.05
TAIL_MARGIN = 0.10
#: Memory within this is called equal, as a share; within the noise between equal trials, where that is larger.
MEMORY_MARGIN = 0.10
#: A margin widened to more than this would call things equal that nobody would.
MOST_NOISE = 0.25
#: Error rate of the two-sided statements: 95 % intervals, adjusted p-values.
ALPHA = 0.05


class HasInterval(Protocol):
    """All of an estimate that a verdict is decided by: the ends of its interval."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


class Interval(NamedTuple):
    """The ends of an interval that no estimate was made of."""

    low: float
    high: float


class Decision(Frozen):
    """What a comparison says, and what may be printed beside it."""

    verdict: Verdict
    margin: float | None = Field(
        description="what counts as negligible, as a share; None: nothing can be called equivalent here"
    )
    why_not_equivalent: str | None = Field(
        description="why nothing can be called equivalent; None: something can"
    )
    p_adjusted: float | None = Field(
        description="adjusted over its family; None where no adjusted p of so few blocks is below .05 for sure"
    )

    @property
    def band(self) -> tuple[float, float] | None:
        """The ratios that count as equivalent; ``None``: there are none, and no band is drawn."""
        return equivalence_band(self.margin)

    def margin_note(self, wanted: float, *, noise: str, alike_by: str | None = None) -> str | None:
        """Return why the margin is not the wanted one, or there is none, in words; ``None``: it is.

        Args:
            wanted, alike_by: as ``decide`` was told. noise: what the noise is called that a margin is widened to.
        """
        if self.why_not_equivalent is not None:
            if self.why_not_equivalent == alike_by:
                return f"the ratio of the services is farther from 1: {alike_by}"
            return f"too noisy to call anything equivalent: {self.why_not_equivalent}"
        if self.margin is not None and self.margin > wanted:
            return f"margin widened from {wanted:.1%} to {noise}, {self.margin:.1%}"
        return None


def decide(
    ratio: HasInterval,
    equivalence: HasInterval,
    *,
    n_blocks: int,
    margin: float,
    noise: float | None = None,
    p_adjusted: float | None = None,
    family_size: int = 1,
    not_about: str | None = None,
    p_has_least: bool = True,
    alike_by: str | None = None,
) -> Decision:
    """Return verdict, margin and p-value of one comparison, from the same rule.

    The margin is ``margin``, or the noise of the reference against itself where that is larger. Noise above
    25 %, fewer than five blocks, and ``alike_by`` allow no margin: nothing is called equivalent.
    *Different*: at least five blocks, the 95 % interval leaves out 1, and the adjusted p, where there is one, is
    at most .05. *Equivalent*: the 90 % interval lies within the margin. *Different but negligible*: both.
    *Inconclusive*: neither. There is an adjusted p only where :func:`p_can_tell`.
    *Not about the services*: whatever the intervals are, where ``not_about`` says what else bounded the trials
    (:mod:`harness.analysis.stats.about_services`); no p then either.

    Args:
        ratio: with its 95 % interval. equivalence: the same ratio with its 90 % interval.
        n_blocks: pairs of trials. margin: wanted, as a share. noise: as a share; None: not measured.
        p_adjusted: of sign flips, adjusted over ``family_size`` comparisons; None: none was made.
        not_about: why the ratio does not speak of the services; None: it does.
        alike_by: what else than the services makes both alike; None: nothing does.
        p_has_least: so few blocks cannot give a smaller p, as with sign flips; false: the p is of a t test.

    Raises:
        InputError: the margin is not positive and finite.
    """
    check_margin(margin)
    widened = margin if noise is None else max(margin, noise)
    why = None
    if n_blocks < FEWEST_FOR_P:
        why = f"{n_blocks} blocks, fewer than {FEWEST_FOR_P}"
    elif widened > max(margin, MOST_NOISE):
        why = f"noise {widened * 100:.0f} %, above {MOST_NOISE * 100:.0f} %"
    else:
        why = alike_by
    tells = p_can_tell(n_blocks, family_size) if p_has_least else n_blocks >= FEWEST_FOR_P
    p = p_adjusted if tells and not_about is None else None
    different = n_blocks >= FEWEST_FOR_P and _leaves_out_one(ratio) and (p is None or p <= ALPHA)
    equivalent = why is None and _within(equivalence, widened)
    return Decision(
        verdict=_VERDICTS[different, equivalent] if not_about is None else Verdict.NOT_ABOUT_SERVICES,
        margin=widened if why is None else None,
        why_not_equivalent=why,
        p_adjusted=p,
    )


def smallest_p(n_blocks: int) -> float:
    """Return the smallest two-sided p of sign flips over so many blocks: all of one sign, 2 in 2^n."""
    return min(1.0, float(2.0 ** (1 - n_blocks)))


def p_can_tell(n_blocks: int, family_size: int) -> bool:
    """Return whether blocks that all point one way give an adjusted p of at most .05, whatever the rest of the
    family says: the smallest p of sign flips, times the number of comparisons. Five blocks never do (1 in 16)."""
    return n_blocks >= FEWEST_FOR_P and smallest_p(n_blocks) * max(family_size, 1) <= ALPHA


def equivalence_band(margin: float | None) -> tuple[float, float] | None:
    """Return the ratios that a margin calls equivalent, ``(1 / (1 + margin), 1 + margin)``; no margin: ``None``."""
    return None if margin is None else (1 / (1 + margin), 1 + margin)


_VERDICTS = {
    (True, True): Verdict.DIFFERENT_BUT_NEGLIGIBLE,
    (True, False): Verdict.DIFFERENT,
    (False, True): Verdict.EQUIVALENT,
    (False, False): Verdict.INCONCLUSIVE,
}


def adjust_pvalues(
    p_values: Sequence[float | None], *, method: Literal["holm", "bh"] = "holm"
) -> tuple[float | None, ...]:
    """Return p-values adjusted over their family, in the same order; ``None`` stays and is not counted.

    ``holm`` bounds the chance of any false claim (confirmatory claims); ``bh`` the share of false
    ones among those made (the exploratory grid; Benjamini & Hochberg 1995).

    Raises:
        InputError: a p-value outside [0, 1] or NaN, or an unknown method.
    """
    present = [(i, p) for i, p in enumerate(p_values) if p is not None]
    for i, p in present:
        if not 0.0 <= p <= 1.0:
            raise InputError("not a p-value", place=f"p_values[{i}]", found=p, allowed="a number in [0, 1]")
    if method not in ("holm", "bh"):
        raise InputError("no such adjustment", place="method", found=method, allowed="holm, bh")
    family = np.array([p for _, p in present])
    adjusted = _holm(family) if method == "holm" else _benjamini_hochberg(family)
    out: list[float | None] = [None] * len(p_values)
    for (i, _), value in zip(present, adjusted, strict=True):
        out[i] = float(value)
    return tuple(out)


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def _benjamini_hochberg(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")[::-1]
    stepped = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def default_margin(metric: str, noise: float | None = None) -> float:
    """Return what counts as negligible for a metric: 10 % in the tail (p99 and beyond, maxima), 5 %
    elsewhere, and never less than the measured noise of the reference against its duplicate."""
    tail = any(word in metric for word in ("p99", "p999", "max"))
    margin = TAIL_MARGIN if tail else DEFAULT_MARGIN
    return margin if noise is None else max(margin, noise)


def verdict(difference: Estimate, equivalence: Estimate, *, margin: float) -> Verdict:
    """Return which of the four things two intervals say, without regard to blocks, noise and family.

    Args:
        difference: the ratio with its 95 % interval; "different" when that leaves out 1.
        equivalence: the same ratio with its 90 % interval; "equivalent" when that lies within
            [1 / (1 + margin), 1 + margin].

    Missing bounds say nothing: inconclusive.
    """
    check_margin(margin)
    return _VERDICTS[_leaves_out_one(difference), _within(equivalence, margin)]


def _leaves_out_one(ratio: HasInterval) -> bool:
    return ratio.low is not None and ratio.high is not None and not (ratio.low <= 1.0 <= ratio.high)


def _within(ratio: HasInterval, margin: float) -> bool:
    if ratio.low is None or ratio.high is None:
        return False
    return ratio.low >= 1 / (1 + margin) and ratio.high <= 1 + margin


def grade(n_blocks: int, family: Family) -> Grade:
    """Return what a comparison over ``n_blocks`` may be called (5-9: exploratory whatever was planned)."""
    if n_blocks < FEWEST_FOR_P:
        return "too few"
    return (
        "confirmatory" if family == "confirmatory" and n_blocks >= FEWEST_FOR_CONFIRMATORY else "exploratory"
    )


def check_margin(margin: float) -> None:
    """Raise when a margin is not positive and finite."""
    if not 0 < margin < float("inf"):
        raise InputError(
            "a margin is a share of the reference",
            place="margin",
            found=margin,
            allowed="above 0, such as 0.05",
        )
