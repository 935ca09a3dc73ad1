# SPDX-License-Identifier: Apache-2.0
"""The answer in plain words: how many of one language's services did more, by how much, and at what price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison
from harness.evidence.warm import ColdStart
from harness.model import Verdict
from harness.model.age import named_with_age, of_young
from harness.model.digits import plain
from harness.model.formatting import OF_FEW, show, too_few
from harness.model.phrases import capital
from harness.publish.range_words import MOST_NAMED

#: Of the answer.
PARTS = ("warm", "memory", "cold")


def language_name(language: str) -> str:
    """Return a language as it is written: ``Go`` of ``go``."""
    return language.capitalize()


def answers(
    throughput: Sequence[Comparison],
    memory: Sequence[Comparison],
    cold: Mapping[str, ColdStart],
    labels: Mapping[str, str],
    languages: Mapping[str, str],
    *,
    place: str,
    heaps: Sequence[str] = (),
    cores: str = "",
) -> Mapping[str, str]:
    """Return ``warm``, ``memory`` and ``cold``: a text each on the services in another language than the reference's;
    one that no verdict supports is empty. Numbers are rounded for sentences.

    Directions and counts are those of the verdicts.

    Args:
        labels, languages: of each variant. place: where they ran, "warm and on one core each".
        heaps: the largest heaps that they were allowed, where there were any.
        cores: that a program and its compilers had together, "one core"; empty: not all had as many.
    """
    nothing = dict.fromkeys(PARTS, "")
    if not throughput:
        return nothing
    reference = throughput[0].reference
    others = [one for one in throughput if languages.get(one.variant) != languages.get(reference)]
    told = {languages[one.variant] for one in others}
    if len(told) != 1:
        return nothing
    who = f"{language_name(next(iter(told)))} services"
    names = [one.variant for one in others]
    return {
        "warm": _faster(others, labels, who, place),
        "memory": _memory(memory, names, labels, reference, heaps, f"the {who}"),
        "cold": _cold(cold, names, labels, reference, f"the {who}", cores),
    }


def price(
    memory: Sequence[Comparison],
    cold: Mapping[str, ColdStart],
    names: Sequence[str],
    labels: Mapping[str, str],
    *,
    heaps: Sequence[str] = (),
    cores: str = "",
    who: str,
) -> str:
    """Return the sentences on memory and on cold starts of these variants; empty: no verdict supports one, or memory
    was not compared."""
    if not memory:
        return ""
    reference = memory[0].reference
    said = (
        _memory(memory, names, labels, reference, heaps, who),
        _cold(cold, names, labels, reference, who, cores),
    )
    return " ".join(text for text in said if text)


def _faster(found: Sequence[Comparison], labels: Mapping[str, str], who: str, place: str) -> str:
    """The answer in a word or two where the verdicts allow it, then a sentence on each group of services."""
    groups: dict[str, list[Comparison]] = {"more": [], "fewer": [], "same": [], "open": [], "refused": []}
    for one in found:
        groups[_group(one)].append(one)
    told = [(kind, ones) for kind, ones in groups.items() if ones]
    said = [
        _sentence(
            kind, ones, labels, "" if position else who, total=len(found), last=position == len(told) - 1
        )
        for position, (kind, ones) in enumerate(told)
    ]
    text = f"{place}, {' '.join(said)}"
    return f"{_in_short({kind for kind, _ in told})}{capital(text)}"


def _in_short(kinds: set[str]) -> str:
    """Whether all services answered as many requests as the reference; nothing where some are not decided."""
    if {"more", "fewer"} <= kinds:
        return "It depends on the service. "
    return "No. " if kinds == {"fewer"} else "Yes. " if kinds <= {"more", "same"} else ""


def _sentence(
    kind: str, ones: Sequence[Comparison], labels: Mapping[str, str], who: str, *, total: int, last: bool
) -> str:
    """One group of services.

    Args:
        who: what all of them are, in the first sentence, which names reference and quantity; empty in those after it.
        total: services of all groups. last: of these sentences.
    """
    n, reference = len(ones), labels[ones[0].reference]
    count = f"{n} of {total}" if n < total or n == 1 else "both" if n == 2 else f"all {n}"
    if not who and last:
        count = "The other one" if n == 1 else f"The other {n}"
    requests = " requests per second" if who else ""
    than, as_much = (f"{requests} {word} {reference}" if who else "" for word in ("than", "as"))
    few = OF_FEW if any(too_few(one.verdict, one.ratio) for one in ones) else ""
    words = {
        "more": f"answered more{than}",
        "fewer": f"answered fewer{than}",
        "same": f"answered as many{as_much}",
        "open": f"{'is' if n == 1 else 'are'} {few}not shown to differ from {reference} in requests per second",
        "refused": "cannot be judged",
    }
    return f"{count} {who}".rstrip() + f" {words[kind]}: {_ends(ones, labels, refused=kind == 'refused')}."


def _ends(found: Sequence[Comparison], labels: Mapping[str, str], *, refused: bool) -> str:
    """Each of one or two services with its ratio; of more, those with the smallest and the largest one."""
    if refused:
        return _and([named_with_age(labels[one.variant], one.young) for one in found])
    ranked = sorted(found, key=lambda one: one.ratio.value or 0.0)
    if len(ranked) <= MOST_NAMED:
        return _and([f"{labels[one.variant]}, {_times(one)}" for one in ranked])
    least, most = ranked[0], ranked[-1]
    return f"from {_times(least)} for {labels[least.variant]} to {_times(most)} for {labels[most.variant]}"


def _times(one: Comparison) -> str:
    """``1.37 times as many (1.28 to 1.47)``."""
    shown = show(one.ratio, rounded=True)
    bounds = f" ({shown.bounds})" if shown.bounds else ""
    return f"{shown.text} times as many{bounds}"


def _group(one: Comparison) -> str:
    if one.verdict is Verdict.NOT_ABOUT_SERVICES or one.young:  # the answer is on warm services
        return "refused"
    if one.verdict is Verdict.DIFFERENT:
        return "more" if (one.ratio.value or 0) > 1 else "fewer"
    return "open" if one.verdict is Verdict.INCONCLUSIVE else "same"


def _memory(
    found: Sequence[Comparison],
    names: Sequence[str],
    labels: Mapping[str, str],
    reference: str,
    heaps: Sequence[str],
    who: str,
) -> str:
    """Said only where all of them used more, or all less."""
    mine = sorted(
        (one.ratio.value, one.variant, show(one.ratio, rounded=True).text)
        for one in found
        if one.variant in names and one.verdict is Verdict.DIFFERENT and one.ratio.value is not None
    )
    if len(mine) < len(names) or not (mine[0][0] > 1 or mine[-1][0] < 1):
        return ""
    (_, least, low), (_, most, high) = mine[0], mine[-1]
    ends = low if len(mine) == 1 else f"{low} to {high}"
    allowed = f", with heaps of at most {_and([_size(heap) for heap in heaps])}" if heaps else ""
    which = f" (least: {labels[least]}; most: {labels[most]})" if len(mine) > 1 else ""
    text = f"after the load{allowed}, {who} held {ends} times the memory of {labels[reference]}{which}."
    return capital(of_young(text, [one.young for one in found if one.variant in names]))


def _size(heap: str) -> str:
    """``512 MiB`` of ``512m``."""
    unit = {"k": "KiB", "m": "MiB", "g": "GiB"}.get(heap[-1:].lower())
    return heap if unit is None else f"{heap[:-1]} {unit}"


def _cold(
    cold: Mapping[str, ColdStart],
    names: Sequence[str],
    labels: Mapping[str, str],
    reference: str,
    everyone: str,
    cores: str,
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
    others = [
        f"{labels[name]}{'' if position else ' needed'} at most {plain(at_most_s, 2)} s"
        for position, (name, at_most_s) in enumerate(soon.items())
    ]
    shared = f", on {cores} for program and compilers," if cores else ""
    return (
        f"From a cold start, {who} needed {_span(seconds)} s of full load{shared} to come within 10 % of their "
        f"warm throughput; {_and(others)}."
    )


def _at_most_s(cold: ColdStart) -> float:
    """What the slowest process needed; a process that was warm within its first window needed at most that."""
    return max((*cold.later_s, cold.window_s))


def _span(values: Sequence[float]) -> str:
    """Both ends with the digits of the table below them; once where they print alike."""
    return " to ".join(dict.fromkeys(plain(end) for end in (min(values), max(values))))


def _and(words: Sequence[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])}, and {words[-1]}"
