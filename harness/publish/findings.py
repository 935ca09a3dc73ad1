# SPDX-License-Identifier: Apache-2.0
"""What a section of the paper found, in words: a title, a take-away, and how sure that is.

Counts and directions are those of the verdicts. A title is made only where a verdict has a direction; else there is
none, and the paper prints a neutral one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.stats.comparisons import Comparison
from harness.model import Verdict
from harness.model.age import YOUNG, of_young
from harness.model.digits import span, whole_percent
from harness.model.formatting import show, too_few
from harness.model.phrases import capital
from harness.publish.range_words import TOO_FEW, times
from harness.publish.results import NO_TEXT, Leaf, Tree, Words, leaves

#: The branch of a question's results that its section prints.
FINDING = "finding"
NO_FINDING: Tree = {"title": NO_TEXT, "takeaway": NO_TEXT, "sure": NO_TEXT}


@dataclass(frozen=True, kw_only=True)
class Phrase:
    """Words for comparisons with one meaning: "3 of 4 Java services answer fewer requests per second than Go".

    ``who``: what is compared, several of them. ``more`` and ``less``: verb with all that belongs to it, of several;
    ``more_short`` and ``less_short``: what follows the verb after the first clause: "1 answers more". ``one``: in place
    of ``who`` and the verbs where a single thing is compared: "the Java bank's mean latency is {} than the Go bank's".
    ``none``: the title where no ratio speaks of the services. ``warm``: the words are of warm services, so that a ratio
    of young processes says nothing of them.
    """

    who: str
    more: str
    less: str
    more_short: str
    less_short: str
    one: str | None = None
    none: str | None = None
    warm: bool = False


def finding(
    found: Iterable[Comparison | None],
    phrase: Phrase,
    *,
    also: Sequence[str] = (),
    sure: Sequence[str] = (),
) -> Tree:
    """Return ``title``, ``takeaway`` and ``sure`` of comparisons with one meaning; absent: nothing was compared.

    Args:
        also: sentences behind the take-away. sure: sentences behind how sure it is, such as what bounded the trials.
    """
    told = [one for one in found if one is not None]
    if not told:
        return NO_FINDING
    inputs = tuple(dict.fromkeys(trial for one in told for trial in one.ratio.inputs))
    young = [one.young and not phrase.warm for one in told]
    title = capital(of_young(_title(told, phrase), young))
    return {
        "title": Words(title, inputs) if title else NO_TEXT,
        "takeaway": Words(
            " ".join((capital(of_young(_takeaway(told, phrase), young)), *filter(None, also))), inputs
        ),
        "sure": Words(" ".join((_sure(told, phrase), *filter(None, sure))), inputs),
    }


def comparisons_in(branch: Tree | Leaf, names: Iterable[str] | None = None) -> list[Comparison]:
    """Return the comparisons of a branch of results, in its order; of these names at its end, where there are any."""
    wanted = None if names is None else set(names)
    if not isinstance(branch, Mapping):
        return []
    return [
        leaf
        for path, leaf in leaves(branch)
        if isinstance(leaf, Comparison) and (wanted is None or path[-1] in wanted)
    ]


def span_of(numbers: Sequence[int]) -> str:
    """Return ``5`` or ``5 to 10``."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


#: Verbs of which one is not told by an s.
_SINGULAR = {"are": "is", "have": "has", "cannot": "cannot", "carry": "carries"}
_Groups = Mapping[str, Sequence[Comparison]]


def _grouped(found: Sequence[Comparison], phrase: Phrase) -> _Groups:
    groups: dict[str, list[Comparison]] = {
        "more": [],
        "less": [],
        "same": [],
        "open": [],
        "few": [],
        "refused": [],
    }
    for one in found:
        groups[_kind(one, phrase)].append(one)
    return groups


def _kind(one: Comparison, phrase: Phrase) -> str:
    if one.verdict is Verdict.NOT_ABOUT_SERVICES or (phrase.warm and one.young):
        return "refused"
    if one.verdict is Verdict.DIFFERENT:
        return "more" if (one.ratio.value or 0.0) > 1 else "less"
    if one.verdict is Verdict.INCONCLUSIVE:
        return "few" if too_few(one.verdict, one.ratio) else "open"
    return "same"


def _title(found: Sequence[Comparison], phrase: Phrase) -> str:
    groups = _grouped(found, phrase)
    decided = [(kind, len(groups[kind])) for kind in ("more", "less") if groups[kind]]
    if not decided:
        return phrase.none or "" if len(groups["refused"]) == len(found) else ""
    if len(found) == 1 and phrase.one is not None:
        (kind, _), *_ = decided
        return phrase.one.format(phrase.more_short if kind == "more" else phrase.less_short)
    decided.sort(key=lambda one: -one[1])
    (first, n), *rest = decided
    text = _clause(n, len(found), phrase.who, phrase.more if first == "more" else phrase.less)
    for kind, m in rest:
        long, short = _words(phrase, kind)
        text += f", {_clause(m, len(found), '', long, short)}"
    return text


