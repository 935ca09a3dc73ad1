# SPDX-License-Identifier: Apache-2.0
"""The line of a finished trial says how it ended; slow CPUs are told once, and a terminal keeps its counter."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from harness.model import EarlierLoad, Outcome, TrialRecord
from harness.session.progress import (
    PlainProgress,
    Progress,
    ProgressState,
    TerminalProgress,
    outcome_words,
)
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


def ended(progress: Progress, steps_ns: list[float | None], outcome: Outcome = Outcome.OK) -> None:
    for state, step_ns in zip(states(len(steps_ns)), steps_ns, strict=False):
        progress.trial_done(state, finished(outcome, step_ns))
    progress.close()


@pytest.mark.parametrize("terminal", [False, True], ids=["plain", "terminal"])
def test_slowed_trials_are_counted_and_told_once_at_the_end(terminal: bool) -> None:
    out = io.StringIO()
    progress = TerminalProgress(Console(file=out, width=80)) if terminal else PlainProgress(out)
    ended(progress, [78.0, 61.0, 72.0])
    assert out.getvalue().count("slower") == 1
    assert "CPUs slower than at their best in 2 of 3 trials, by up to 30%" in out.getvalue()


def test_at_80_columns_the_bar_has_its_counter_and_its_time_and_what_is_done_is_below_it() -> None:
    out = io.StringIO()
    progress = TerminalProgress(Console(file=out, width=80, force_terminal=True, color_system=None))
    for state in states(480):
        progress.step(state)
    progress.close()
    *_, bar, doing = [
        line for line in re.sub(r"\x1b\[[0-9?;]*[A-Za-z]", "", out.getvalue()).splitlines() if line
    ]
    assert re.search(r"━{24} 480/480 trials, 1 h 2 min left *$", bar.split("\r")[-1])
    assert (
        len(doing) <= 80
        and doing.startswith(f"{SMOKE}: trial 1, block 1: java-jdkhttp")
        and doing.endswith("…")
    )


def test_a_trial_says_why_it_failed_and_how_often_its_load_was_offered() -> None:
    earlier = EarlierLoad(
        folder="earlier-load-1", duration_s=2.0, n_requests=9, n_errors=0, cpu_s=1.0, compile_s=0.5
    )
    again = finished(Outcome.OK, None).model_copy(update={"earlier_loads": (earlier,)})
    assert outcome_words(again) == "ok; took its load 2 times"
    assert outcome_words(finished(Outcome.FAILED, 78.0)) == "failed (the service ended)"
