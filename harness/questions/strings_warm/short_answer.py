# SPDX-License-Identifier: Apache-2.0
"""The answer in plain words: how many of one language's services did more, by how much, and at what price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison
from harness.evidence.warm import ColdStart
from harness.model import Verdict
from harness.model.digits import plain, span
from harness.publish.range_words import MOST_NAMED
from harness.publish.warm_words import times

#: Of the answer.
PARTS = ("warm", "memory", "cold")
_NAMES = {"go": "Go", "java": "Java"}


def answers(
    throughput: Sequence[Comparison],
    memory: Sequence[Comparison],
    cold: Mapping[str, ColdStart],
    labels: Mapping[str, str],
    languages: Mapping[str, str],
    *,
    place: str,
    heaps: Sequence[str] = (),
) -> Mapping[str, str]:
    """Return ``warm``, ``memory`` and ``cold``: a sentence each on the services in another language than the
    reference's; one that no verdict supports is empty.

    Directions and counts are those of the verdicts.

    Args:
        labels, languages: of each variant. place: where they ran, "warm and on one core each".
        heaps: the largest heaps that they were allowed, where there were any.
    """
    nothing = dict.fromkeys(PARTS, "")
    if not throughput:
        return nothing
    reference = throughput[0].reference
    others = [one for one in throughput if languages.get(one.variant) != languages.get(reference)]
    told = {languages[one.variant] for one in others}
    if len(told) != 1:
        return nothing
    who = f"{_NAMES.get(next(iter(told)), next(iter(told)))} services"
    names = [one.variant for one in others]
    return {
        "warm": _faster(others, labels, who, place),
        "memory": _memory(memory, names, labels[reference], heaps, f"the {who}"),
        "cold": _cold(cold, names, labels, reference, f"the {who}"),
    }


def price(
    memory: Sequence[Comparison],
    cold: Mapping[str, ColdStart],
    names: Sequence[str],
    labels: Mapping[str, str],
    *,
    reference: str,
    heaps: Sequence[str] = (),
    who: str,
) -> str:
    """Return the sentences on memory and on cold starts of these variants; empty: no verdict supports one."""
    said = (
        _memory(memory, names, labels[reference], heaps, who),
        _cold(cold, names, labels, reference, who),
    )
    return " ".join(text for text in said if text)


def _faster(found: Sequence[Comparison], labels: Mapping[str, str], who: str, place: str) -> str:
    groups: dict[str, list[Comparison]] = {"more": [], "fewer": [], "same": [], "open": [], "refused": []}
    for one in found:
        groups[_group(one)].append(one)
    reference = labels[found[0].reference]
    words = {
        "more": f"answered more requests per second than {reference}",
        "fewer": f"answered fewer{'' if groups['more'] else f' requests per second than {reference}'}",
        "same": f"answered as many as {reference}",
        "open": f"{'is' if len(groups['open']) == 1 else 'are'} not shown to differ from {reference}",
        "refused": "cannot be judged",
    }
    clauses = [
        f"{len(ones)} of {len(found)} {who if first else ''}".rstrip()
        + f" {words[kind]} ({_ends(ones, labels, refused=kind == 'refused')})"
        for first, kind, ones in _in_turn(groups)
    ]
    text = f"{place}, {_and(clauses)}."
    return text[:1].upper() + text[1:]


def _ends(found: Sequence[Comparison], labels: Mapping[str, str], *, refused: bool) -> str:
    """Each of one or two services with its ratio; of more, those with the smallest and the largest one."""
    if refused:
        return "; ".join(labels[one.variant] for one in found)
    ranked = sorted(found, key=lambda one: one.ratio.value or 0.0)
    told = [f"{labels[one.variant]}, {times(one.ratio)}" for one in ranked]
    return "; ".join(told) if len(told) <= MOST_NAMED else f"lowest: {told[0]}; highest: {told[-1]}"


def _in_turn(groups: Mapping[str, list[Comparison]]) -> list[tuple[bool, str, list[Comparison]]]:
    """(whether it is the first, kind, comparisons) of the groups that have any."""
    told = [(kind, ones) for kind, ones in groups.items() if ones]
    return [(place == 0, kind, ones) for place, (kind, ones) in enumerate(told)]


def _group(one: Comparison) -> str:
    if one.verdict is Verdict.NOT_ABOUT_SERVICES:
        return "refused"
    if one.verdict is Verdict.DIFFERENT:
        return "more" if (one.ratio.value or 0) > 1 else "fewer"
    return "open" if one.verdict is Verdict.INCONCLUSIVE else "same"


def _memory(
    found: Sequence[Comparison], names: Sequence[str], reference: str, heaps: Sequence[str], who: str
) -> str:
    """Said only where all of them used more, or all less."""
    mine = [one for one in found if one.variant in names and one.ratio.value is not None]
    ratios = [
        one.ratio.value for one in mine if one.verdict is Verdict.DIFFERENT and one.ratio.value is not None
    ]
    if len(ratios) < len(names) or not (min(ratios) > 1 or max(ratios) < 1):
        return ""
    allowed = f", with heaps of at most {_and(heaps)}," if heaps else ""
    return f"After the load{allowed} {who} held {_span(ratios)} times the memory of {reference}."


def _cold(
    cold: Mapping[str, ColdStart],
    names: Sequence[str],
    labels: Mapping[str, str],
    reference: str,
    everyone: str,
) -> str:
    """Said only where every process settled, and some services were slower to it than the reference ever was."""
    if not {reference, *names} <= set(cold) or any(
        one.n_settled < one.n for name, one in cold.items() if name in {reference, *names}
    ):
        return ""
    bound = _at_most_s(cold[reference])
    late = {name: one.value for name in names if (one := cold[name].seconds) and (one.value or 0) > bound}
    if not late:
        return ""
    seconds = [value for value in late.values() if value is not None]
    soon = {reference: bound} | {name: _at_most_s(cold[name]) for name in names if name not in late}
    who = everyone
    if len(late) < len(names):
        who = f"{len(late)} of {len(names)} {everyone.removeprefix('the ')}"
    others = _and([f"{labels[name]} at most {plain(at_most_s)} s" for name, at_most_s in soon.items()])
    return (
        f"From a cold start {who} needed {_span(seconds)} s of full load to come within 10 % of their "
        f"warm throughput, {others}."
    )


def _at_most_s(cold: ColdStart) -> float:
    """What the slowest process needed; a process that was warm within its first window needed at most that."""
    return max((*cold.later_s, cold.window_s))


def _span(values: Sequence[float]) -> str:
    return span(min(values), max(values)) if len(values) > 1 else plain(values[0])


def _and(words: Sequence[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])}, and {words[-1]}"