def _takeaway(found: Sequence[Comparison], phrase: Phrase) -> str:
    groups = _grouped(found, phrase)
    if len(found) == 1 and phrase.one is not None:
        return _takeaway_of_one(found[0], phrase.one, phrase)
    clauses: list[str] = []
    for kind in sorted(("more", "less"), key=lambda one: -len(groups[one])):
        if mine := groups[kind]:
            long, short = _words(phrase, kind)
            clauses.append(
                _clause(len(mine), len(found), phrase.who, long, short if clauses else None)
                + f" ({_spread(mine)})"
            )
    if mine := groups["same"]:
        margin = max(one.margin or 0.0 for one in mine)
        words = f"equal within {whole_percent(margin)}"
        clauses.append(_clause(len(mine), len(found), phrase.who, f"are {words}", words if clauses else None))
    if mine := groups["open"]:
        if len(mine) == len(found) > 1:
            words = f"none of the {len(mine)} {phrase.who} is shown to differ"
        else:
            said = "not shown to differ"
            words = _clause(len(mine), len(found), phrase.who, f"are {said}", said if clauses else None)
        clauses.append(f"{words} ({_spread(mine)})")
    if mine := groups["few"]:
        one, several = TOO_FEW
        words = _clause(
            len(mine), len(found), phrase.who, several, one.partition(" ")[2] if clauses else None
        )
        clauses.append(f"{words} ({_spread(mine)})")
    if mine := groups["refused"]:
        if len(mine) == len(found) > 1:
            words = f"none of the {len(mine)} {phrase.who} can be judged"
        else:
            said = "be judged"
            words = _clause(len(mine), len(found), phrase.who, f"cannot {said}", said if clauses else None)
        clauses.append(f"{words}, because {_why_refused(mine)}")
    return f"{'; '.join(clauses)}."


def _takeaway_of_one(found: Comparison, one: str, phrase: Phrase) -> str:
    either = f"{phrase.more_short} or {phrase.less_short}"
    words = {
        "more": phrase.more_short,
        "less": phrase.less_short,
        "same": f"at most {whole_percent(found.margin or 0.0)} {either}",
        "open": f"not shown to be {either}",
        "few": f"by so few blocks not shown to be {either}",
        "refused": f"not judged {either}",
    }
    kind = _kind(found, phrase)
    why = f": {_why_refused([found])}" if kind == "refused" else ""
    return f"{one.format(words[kind])} ({_spread([found])}){why}."


def _why_refused(found: Sequence[Comparison]) -> str:
    refused = [one for one in found if one.verdict is Verdict.NOT_ABOUT_SERVICES]
    why = {
        "something else than the service bounded the trials": any(not one.turned_by_age for one in refused),
        f"a few {YOUNG} trials decide the ratio": any(one.turned_by_age for one in refused),
        f"the processes were {YOUNG}": len(refused) < len(found),
    }
    return " or ".join(words for words, holds in why.items() if holds)


def _words(phrase: Phrase, kind: str) -> tuple[str, str]:
    return (phrase.more, phrase.more_short) if kind == "more" else (phrase.less, phrase.less_short)


def _clause(n: int, of: int, who: str, long: str, short: str | None = None) -> str:
    """A group in words; the verb, given of several, agrees with the number.

    Args:
        short: what follows the verb of a clause behind the first one, which names neither ``who`` nor all of ``long``.
    """
    verb, _, rest = long.partition(" ")
    if n == 1:
        verb = _SINGULAR.get(verb, f"{verb}s")
    if short is not None:
        return f"{n} {verb} {short}"
    count = f"{n} of {of}" if n < of or n == 1 else "both" if n == 2 else f"all {n}"
    return f"{count} {who} {verb} {rest}"


def _spread(found: Sequence[Comparison]) -> str:
    """The ratios of a group: one with its interval, of several the least and the largest."""
    told = [one.ratio for one in found if one.ratio.value is not None]
    if not told:
        return "no ratio"
    if len(told) == 1:
        return times(told[0])
    values = [one.value for one in told if one.value is not None]
    return f"{span(min(values), max(values))} times"


def _sure(found: Sequence[Comparison], phrase: Phrase) -> str:
    blocks = span_of([one.n_blocks for one in found])
    text = f"95 % intervals over {blocks} blocks of fresh processes"
    decided = sum(_kind(one, phrase) not in ("open", "few", "refused") for one in found)
    conclusive = f"{decided} of {len(found)} comparisons {'is' if decided == 1 else 'are'} conclusive"
    if len(found) == 1:
        conclusive = f"the comparison is {'' if decided else 'not '}conclusive"
    text += f"; {conclusive}"
    noise = next((one.noise for one in found if one.noise.ratio.value is not None), None)
    if noise is not None:
        where = "" if noise.elsewhere is None else " in another cell"
        text += f"; the reference over itself{where}: {show(noise.ratio, rounded=True).interval}"
    return f"{text}."


__all__ = ["FINDING", "NO_FINDING", "Phrase", "comparisons_in", "finding", "span_of"]
