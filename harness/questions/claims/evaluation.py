# SPDX-License-Identifier: Apache-2.0
"""Every claim with its verdict: what its published numbers say of it, and what was measured here.

Contradicted by its own numbers: a published number does not fulfil its predicate, whatever was measured. Not
reproduced: a measured one does not. Reproduced: every number does. Inconclusive: none fails, and one cannot be
decided, or only some can be measured here. Not testable here: none was measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.evidence import Evidence
from harness.model.claim import Claim, ClaimTest, ClaimVerdict, PublishedFact
from harness.questions.claims.judging import Judgement, Outcome, family_p, judge
from harness.questions.claims.measured import Measured, NotMeasured, measure
from harness.questions.claims.published import PublishedTables

#: The evidence of an experiment; ``None``: it has no session.
Open = Callable[[str], Evidence | None]


@dataclass(frozen=True, kw_only=True)
class JudgedTest:
    """One number of a claim. ``published``: ``None`` where no number was printed; ``measured``: where none was."""

    test: ClaimTest
    published: float | None
    published_holds: bool | None
    measured: Measured | None
    judgement: Judgement

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
        """The test that decided: the first that fails, else the first that is undecided, else the first."""
        return next(
            (
                one
                for outcome in ("fails", "undecided", "holds")
                for one in self.tests
                if one.outcome == outcome
            ),
            self.tests[0],
        )

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
    measured = {
        (name, place): _measure(test, open_evidence)
        for name, claim in claims.items()
        for place, test in enumerate(claim.tests)
    }
    there = [(key, one) for key, one in measured.items() if isinstance(one, Measured)]
    adjusted = family_p(
        [(claims[name].family, claims[name].tests[place].predicate, one) for (name, place), one in there]
    )
    p_values = {key: adjusted[number] for number, (key, _) in enumerate(there)}
    return tuple(
        _judged(
            name,
            claim,
            [
                _judged_test(test, measured[name, place], p_values.get((name, place), (None, 0)), tables)
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


def _measure(test: ClaimTest, open_evidence: Open) -> Measured | NotMeasured:
    """Return what the first experiment that has the number says of it, or why none has."""
    if test.missing is not None:
        return NotMeasured(test.missing)
    whys: dict[str, None] = {}
    for number in test.measured:
        evidence = open_evidence(number.experiment)
        if evidence is None:
            whys[f"no session of {number.experiment}"] = None
            continue
        if test.needs_cpus is not None and evidence.machine.n_cpus < test.needs_cpus:
            whys[f"speaks of {test.needs_cpus} CPUs or more, the machine has {evidence.machine.n_cpus}"] = (
                None
            )
            continue
        found = measure(evidence, number, limit=test.predicate.limit)
        if isinstance(found, Measured):
            return found
        whys[found.why] = None
    return NotMeasured("; ".join(whys))


def _judged_test(
    test: ClaimTest, found: Measured | NotMeasured, p: tuple[float | None, int], tables: PublishedTables
) -> JudgedTest:
    published = None if test.published is None else tables.value(test.published)
    judgement = (
        Judgement(outcome="not testable", why=found.why)
        if isinstance(found, NotMeasured)
        else judge(test.predicate, found, p_adjusted=p[0], n_family=p[1])
    )
    return JudgedTest(
        test=test,
        published=published,
        published_holds=None if published is None else test.predicate.holds(published),
        measured=found if isinstance(found, Measured) else None,
        judgement=judgement,
    )


def _judged(name: str, claim: Claim, tests: Sequence[JudgedTest], tables: PublishedTables) -> JudgedClaim:
    measured = measured_verdict([one.outcome for one in tests])
    contradicted = any(one.published_holds is False for one in tests)
    return JudgedClaim(
        name=name,
        claim=claim,
        tests=tuple(tests),
        facts=tuple((fact, tables.value(fact.published)) for fact in claim.facts),
        verdict=ClaimVerdict.CONTRADICTED if contradicted else measured,
        measured_verdict=measured,
    )


def measured_verdict(outcomes: Sequence[Outcome]) -> ClaimVerdict:
    """Return what the measured numbers of a claim say together."""
    if "fails" in outcomes:
        return ClaimVerdict.NOT_REPRODUCED
    if all(one == "holds" for one in outcomes):
        return ClaimVerdict.REPRODUCED
    if all(one == "not testable" for one in outcomes):
        return ClaimVerdict.NOT_TESTABLE
    return ClaimVerdict.INCONCLUSIVE
