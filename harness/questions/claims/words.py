# SPDX-License-Identifier: Apache-2.0
"""Claims and their verdicts in words. Directions and adjectives follow from predicates and intervals, never from text
beside them: what is printed cannot say more than what was tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from harness.analysis.stats.pairing import unit_of
from harness.model.age import with_age
from harness.model.claim import ClaimTest, ClaimVerdict, MeasuredNumber, Near, Predicate, PublishedNumber
from harness.model.digits import fixed, plain, whole_percent
from harness.model.formatting import DASH, joined, scale_of, show
from harness.questions.claims.choosing import PassedOver
from harness.questions.claims.evaluation import JudgedClaim, JudgedTest
from harness.questions.claims.judging import Outcome
from harness.questions.claims.measured import Measured

VERDICT_WORDS = {
    ClaimVerdict.HOLDS: "holds",
    ClaimVerdict.HOLDS_WEAKER: "holds, weaker",
    ClaimVerdict.HOLDS_STRONGER: "holds, stronger",
    ClaimVerdict.REVERSED: "reversed",
    ClaimVerdict.DOES_NOT_HOLD: "does not hold today",
    ClaimVerdict.CONTRADICTED: "contradicted by its own numbers",
    ClaimVerdict.INCONCLUSIVE: "inconclusive",
    ClaimVerdict.UNTESTABLE: "untestable here",
}


def predicate_words(test: ClaimTest) -> str:
    """Return the predicate: ``above 1.1``, ``between 0.95 and 1.05``."""
    return limits(test.predicate, unit(test))


def limits(predicate: Predicate, of: str) -> str:
    """Return the numbers that fulfil a predicate, in this unit."""
    if isinstance(predicate, Near):
        low, high = predicate.band
        return f"between {number(low, of)} and {number(high, of)}"
    factor, name = scale_of(of, predicate.limit)
    return f"{predicate.kind} {predicate.limit * factor:g}{joined(name)}"


def unit(test: ClaimTest) -> str:
    """Return the unit of a test's number: none of a ratio, else that of the metric."""
    if test.is_ratio:
        return "ratio"
    return unit_of(test.measured[0].metric) if test.measured else "1"


def number(value: float, of: str) -> str:
    """Return a number without an interval, in the step of its unit that reads best."""
    factor, name = scale_of(of, value)
    return plain(float(value * factor)) + joined(name)


def published_words(one: JudgedTest) -> str | None:
    """Return the published number and whether it fulfils the predicate; ``None``: none was printed."""
    if one.published is None:
        return None
    said = "as claimed" if one.published_holds else "not as claimed"
    return f"{number(one.published, unit(one.test))}, {said}"


def measured_words(one: JudgedTest) -> str:
    """Return the measured number with its interval, and what it says of the predicate."""
    if one.measured is None:
        return f"untestable here: {one.judgement.why}"
    said = {"holds": "as claimed", "fails": "not as claimed", "undecided": "undecided"}[one.outcome]
    return f"{here_words(one.measured)}, {said}{_than_published(one)}: {one.judgement.why}"


def here_words(found: Measured | None) -> str:
    """Return what was measured, with its interval and the word for young processes, or what it is less than; a dash."""
    if found is None:
        return DASH
    if found.below is not None:
        return f"< {number(found.below, found.estimate.unit)}"
    return with_age(show(found.estimate).interval, found.young)


def verdict_words(one: JudgedClaim) -> str:
    """Return the verdict, with both numbers where it says how they differ, and what an inconclusive one lacks."""
    said = VERDICT_WORDS[one.verdict]
    if one.verdict is ClaimVerdict.CONTRADICTED:
        if one.measured_verdict is ClaimVerdict.UNTESTABLE:
            return said
        return f"{said}; measured here: {VERDICT_WORDS[one.measured_verdict]}"
    if one.verdict is ClaimVerdict.INCONCLUSIVE and len(one.tests) > 1:
        outcomes = Counter(test.outcome for test in one.tests)
        counted = [f"{outcomes[outcome]} {word}" for outcome, word in _OUTCOMES.items() if outcomes[outcome]]
        return f"{said}: of {len(one.tests)} numbers {', '.join(counted)}"
    shown = one.shown
    if shown.size is None or shown.published is None:
        return said
    return f"{said}: published {number(shown.published, unit(shown.test))}, here {here_words(shown.measured)}"


_OUTCOMES: Mapping[Outcome, str] = {
    "holds": "hold",
    "undecided": "undecided",
    "not testable": "untestable here",
}


def _than_published(one: JudgedTest) -> str:
    """Return how the number stands to the published one; empty: about the same, or none was printed."""
    if one.size is None:
        return ""
    return ", the other way round" if one.size == "reversed" else f", {one.size} than published"


def passed_over_words(one: PassedOver) -> str:
    """Return evidence that judges nothing: its session, what it says, and why other evidence judges."""
    compared = " ".join(filter(None, (one.number.metric, compared_words(one.number))))
    says = "" if one.measured is None else f"{here_words(one.measured)}; "
    return f"{one.session or one.number.experiment}, {compared}: {says}{one.why}"


def compared_words(number: MeasuredNumber) -> str:
    """Return what of an experiment is compared: ``java-vertx over go-nethttp (craft=idiomatic)``."""
    level = f"{number.factor} {number.level} over {number.base}, " if number.factor else ""
    against = f" over {number.over}" if number.over else ""
    levels = ", ".join(f"{factor}={name}" for factor, name in number.levels.items())
    return f"{level}{number.variant}{against}" + (f" ({levels})" if levels else "")


def bound_words(bound_by: dict[str, int]) -> str | None:
    """Return what bounded the trials: ``service 9 of 10, machine 1 of 10``; ``None``: the tables do not say."""
    n = sum(bound_by.values())
    return ", ".join(f"{by} {count} of {n}" for by, count in bound_by.items()) or None


def place_words(published: PublishedNumber) -> str:
    """Return where a published number stands."""
    cells = ", ".join(f"{column}={value}" for column, value in published.of.items())
    said = f"data/published/{published.file}.csv, {published.column}" + (f" at {cells}" if cells else "")
    if published.over is not None:
        said += " over " + ", ".join(f"{column}={value}" for column, value in published.over.items())
    if published.over_column is not None:
        said += f" over {published.over_column}"
    return said


def margin_words(margin: float | None) -> str:
    """Return the margin that was used; none: nothing could be called equal."""
    return "none" if margin is None else whole_percent(margin)


def p_words(p: float | None, n_family: int) -> str | None:
    """Return the adjusted p-value with its family's size; ``None``: there is none."""
    return None if p is None else f"{fixed(p, 3)} over {n_family} numbers"
