# SPDX-License-Identifier: Apache-2.0
"""Many comparisons in one sentence: the smallest and the largest ratio, what most verdicts say, and the exceptions.

A sentence that lists every variant is a table without its lines; the table is in the appendix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.model import Estimate, Verdict
from harness.model.age import YOUNG
from harness.model.formatting import show, too_few
from harness.publish.display import Compared

#: What a comparison is of, such as a variant's label, and the comparison.
Named = Sequence[tuple[str, Compared]]
#: Exceptions beyond this number are counted, not named.
MOST_NAMED = 2
#: Of ratios whose intervals leave out 1 and have no verdict: words for one, words for several.
TOO_FEW = ("has too few blocks for a verdict", "have too few blocks for a verdict")
#: verdict -> words for one, words for several
_SAYS = {
    Verdict.DIFFERENT: ("differs", "differ"),
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: ("differs negligibly", "differ negligibly"),
    Verdict.EQUIVALENT: ("is equivalent", "are equivalent"),
    Verdict.INCONCLUSIVE: ("is not shown to differ", "are not shown to differ"),
    Verdict.NOT_ABOUT_SERVICES: ("says nothing of the services", "say nothing of the services"),
}


def labelled(found: Sequence[Compared | None], labels: Mapping[str, str]) -> Named:
    """Return the comparisons that there are, each with the label of its variant."""
    return [(labels.get(one.variant, one.variant), one) for one in found if one is not None]


def in_a_range(found: Named) -> str:
    """Return ``from 0.92 (0.90 to 0.94) for A to 2.7 (2.5 to 2.8) for B; 2 of 3 differ; C is not shown to differ``.

    The ends are ratios that speak of the services, each with its interval, rounded for a sentence; the verdicts are
    counted over all of them.
    Empty: no ratio speaks of the services.
    """
    told = [
        (one.ratio.value, name, one.ratio)
        for name, one in found
        if one.ratio.value is not None and _speaks(one)
    ]
    if not told:
        return ""
    told.sort(key=lambda each: each[0])
    (_, least, low), (_, most, high) = told[0], told[-1]
    ends = f"{show(low, rounded=True).interval} for {least}"
    if len(told) > 1:
        ends = f"from {ends} to {show(high, rounded=True).interval} for {most}"
    return f"{ends}; {verdicts_in_words(found)}"


def times(ratio: Estimate) -> str:
    """Return ``1.20 times, 1.10 to 1.30``, rounded for a sentence; without an interval the ratio alone."""
    shown = show(ratio, rounded=True)
    if shown.reason is not None:
        return shown.reason
    return f"{shown.text} times, {shown.bounds}" if shown.bounds else f"{shown.text} times"


def verdicts_in_words(found: Named) -> str:
    """Return ``2 of 3 differ; C is not shown to differ``: the most frequent verdict, then the exceptions to it, which
    are named up to ``MOST_NAMED`` of one kind, and how many are of young processes; empty: there is no comparison."""
    if not found:
        return ""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, one in found:
        words = TOO_FEW if too_few(one.verdict, one.ratio) else _SAYS[one.verdict]
        groups.setdefault(words, []).append(name)
    rule, *others = sorted(groups, key=lambda words: -len(groups[words]))
    n = len(groups[rule])
    every = {1: "it", 2: "both"}.get(n, f"all {n}")
    head = every if n == len(found) else f"{n} of {len(found)}"
    said = [f"{head} {rule[n > 1]}"]
    for words in others:
        names = groups[words]
        who = " and ".join(names) if len(names) <= MOST_NAMED else str(len(names))
        said.append(f"{who} {words[len(names) > 1]}")
    n_young = sum(one.young for _, one in found)
    if n_young:
        said.append(f"{'all are' if n_young == len(found) else f'{n_young} are'} of {YOUNG} processes")
    return "; ".join(said)


def _speaks(one: Compared) -> bool:
    return one.verdict is not Verdict.NOT_ABOUT_SERVICES and one.not_about is None


__all__ = ["Named", "in_a_range", "labelled", "times", "verdicts_in_words"]
