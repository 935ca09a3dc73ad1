# SPDX-License-Identifier: Apache-2.0
"""Claims and their verdicts in words. Directions and adjectives follow from predicates and intervals, never from text
beside them: what is printed cannot say more than what was tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from harness.analysis.stats.pairing import unit_of
from harness.model.age import with_age
from harness.model.claim import ClaimTest, ClaimVerdict, Near, PublishedNumber, RowFilter
from harness.model.digits import plain
from harness.model.formatting import DASH, joined, scale_of, show
from harness.questions.claims.evaluation import JudgedClaim, JudgedTest, Judgement, Outcome
from harness.questions.claims.rows import Candidate, Row
from harness.rows.text import estimate_of

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
#: What a number says of its predicate.
OUTCOME_WORDS = {"holds": "as claimed", "fails": "not as claimed", "undecided": "undecided"}
_COUNTED: Mapping[Outcome, str] = {
    "holds": "hold",
    "undecided": "undecided",
    "not testable": "untestable here",
}


def predicate_words(test: ClaimTest) -> str:
    """Return the numbers that fulfil a predicate, in the test's unit: ``above 1.1``, ``between 0.95 and 1.05``."""
    predicate = test.predicate
    if isinstance(predicate, Near):
        low, high = (number(end, unit(test)) for end in predicate.band)
        return f"between {low} and {high}"
    factor, name = scale_of(unit(test), predicate.limit)
    return f"{predicate.kind} {predicate.limit * factor:g}{joined(name)}"


def unit(test: ClaimTest) -> str:
    """Return the unit of a test's number: none of a ratio, else that of the metric."""
    if test.is_ratio:
        return "ratio"
    return unit_of(test.rows[0].metric) if test.rows else "1"


def number(value: float, of: str) -> str:
    """Return a number without an interval, in the step of its unit that reads best."""
    factor, name = scale_of(of, value)
    return plain(float(value * factor)) + joined(name)


def measured_words(test: JudgedTest) -> str:
    """Return the measured number with its interval, and what it says of the predicate."""
    if test.row is None:
        return f"untestable here: {test.judgement.why}"
    size = {None: "", "reversed": ", the other way round"}.get(test.size, f", {test.size} than published")
    return f"{here_words(test.row)}, {OUTCOME_WORDS[test.outcome]}{size}: {test.judgement.why}"


def here_words(row: Row | None) -> str:
    """Return what was measured, with its interval and the word for young processes, or what it is less than; a dash."""
    if row is None:
        return DASH
    if row["below"] is not None:
        return f"< {number(row['below'], row['unit'])}"
    return with_age(show(estimate_of(row)).interval, row["young"])


def outcome_words(judgement: Judgement) -> str:
    """Return what a number says of its predicate, or why it was not measured."""
    return f"not measured: {judgement.why}" if judgement.outcome == "not testable" else judgement.outcome


def then_words(judgement: Judgement) -> str:
    """Return what was measured of the source's programs and what it says of the predicate, or why nothing was."""
    if judgement.row is None:
        return outcome_words(judgement)
    return f"{here_words(judgement.row)}, {OUTCOME_WORDS[judgement.outcome]}: {judgement.why}"


def verdict_words(claim: JudgedClaim) -> str:
    """Return the verdict, with both numbers where it says how they differ, and what an inconclusive one lacks."""
    words = VERDICT_WORDS[claim.verdict]
    if claim.verdict is ClaimVerdict.CONTRADICTED:
        measured = VERDICT_WORDS[claim.measured_verdict]
        untested = claim.measured_verdict is ClaimVerdict.UNTESTABLE
        return words if untested else f"{words}; measured here: {measured}"
    if claim.verdict is ClaimVerdict.INCONCLUSIVE and len(claim.tests) > 1:
        outcomes = Counter(test.outcome for test in claim.tests)
        numbers = [f"{outcomes[outcome]} {word}" for outcome, word in _COUNTED.items() if outcomes[outcome]]
        return f"{words}: of {len(claim.tests)} numbers {', '.join(numbers)}"
    shown = claim.shown
    if shown.size is None or shown.published is None:
        return words
    return f"{words}: published {number(shown.published, unit(shown.test))}, here {here_words(shown.row)}"


def passed_over_words(candidate: Candidate) -> str:
    """Return a row that judges nothing: its session, what it says, and why another one judges."""
    row = candidate.row
    session = candidate.filter.experiment if row is None else row["session"]
    says = "" if row is None else f"{here_words(row)}; "
    return f"{session}, {candidate.filter.metric} {compared_words(candidate.filter)}: {says}{candidate.why}"


def compared_words(row: RowFilter) -> str:
    """Return what of an experiment is compared: ``java-vertx over go-nethttp (craft=idiomatic)``."""
    against = f" over {row.reference}" if row.reference else ""
    levels = ", ".join(f"{factor}={name}" for factor, name in row.where.items() if factor != row.along)
    own = (
        f"{row.along} {row.where[row.along]}{against}, {row.variant}" if row.along else row.variant + against
    )
    return own + (f" ({levels})" if levels else "")


def place_words(published: PublishedNumber) -> str:
    """Return where a published number stands."""
    words = f"data/published/{published.file}.csv, {published.column}"
    for joint, cell in ((" at ", published.of), (" over ", published.over or {})):
        cells = ", ".join(f"{column}={value}" for column, value in cell.items())
        words += joint + cells if cells else ""
    return words if published.over_column is None else f"{words} over {published.over_column}"
