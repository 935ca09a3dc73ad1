# SPDX-License-Identifier: Apache-2.0
"""How two sessions are set side by side in words: what did not happen is not counted."""

from __future__ import annotations

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.session_agreement import SessionAgreement, agreement
from harness.evidence.results import counts_in_words
from harness.model import Verdict
from harness.tests.analysis.stats.test_session_agreement import session


def undecided(one: Comparison) -> Comparison:
    return one.model_copy(update={"verdict": Verdict.INCONCLUSIVE})


def said(found: SessionAgreement) -> tuple[str, str]:
    """What stands before the expected number, and what stands behind it."""
    before, _, rest = counts_in_words(found).partition(" (where nothing changed, sampling alone gives ")
    return before, rest.partition(")")[2]


def test_where_every_verdict_agrees_nothing_else_is_said() -> None:
    assert said(agreement(session(1.5), session(1.5, seed=1))) == ("2 of 2 verdicts agree", "")


def test_contradictions_alone_are_counted() -> None:
    assert said(agreement(session(1.5), session(0.5))) == ("0 of 2 verdicts agree", ", 2 contradict")


def test_a_verdict_that_one_session_alone_decides_is_no_contradiction() -> None:
    first, second = session(1.5, seed=1)
    assert said(agreement(session(1.5), (undecided(first), second))) == (
        "1 of 2 verdicts agree",
        ", none contradict, in 1 at most one session decides",
    )


def test_verdicts_that_agree_because_neither_session_decides_are_counted() -> None:
    first, second = session(1.5)
    refused = first.model_copy(update={"verdict": Verdict.NOT_ABOUT_SERVICES})
    assert said(agreement((refused, second), (refused, second))) == (
        "2 of 2 verdicts agree",
        ", and in 1 of the 2 neither session decides",
    )
    assert said(agreement((undecided(first), second), (undecided(first), undecided(second)))) == (
        "1 of 2 verdicts agree",
        ", none contradict, in 1 at most one session decides, and in 1 of the 1 neither does",
    )
