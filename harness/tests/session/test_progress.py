# SPDX-License-Identifier: Apache-2.0
"""The line of a finished trial says how it ended, and that its CPUs were slow where they were."""

from __future__ import annotations

from harness.model import EarlierLoad, Outcome, TrialRecord
from harness.session.progress import is_slowed, outcome_words
from harness.tests.support.toy_sessions import header, record, speeds


def finished(outcome: Outcome, step_ns: float | None) -> TrialRecord:
    head = header("smoke", 1)
    told = record(head.plan.trials[0], head, outcome)
    return told if step_ns is None else told.model_copy(update={"cpu_speeds": speeds(step_ns)})


def test_a_trial_at_full_speed_or_without_a_reading_is_just_ok() -> None:
    assert outcome_words(finished(Outcome.OK, 61.0)) == "ok"
    assert outcome_words(finished(Outcome.OK, None)) == "ok" and not is_slowed(finished(Outcome.OK, None))


def test_a_slowed_trial_says_by_how_much() -> None:
    assert outcome_words(finished(Outcome.OK, 78.0)) == "ok; its CPUs were 30% slower than at their best"


def test_a_load_that_was_offered_again_says_how_often_and_why() -> None:
    earlier = EarlierLoad(
        folder="earlier-load-1", duration_s=2.0, n_requests=9, n_errors=0, cpu_s=1.0, compile_s=0.5
    )
    told = finished(Outcome.OK, None).model_copy(update={"earlier_loads": (earlier,)})
    assert outcome_words(told) == "ok; took its load 2 times, because the JVM compiled"


def test_a_failed_one_says_why_first() -> None:
    said = outcome_words(finished(Outcome.FAILED, 78.0))
    assert said.startswith("failed (the service ended); its CPUs were")
