# SPDX-License-Identifier: Apache-2.0
"""The line of a finished trial says how it ended; slow CPUs are told once, and a terminal keeps its counter."""

from __future__ import annotations

import io

import pytest

from harness.measure.session.progress import PlainProgress, ProgressState, outcome_words
from harness.model import EarlierLoad, Outcome, TrialRecord
from harness.tests.support.toy_sessions import header, record, speeds


def finished(outcome: Outcome, step_ns: float | None) -> TrialRecord:
    head = header("smoke", 1)
    told = record(head.plan.trials[0], head, outcome)
    return told if step_ns is None else told.model_copy(update={"cpu_speeds": speeds(step_ns)})


SMOKE = "smoke/smoke-local-1"


def states(n: int) -> list[ProgressState]:
    doing = "trial 1, block 1: java-jdkhttp,generator=wrk,logging=on,warm_up=as-published,payload=32768"
    return [
        ProgressState(session=SMOKE, done=done, total=n, left_s=3725.0, doing=doing) for done in range(n + 1)
    ]


@pytest.mark.parametrize("moving", [False, True], ids=["plain", "terminal"])
def test_slowed_trials_are_counted_and_told_once_at_the_end(moving: bool) -> None:
    out = io.StringIO()
    progress = PlainProgress(out, moving=moving)
    for state, step_ns in zip(states(3), [78.0, 61.0, 72.0], strict=False):
        progress.trial_done(state, finished(Outcome.OK, step_ns))
    progress.close()
    assert out.getvalue().count("slower") == 1
    assert "CPUs slower than at their best in 2 of 3 trials, by up to 30%" in out.getvalue()
    assert out.getvalue().count("\n") == (1 if moving else 4)


def test_on_a_terminal_one_line_moves_and_keeps_counter_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    progress = PlainProgress(out, moving=True)
    for state in states(480):
        progress.step(state)
    *_, line = out.getvalue().split("\r\x1b[2K")
    assert len(line) == 79 and "\n" not in out.getvalue()
    assert line.startswith(f"{SMOKE}: 480/480 trials, about 1 h 2 min left: trial 1, block 1: ")


def test_a_trial_says_why_it_failed_and_how_often_its_load_was_offered() -> None:
    earlier = EarlierLoad(
        folder="earlier-load-1", duration_s=2.0, n_requests=9, n_errors=0, cpu_s=1.0, compile_s=0.5
    )
    again = finished(Outcome.OK, None).model_copy(update={"earlier_loads": (earlier,)})
    assert outcome_words(again) == "ok; took its load 2 times"
    assert outcome_words(finished(Outcome.FAILED, 78.0)) == "failed (the service ended)"
