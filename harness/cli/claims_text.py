# SPDX-License-Identifier: Apache-2.0
"""Claims for a person: how many have which verdict, a line for each; or one whole."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.lines import say, table
from harness.model.age import with_age
from harness.model.claim import ClaimVerdict
from harness.model.formatting import show
from harness.model.phrases import counted
from harness.questions.claims import JudgedClaim, JudgedTest, counts
from harness.questions.claims.words import (
    VERDICT_WORDS,
    bound_words,
    compared_words,
    here_words,
    margin_words,
    measured_words,
    number,
    p_words,
    passed_over_words,
    place_words,
    predicate_words,
    published_words,
    unit,
    verdict_words,
)

#: Verdicts where a column has little room.
_SHORT = {
    ClaimVerdict.HOLDS: "holds",
    ClaimVerdict.HOLDS_WEAKER: "holds, weaker",
    ClaimVerdict.HOLDS_STRONGER: "holds, stronger",
    ClaimVerdict.REVERSED: "reversed",
    ClaimVerdict.DOES_NOT_HOLD: "does not hold",
    ClaimVerdict.CONTRADICTED: "own numbers",
    ClaimVerdict.INCONCLUSIVE: "inconclusive",
    ClaimVerdict.UNTESTABLE: "untestable",
}
_HANG = " " * 13


def print_list(judged: Sequence[JudgedClaim]) -> None:
    """Print the counts by verdict, and one line a claim."""
    words = {verdict: text.replace(" its ", " their ") for verdict, text in VERDICT_WORDS.items()}
    sentence = ", ".join(f"{n} {words[verdict]}" for verdict, n in counts(judged).items() if n)
    say(f"{counted(len(judged), 'claim')}" + (f": {sentence}." if sentence else "."))
    if not judged:
        return
    sessions = sorted({session for item in judged for session in item.sessions})
    say(f"Judged from {', '.join(sessions) or 'published numbers alone'}.", hang="  ")
    machines = sorted({t.measured.machine for item in judged for t in item.tests if t.measured is not None})
    if machines:
        say(f"Measured on {'; '.join(machines)}.", hang="  ")
    print()
    rows = [
        (item.name, _SHORT[item.verdict], f"{item.claim.statement} [claimed {needed}{place}]")
        for item in judged
        for needed, place in [_number(item)]
    ]
    print(table(("claim", "verdict", "statement"), rows))
    print()
    say(
        "claimed: the number, or ratio, that the claim needs; here: what was measured, or was printed where the "
        "claim's own numbers (verdict: own numbers) contradict it. All of one claim: rematch claims NAME."
    )


def _number(claim: JudgedClaim) -> tuple[str, str]:
    """What a claim needs and what there is, of the test that decided: ``, here 0.42``."""
    wrong = claim.contradiction
    if wrong is not None and wrong.published is not None:
        test, place = wrong, number(wrong.published, unit(wrong.test))
    else:
        test, place = claim.shown, ""
        result = test.measured
        if result is not None:
            place = (
                here_words(result)
                if result.below is not None
                else with_age(show(result.estimate).text, result.young)
            )
    return _needed(test), f", here {place}".replace("\N{NARROW NO-BREAK SPACE}", " ") if place else ""


def _needed(test: JudgedTest) -> str:
    text = predicate_words(test.test).replace("\N{NARROW NO-BREAK SPACE}", " ")
    return text.replace("above ", "> ").replace("below ", "< ").replace("between ", "").replace(" and ", "-")


def print_claim(item: JudgedClaim) -> None:
    """Print one claim whole."""
    claim = item.claim
    say(f"{item.name}: {verdict_words(item)}")
    print()
    for head, text in (
        ("statement", claim.statement),
        ("source", f"{claim.source} ({claim.origin})"),
        ("workload", claim.workload),
        ("condition", claim.condition),
        ("metric", claim.metric),
        ("printed", claim.printed or "no number"),
        ("family", claim.family),
        ("quote", claim.quote),
        ("page", claim.page),
        ("remark", claim.remark),
        ("opposite", None if not claim.opposes else f"{', '.join(claim.opposes)} says the opposite"),
    ):
        _line(head, text)
    for place, test in enumerate(item.tests, start=1):
        print()
        _print_test(test, f"{place} of {len(item.tests)}")
    if item.facts:
        print()
        print("Also printed there:")
        for fact, value in item.facts:
            ratio = "ratio" if fact.published.is_ratio else "1"
            say(f"- {fact.what}: {number(value, ratio)}", indent="  ", hang="    ")


def _print_test(test: JudgedTest, place: str) -> None:
    say(f"Number {place}: {test.test.what}", hang="  ")
    _line("claimed", predicate_words(test.test))
    published = test.test.published
    if published is not None:
        _line("published", f"{published_words(test)} ({place_words(published)})")
    _line("here", measured_words(test))
    for second in test.passed_over:
        _line("passed over", passed_over_words(second))
    result = test.measured
    if result is None:
        return
    what = "pairs of trials" if result.comparison is not None else "trials"
    _line("compared", compared_words(result.number))
    _line("session", f"{result.session}; {result.machine}")
    _line("trials", None if result.fact else f"{result.n} {what}; {result.estimate.method}")
    if result.ages is not None:
        arms = (result.ages.variant, *([result.ages.reference] if result.comparison is not None else []))
        _line("age", ", ".join(arm.in_words for arm in arms))
    _line("bound by", bound_words(result.bound_by))
    _line("margin", None if result.fact else margin_words(test.judgement.margin))
    _line("adjusted p", p_words(test.judgement.p_adjusted, test.judgement.n_family))


def _line(head: str, text: str | None) -> None:
    if text is not None:
        say(text, indent=f"  {head:<10} ", hang=_HANG)
