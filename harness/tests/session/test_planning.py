# SPDX-License-Identifier: Apache-2.0
"""A session goes on under the plan it was recorded with, whatever the planner makes today; how its progress is told."""

from __future__ import annotations

import io
from typing import cast

import pytest

from harness.definitions import load_study
from harness.measure.session.dry_run import expected_s
from harness.measure.session.planning import Prepared, plan_without, refuse_other_plan
from harness.measure.session.progress import PlainProgress, ProgressState, outcome_words
from harness.measure.session.wiring import Assembly
from harness.model import EarlierLoad, Outcome, Plan, SessionHeader, TrialRecord
from harness.model.plan import Pairs, configurations
from harness.store import Store
from harness.tests.support.synthetic import ROOT
from harness.tests.support.toy_sessions import header, record, speeds

BUNDLED = {session.key: session for session in Store(ROOT).sessions(bundled=True)}


def header_of(name: str) -> SessionHeader:
    return next(session.header for key, session in BUNDLED.items() if f"/{name}/" in key)


def planned(header: SessionHeader, pairs: Pairs | None = None) -> Plan:
    """What the planner of today makes of the header's own definition."""
    plan = header.plan
    return plan_without(
        header.experiment, plan.profile, header.unavailable,
        host=plan.host, seed=plan.seed, launcher=plan.launcher, pairs=pairs,
    )  # fmt: skip


def prepared_today(header: SessionHeader) -> Prepared:
    definition = {"experiment": header.experiment, "implementations": header.implementations}
    return Prepared(
        study=load_study(ROOT, header.experiment.name).model_copy(update=definition), plan=planned(header),
        session_id=header.session_id, unavailable=header.unavailable,
    )  # fmt: skip


@pytest.mark.parametrize("key", BUNDLED)
def test_every_session_that_comes_with_the_project_could_go_on(key: str) -> None:
    header = BUNDLED[key].header
    refuse_other_plan(header, prepared_today(header))


def test_a_session_begun_with_a_pair_in_one_cell_goes_on_with_it() -> None:
    header = header_of("strings-rounds")
    old, prepared = planned(header, "first cell"), prepared_today(header)
    assert len(prepared.plan.trials) > len(old.trials)
    refuse_other_plan(header.model_copy(update={"plan": old}), prepared)


def test_pods_and_an_autoscaler_are_part_of_what_a_trial_is_expected_to_take() -> None:
    study = load_study(ROOT, "k8s-scale-out")
    assembly = cast(Assembly, None)  # asked of loads alone
    go = {
        one.levels["pods"]: expected_s(assembly, study, one)
        for one in configurations(study.experiment, "full")
        if one.variant_name == "go-nethttp"
    }
    assert go["one"] < go["three"] == go["scaled"] < go["ten"] == go["boosted"]


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
