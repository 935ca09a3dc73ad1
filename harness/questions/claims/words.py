# SPDX-License-Identifier: Apache-2.0
"""Claims and their verdicts in words. Directions and adjectives follow from predicates and intervals, never from text
beside them: what is printed cannot say more than what was tested."""

from __future__ import annotations

from harness.analysis.stats.pairing import unit_of
from harness.model.claim import ClaimTest, ClaimVerdict, Near, Predicate, PublishedNumber
from harness.model.digits import fixed, plain, whole_percent
from harness.model.estimate import Estimate
from harness.model.formatting import joined, scale_of, show
from harness.questions.claims.evaluation import JudgedClaim, JudgedTest

VERDICT_WORDS = {
    ClaimVerdict.REPRODUCED: "reproduced",
    ClaimVerdict.NOT_REPRODUCED: "not reproduced",
    ClaimVerdict.CONTRADICTED: "contradicted by its own numbers",
    ClaimVerdict.INCONCLUSIVE: "inconclusive",
    ClaimVerdict.NOT_TESTABLE: "not testable here",
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
        return f"not testable here: {one.judgement.why}"
    said = {"holds": "as claimed", "fails": "not as claimed", "undecided": "undecided"}[one.outcome]
    return f"{estimate_words(one.measured.estimate)}, {said}: {one.judgement.why}"


def estimate_words(estimate: Estimate) -> str:
    """Return value and interval in plain characters."""
    return show(estimate).interval.replace("\N{NARROW NO-BREAK SPACE}", " ")


def verdict_words(one: JudgedClaim) -> str:
    """Return the verdict; of one that is contradicted by its own numbers also what was measured."""
    said = VERDICT_WORDS[one.verdict]
    if one.verdict is ClaimVerdict.CONTRADICTED and one.measured_verdict is not ClaimVerdict.NOT_TESTABLE:
        return f"{said}; measured here: {VERDICT_WORDS[one.measured_verdict]}"
    return said


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
