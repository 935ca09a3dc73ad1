# SPDX-License-Identifier: Apache-2.0
"""From rows to verdicts: whether a row fulfils a predicate, and what the numbers of a claim say together.

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
from math import inf, nextafter
from typing import Literal, NamedTuple, get_args

from harness.analysis.stats.verdicts import ALPHA, FEWEST_FOR_P, adjust_pvalues, p_can_tell
from harness.model.claim import Above, Below, Claim, ClaimTest, ClaimVerdict, Near, Predicate, PublishedFact
from harness.model.formatting import NOT_ABOUT
from harness.questions.claims.rows import AXES, Axis, Choice, PublishedTables, Row, Sessions, choose
from harness.rows.limits import FACTS

Outcome = Literal["holds", "fails", "undecided", "not testable"]
#: How a measured ratio stands to the published one, where it is not about the same.
Size = Literal["weaker", "stronger", "reversed"]
#: A ratio this many times as far from 1 as the published one, or one over this, is another size.
OTHER_SIZE = 2.0
_WHY: Mapping[Outcome, str] = {"holds": "fulfils it", "fails": "excludes it", "undecided": "allows both"}


class Judgement(NamedTuple):
    """What a ``row`` says of a predicate, and why. ``p_adjusted``: over the ``n_family`` numbers of its family."""

    outcome: Outcome
    why: str
    p_adjusted: float | None = None
    n_family: int = 0
    row: Row | None = None


def evaluate(predicate: Predicate, row: Row, p_adjusted: float | None = None, n_family: int = 0) -> Judgement:
    """Return whether a row fulfils a predicate, or why that cannot be said.

    Args:
        row: with the columns of :mod:`harness.rows.limits`.
        p_adjusted: of a ratio against the limit, over its family; None: there is none.
    """
    outcome: Outcome = "undecided"
    why, p, n = None, None, 0
    if row["says"] == "refused":
        why = f"{NOT_ABOUT}: {row['why']}"
    elif row["metric"] in FACTS and row["value"] is not None:
        outcome = "holds" if predicate.holds(row["value"]) else "fails"
        why = "a fact of files or of a build"
    elif row["below"] is not None:
        outcome = _of_interval(predicate, 0.0, nextafter(row["below"], 0.0))
        why = "less than the windows of the warm-up tell apart"
    elif row["low"] is None or row["high"] is None:
        why = row["why"] or "; ".join(row["warnings"]) or "no interval"
    elif row["n_used"] < FEWEST_FOR_P:
        why = f"{row['n_used']} blocks, fewer than {FEWEST_FOR_P}"
    elif row["kind"] == "mean":
        outcome = _of_interval(predicate, row["low"], row["high"])
    else:
        p, n = (p_adjusted if p_can_tell(row["n_used"], n_family) else None), n_family
        outcome, why = _of_ratio(predicate, row, apart=p is None or p <= ALPHA)
    return Judgement(outcome, why or f"the 95 % interval {_WHY[outcome]}", p, n)


def _of_ratio(predicate: Predicate, row: Row, *, apart: bool) -> tuple[Outcome, str | None]:
    """Return what a ratio says of a predicate. ``apart``: its p-value in the family allows to call it different."""
    says, low, high, near = row["says"], row["low"], row["high"], isinstance(predicate, Near)
    outcome: Outcome = "undecided"
    why = row["why"] if says == "open" else None
    if says in ("higher", "lower") and not apart:
        why = "different on its own, not within its family"
    elif says in ("higher", "lower") and near:
        # different is not enough to be outside of the margin: the interval has to leave that out
        within = 1 + (row["margin"] or predicate.margin)
        if low > within * predicate.limit or high < predicate.limit / within:
            outcome = "fails"
    elif says in ("higher", "lower"):
        outcome = "holds" if (says == "higher") == isinstance(predicate, Above) else "fails"
    elif says == "equal":
        outcome = "holds" if near else "fails"
        why = "the 90 % interval lies within the margin" + ("" if near else " of the limit")
    if row["alike"] is not None and outcome != "undecided":
        # any ratio that is farther from 1 has to say the same
        farther = _of_interval(predicate, 0.0 if low <= 1 else low, inf if high >= 1 else high)
        if farther != outcome:
            return "undecided", f"the ratio of the services is farther from 1: {row['alike']}"
    return outcome, why


def _of_interval(predicate: Predicate, low: float, high: float) -> Outcome:
    if isinstance(predicate, Near):
        least, greatest = predicate.band
        holds, fails = least <= low and high <= greatest, low > greatest or high < least
    elif isinstance(predicate, Above):
        holds, fails = low > predicate.limit, high < predicate.limit
    else:
        holds, fails = high < predicate.limit, low > predicate.limit
    return "holds" if holds else "fails" if fails else "undecided"


def size_of(predicate: Predicate, published: float | None, row: Row, outcome: Outcome) -> Size | None:
    """Return how a measured ratio stands to the published one; ``None``: about the same, or it cannot be said.

    *Weaker* and *stronger*: it holds, and its whole interval is less than half as far from 1 as the published ratio, or
    more than twice as far, on the side that is claimed. *Reversed*: it fails, and its whole interval lies beyond the
    margin on the other side of 1 than the published ratio, or the limit where no ratio was printed.
    """
    if row["low"] is None or row["high"] is None:
        return None
    low, high = sorted((_from_1(row["low"]), _from_1(row["high"])))
    if outcome == "fails":
        side = _side(predicate, published)
        return "reversed" if side and min(-side * low, -side * high) > predicate.margin else None
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


@dataclass(frozen=True)
class JudgedTest:
    """One number of a claim.

    ``published``: ``None`` where no number was printed. ``choice``: the row of today that judges it, ``judgement`` what
    that says, ``then`` and ``then_ours`` what rows of the source's programs say, by its method and by ours.
    """

    test: ClaimTest
    published: float | None
    choice: Choice
    judgement: Judgement
    then: Judgement
    then_ours: Judgement

    @property
    def published_holds(self) -> bool | None:
        """Whether the published number fulfils the predicate."""
        return None if self.published is None else self.test.predicate.holds(self.published)

    @property
    def row(self) -> Row | None:
        """The row of today."""
        return self.choice.row

    @property
    def outcome(self) -> Outcome:
        """What the row of today says of the predicate."""
        return self.judgement.outcome

    @property
    def size(self) -> Size | None:
        """How the measured ratio stands to the published one, where it is another size."""
        if self.row is None or not self.test.is_ratio:
            return None
        return size_of(self.test.predicate, self.published, self.row, self.outcome)

    @property
    def trials(self) -> tuple[str, ...]:
        """The trials that the row rests on."""
        return () if self.row is None else tuple(sorted(self.row["inputs"]))

    @property
    def not_reproduced(self) -> str | None:
        """Why it was not reproduced; ``None``: it was, or a verdict is missing for that."""
        then, by_us, today = self.then.outcome, self.then_ours.outcome, self.outcome
        if today not in ("holds", "fails"):
            return None
        if by_us == "holds":  # true of the services, whatever their source's method shows on this machine
            return "outdated" if today == "fails" else None
        if then == "fails":
            return "wrong then"
        return "artefact of the method" if (then, by_us) == ("holds", "fails") else None


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with what its numbers say; ``facts``: with their published numbers."""

    name: str
    claim: Claim
    tests: tuple[JudgedTest, ...]
    facts: tuple[tuple[PublishedFact, float], ...]

    @property
    def verdict(self) -> ClaimVerdict:
        """What can be said of the claim."""
        return self.measured_verdict if self.contradiction is None else ClaimVerdict.CONTRADICTED

    @property
    def measured_verdict(self) -> ClaimVerdict:
        """What the verdict would be without the published numbers."""
        return measured_verdict([(test.outcome, test.size) for test in self.tests])

    @property
    def shown(self) -> JudgedTest:
        """The test that decided: the first that fails, else that is undecided, else that holds as the claim does."""
        outcomes = [test.outcome for test in self.tests]
        outcome = next(each for each in ("fails", "undecided", "holds", "not testable") if each in outcomes)
        deciding = [test for test in self.tests if test.outcome == outcome]
        size = next((each for each in get_args(Size) if self.measured_verdict.value.endswith(each)), None)
        return next((test for test in deciding if test.size == size), deciding[0])

    @property
    def contradiction(self) -> JudgedTest | None:
        """The first test that the published numbers do not fulfil."""
        return next((test for test in self.tests if test.published_holds is False), None)


