# SPDX-License-Identifier: Apache-2.0
"""Does a second session say the same as a first one? Verdict by verdict: agree, one undecided, contradict.

Two verdicts *contradict* when both cannot hold: opposite directions, or a difference beside an equivalence whose
intervals share no ratio. They *agree* when they say the same, and when both say that nothing that matters was found
(equivalent, and different but negligible). *One undecided*: all else, such as a verdict that is inconclusive or not
about the services.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

from harness.analysis.stats.comparisons import Comparison
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
        found = Counter(pair.kind for pair in self.pairs if pair.changed == changed)
        return {kind: found[kind] for kind in KINDS}

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
    other = {_place(one): one for one in second}
    pairs = [
        VerdictPair(
            first=one,
            second=other[_place(one)],
            kind=kind_of(one, other[_place(one)]),
            changed=bool({one.variant, one.reference} & set(changed)),
        )
        for one in first
        if _place(one) in other
    ]
    told = {name for pair in pairs for name in (pair.first.variant, pair.first.reference)}
    return SessionAgreement(pairs=tuple(pairs), changed=tuple(name for name in changed if name in told))


def kind_of(first: Comparison, second: Comparison) -> Kind:
    """Return what two comparisons on one question are to each other."""
    return kind_of_verdicts(
        first.verdict,
        second.verdict,
        same_side=_above(first) == _above(second),
        overlap=_overlap(first.ratio, second.ratio),
    )


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


def _place(one: Comparison) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
    return one.reference, one.variant, one.metric, tuple(sorted(one.levels.items()))


def _overlap(a: Estimate, b: Estimate) -> bool:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return True
    return a.low <= b.high and b.low <= a.high


def _above(one: Comparison) -> bool:
    return one.ratio.value is not None and one.ratio.value > 1
