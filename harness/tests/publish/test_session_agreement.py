# SPDX-License-Identifier: Apache-2.0
"""How two sessions are set side by side in words: what did not happen is not counted."""

from __future__ import annotations

from harness.analysis.stats.session_agreement import SessionAgreement, agreement
from harness.model import Verdict
from harness.publish.session_agreement import counts_in_words
from harness.tests.analysis.stats.test_session_agreement import session


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
    undecided = first.model_copy(update={"verdict": Verdict.INCONCLUSIVE})
    assert said(agreement(session(1.5), (undecided, second))) == (
        "1 of 2 verdicts agree",
        ", none contradict, in 1 only one session decides",
    )