def judge_claims(
    claims: Mapping[str, Claim], sessions: Sessions, tables: PublishedTables, reasons: Mapping[str, str]
) -> tuple[JudgedClaim, ...]:
    """Return every claim with its verdicts, in the order of the ledger.

    ``reasons``: source -> why a number that something here measures, and that names no row of its time, has no verdict
    of that time. A table or a session that does not have what a claim names is an ``InputError``.
    """
    judged = {axis: _judgements(claims, sessions, axis) for axis in AXES}

    def judged_test(name: str, place: int, test: ClaimTest) -> JudgedTest:
        reason = Judgement("not testable", test.missing or reasons.get(claims[name].source, ""))
        return JudgedTest(
            test,
            None if test.published is None else tables.value(test.published),
            *judged["rows"][name, place],
            then=judged["then"][name, place][1] if test.then else reason,
            then_ours=judged["then_ours"][name, place][1] if test.then_ours else reason,
        )

    return tuple(
        JudgedClaim(
            name,
            claim,
            tests=tuple(judged_test(name, place, test) for place, test in enumerate(claim.tests)),
            facts=tuple((fact, tables.value(fact.published)) for fact in claim.facts),
        )
        for name, claim in claims.items()
    )


def _judgements(
    claims: Mapping[str, Claim], sessions: Sessions, axis: Axis
) -> dict[tuple[str, int], tuple[Choice, Judgement]]:
    """Judge every number by its row; the p-values of a family are adjusted together (Holm)."""
    tests = {(name, place): test for name, claim in claims.items() for place, test in enumerate(claim.tests)}
    choices = {key: choose(test, sessions, axis) for key, test in tests.items()}
    families: dict[str, dict[tuple[str, int], float]] = {}
    for key, (row, _, _) in choices.items():
        if row is None or row["says"] == "refused" or isinstance(tests[key].predicate, Near):
            continue
        if row["p_value"] is not None:
            families.setdefault(claims[key[0]].family, {})[key] = row["p_value"]
    adjusted = {
        key: (p, len(family))
        for family in families.values()
        for key, p in zip(family, adjust_pvalues(list(family.values())), strict=True)
    }

    def judgement(key: tuple[str, int], choice: Choice) -> Judgement:
        if choice.row is None:
            return Judgement("not testable", choice.why)
        predicate = tests[key].predicate
        judged = evaluate(predicate, choice.row, *adjusted.get(key, (None, 0)))
        again = [evaluate(predicate, each.row) for each in choice.passed_over if axis == "then" and each.row]
        if any(each.outcome != judged.outcome for each in again):
            judged = Judgement("undecided", "its sessions say different things")
        return judged._replace(row=choice.row)

    return {key: (choice, judgement(key, choice)) for key, choice in choices.items()}


def measured_verdict(numbers: Sequence[tuple[Outcome, Size | None]]) -> ClaimVerdict:
    """Return what the measured numbers of a claim say together, each with its outcome and size."""
    outcomes = [outcome for outcome, _ in numbers]
    if "fails" in outcomes:
        turned = all(size == "reversed" for outcome, size in numbers if outcome == "fails")
        return ClaimVerdict.REVERSED if turned else ClaimVerdict.DOES_NOT_HOLD
    if all(outcome == "not testable" for outcome in outcomes):
        return ClaimVerdict.UNTESTABLE
    if any(outcome != "holds" for outcome in outcomes):
        return ClaimVerdict.INCONCLUSIVE
    sizes = [size for _, size in numbers]
    if "weaker" in sizes:
        return ClaimVerdict.HOLDS_WEAKER
    return ClaimVerdict.HOLDS_STRONGER if all(size == "stronger" for size in sizes) else ClaimVerdict.HOLDS


def counts(judged: Sequence[JudgedClaim]) -> dict[ClaimVerdict, int]:
    """Return how many claims have each verdict, 0 included."""
    numbers = Counter(claim.verdict for claim in judged)
    return {verdict: numbers[verdict] for verdict in ClaimVerdict}
