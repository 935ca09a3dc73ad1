# SPDX-License-Identifier: Apache-2.0
"""Every claim with its verdict: what its published numbers say of it, and what was measured here.

Contradicted by its own numbers: a published number does not fulfil its predicate, whatever was measured. Reversed: a
measured one does not, and each that does not lies on the other side of 1. Does not hold today: a measured one does not.
Holds: every number does; *weaker* where one is less than half as far from 1 as published, *stronger* where all are more
than twice as far. Inconclusive: none fails, and one cannot be decided, or only some can be
measured here. Untestable here: none was measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.model.claim import Claim, ClaimTest, ClaimVerdict, PublishedFact
from harness.questions.claims.choosing import Choice, Open, PassedOver, choose
from harness.questions.claims.judging import Judgement, Outcome, Size, family_p, judge, size_of
from harness.questions.claims.measured import Measured, NotMeasured
from harness.questions.claims.published import PublishedTables


@dataclass(frozen=True, kw_only=True)
class JudgedTest:
    """One number of a claim.

    ``published``: ``None`` where no number was printed; ``measured``: where none was. ``size``: how the measured ratio
    stands to the published one, where it is another size. ``passed_over``: evidence that could have judged it too.
    """

    test: ClaimTest
    published: float | None
    published_holds: bool | None
    measured: Measured | None
    judgement: Judgement
    size: Size | None
    passed_over: tuple[PassedOver, ...]

    @property
    def outcome(self) -> Outcome:
        """What the measured number says of the predicate."""
        return self.judgement.outcome


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim with its verdict; ``measured_verdict``: what it would be without the published numbers."""

    name: str
    claim: Claim
    tests: tuple[JudgedTest, ...]
    facts: tuple[tuple[PublishedFact, float], ...]
    verdict: ClaimVerdict
    measured_verdict: ClaimVerdict

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that were judged."""
        return tuple(dict.fromkeys(one.measured.session for one in self.tests if one.measured is not None))

    @property
    def shown(self) -> JudgedTest:
        """The test that decided: the first that fails, else that is undecided, else that holds as the claim does."""
        outcomes = [one.outcome for one in self.tests]
        outcome = next(one for one in ("fails", "undecided", "holds", "not testable") if one in outcomes)
        mine = [one for one in self.tests if one.outcome == outcome]
        size = _SIZE.get(self.measured_verdict)
        return next((one for one in mine if one.size == size), mine[0])

    @property
    def contradiction(self) -> JudgedTest | None:
        """The first test that the published numbers do not fulfil."""
        return next((one for one in self.tests if one.published_holds is False), None)


def judge_claims(
    claims: Mapping[str, Claim], open_evidence: Open, tables: PublishedTables
) -> tuple[JudgedClaim, ...]:
    """Return every claim with its verdict, in the order of the ledger.

    Raises:
        InputError: a published table or a session does not have what a claim names.
    """
    chosen = {
        (name, place): choose(test, open_evidence)
        for name, claim in claims.items()
        for place, test in enumerate(claim.tests)
    }
    there = [(key, one.found) for key, one in chosen.items() if isinstance(one.found, Measured)]
    adjusted = family_p(
        [(claims[name].family, claims[name].tests[place].predicate, one) for (name, place), one in there]
    )
    p_values = {key: adjusted[number] for number, (key, _) in enumerate(there)}
    return tuple(
        _judged(
            name,
            claim,
            [
                _judged_test(test, chosen[name, place], p_values.get((name, place), (None, 0)), tables)
                for place, test in enumerate(claim.tests)
            ],
            tables,
        )
        for name, claim in claims.items()
    )


def counts(judged: Sequence[JudgedClaim]) -> dict[ClaimVerdict, int]:
    """Return how many claims have each verdict, 0 included."""
    found = Counter(one.verdict for one in judged)
    return {verdict: found[verdict] for verdict in ClaimVerdict}


def _judged_test(
    test: ClaimTest, choice: Choice, p: tuple[float | None, int], tables: PublishedTables
) -> JudgedTest:
    published = None if test.published is None else tables.value(test.published)
    found = choice.found if isinstance(choice.found, Measured) else None
    if isinstance(choice.found, NotMeasured):
        judgement = Judgement(outcome="not testable", why=choice.found.why)
    else:
        judgement = judge(test.predicate, choice.found, p_adjusted=p[0], n_family=p[1])
    return JudgedTest(
        test=test,
        published=published,
        published_holds=None if published is None else test.predicate.holds(published),
        measured=found,
        judgement=judgement,
        size=None
        if found is None or not test.is_ratio
        else size_of(test.predicate, published, found.estimate, judgement.outcome),
        passed_over=choice.passed_over,
    )


def _judged(name: str, claim: Claim, tests: Sequence[JudgedTest], tables: PublishedTables) -> JudgedClaim:
    measured = measured_verdict([(one.outcome, one.size) for one in tests])
    contradicted = any(one.published_holds is False for one in tests)
    return JudgedClaim(
        name=name,
        claim=claim,
        tests=tuple(tests),
        facts=tuple((fact, tables.value(fact.published)) for fact in claim.facts),
        verdict=ClaimVerdict.CONTRADICTED if contradicted else measured,
        measured_verdict=measured,
    )


#: Verdict -> the size that a number behind it has.
_SIZE: Mapping[ClaimVerdict, Size] = {
    ClaimVerdict.HOLDS_WEAKER: "weaker",
    ClaimVerdict.HOLDS_STRONGER: "stronger",
    ClaimVerdict.REVERSED: "reversed",
}


def measured_verdict(numbers: Sequence[tuple[Outcome, Size | None]]) -> ClaimVerdict:
    """Return what the measured numbers of a claim say together, each with its outcome and size."""
    outcomes = [outcome for outcome, _ in numbers]
    if "fails" in outcomes:
        reversed_too = all(size == "reversed" for outcome, size in numbers if outcome == "fails")
        return ClaimVerdict.REVERSED if reversed_too else ClaimVerdict.DOES_NOT_HOLD
    if all(one == "not testable" for one in outcomes):
        return ClaimVerdict.UNTESTABLE
    if any(one != "holds" for one in outcomes):
        return ClaimVerdict.INCONCLUSIVE
    sizes = [size for _, size in numbers]
    if "weaker" in sizes:
        return ClaimVerdict.HOLDS_WEAKER
    return ClaimVerdict.HOLDS_STRONGER if all(one == "stronger" for one in sizes) else ClaimVerdict.HOLDS
