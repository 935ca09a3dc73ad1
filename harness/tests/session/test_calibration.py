# SPDX-License-Identifier: Apache-2.0
"""Scaled loads: shares of a capacity measured once and kept; what echo answers where a tool's headroom is measured."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.agent.http_exchange import Answer
from harness.conformance import judge
from harness.definitions import experiment_files, load_implementations, load_study
from harness.errors import CalibrationFailed, TrialFailure
from harness.loadgen.correlation import Scalar
from harness.loadgen.flow import flow_fault
from harness.measure.runner.trial import bounded
from harness.measure.session import measure, prepare
from harness.measure.session.capacity_trials import capacity_per_s, saturated
from harness.measure.session.headroom import ECHO_IMPLEMENTATION, ECHO_WORKLOAD, echo_variant, echoed
from harness.model import ClosedLoad, GeneratorName, LoadSummary, OpenLoad, configurations, make_plan
from harness.model.load_tools import BY_NAME
from harness.project import find_root
from harness.tests.support import sessions
from harness.tests.support.accounts_server import step, transfer_flow
from harness.tests.support.answering_server import request_to
from harness.tests.support.fakes import FakeLoadGenerator
from harness.tests.support.synthetic import ROOT

CALM = 'implementation = "misbehaving"'


def scaled_project(root: Path, *, other: str = "") -> Path:
    """The tiny project with an open load at half of what the calm variant bears from two users."""
    made = sessions.make_session_project(root, other=other)
    path = made / "harness/experiments/tiny.toml"
    text = path.read_text().partition("[profiles.smoke.loads.few]")[0]
    path.write_text(
        f"{text}calibration = {{ generator = 'locust', users = 2, duration_s = 0.5, warm_up_requests = 0 }}\n"
        "[profiles.smoke.scaled_loads.few]\ngenerator = 'locust'\n"
        "profile = { model = 'open', rate_share = 0.1, duration_s = 0.5 }\n"
    )
    return made


def summary(**changes: object) -> LoadSummary:
    known = {
        "n_requests": 100, "n_errors": 10, "start_epoch_s": 0.0, "duration_s": 3.0, "offered_per_s": None,
        "achieved_per_s": 33.0, "latency_mean_s": 0.1, "resolution_s": 0.001, "has_requests": True,
    }  # fmt: skip
    return LoadSummary.model_validate(known | changes)


def test_capacity_counts_right_answers_by_the_steps_of_a_pass() -> None:
    assert capacity_per_s(summary(), 1) == pytest.approx(30.0)
    assert capacity_per_s(summary(), 3) == pytest.approx(10.0)
    assert capacity_per_s(summary(duration_s=0.0), 1) == 0.0


@pytest.mark.parametrize("name", experiment_files(ROOT))
def test_every_plan_has_the_same_order_before_and_after_its_calibration(name: str) -> None:
    experiment = load_study(ROOT, name).experiment
    for profile, definition in experiment.profiles.items():
        before = make_plan(experiment, profile, 1)
        after = make_plan(experiment.calibrated(profile, 345.6), profile, 1)
        assert [trial.trial_id for trial in before.trials] == [trial.trial_id for trial in after.trials]
        scaled = {trial.configuration.load_name for trial in before.trials} & set(definition.scaled_loads)
        assert bool(scaled) == (before != after)
        assert make_plan(experiment.calibrated(profile, 345.6), profile, 1) == after


def test_a_database_that_lives_on_is_not_touched_by_the_calibration() -> None:
    experiment = load_study(ROOT, "bank-original").experiment
    first, order = configurations(experiment, "quick")[0], experiment.profiles["quick"].calibration
    assert order is not None and first.backing is not None and not first.backing.wiped
    busy = saturated(first, order)
    assert busy.backing is not None and busy.backing.wiped and busy.load == order.load


def test_a_session_measures_its_capacity_once_and_goes_on_with_it(tmp_path: Path) -> None:
    root = sessions.calm_alone(scaled_project(tmp_path))
    folder = sessions.measure_tiny(root)
    found = folder.calibration()
    assert folder.complete and found is not None and found.variant == "calm"
    assert folder.header.notes["calibration"] == found.model_dump(mode="json")
    rates = {
        trial.configuration.load.profile.rate_per_s
        for trial in folder.header.plan.trials
        if trial.configuration.load is not None and isinstance(trial.configuration.load.profile, OpenLoad)
    }
    assert rates == {round(max(1.0, 0.1 * found.capacity_per_s), 1)}
    last = folder.header.plan.trials[-1].trial_id
    (folder.folder / last).rename(folder.folder / ".partial-again")
    again = sessions.measure_tiny(root)
    assert again.complete and again.calibration() == found
    assert sum(event["event"] == "calibrated" for event in again.events()) == 1


def test_a_reference_that_answers_nothing_rightly_has_no_capacity_and_no_session(tmp_path: Path) -> None:
    root = scaled_project(tmp_path)
    path = root / "harness/experiments/tiny.toml"
    path.write_text(path.read_text().replace(CALM, f"{CALM}\nsettings = {{ wrong_answers = 2 }}", 1))
    with pytest.raises(CalibrationFailed, match="found no capacity: overloaded"):
        sessions.measure_tiny(root)
    assert not sessions.tiny_folder(root).exists


def searching_project(root: Path) -> Path:
    """The scaled project, whose capacity is searched for by short trials of another tool than it began with."""
    made = scaled_project(root)
    path = made / "harness/experiments/tiny.toml"
    goals = (
        "generator = 'k6', connections = 4, loss_ratio = 0.9, late_after_s = 30.0, first_trial_s = 0.2, "
        "trial_s = 0.3, trials_s = 0.6, width = 0.2"
    )
    text = path.read_text().replace(CALM, f"{CALM}\nsettings = {{ slow_s = 0.04 }}", 1)
    text = text.replace(
        "warm_up_requests = 0 }", f"warm_up_requests = 0, capacity = 'search', goals = {{ {goals} }} }}"
    )
    path.write_text(text)
    return made


def test_a_capacity_that_is_searched_for_is_kept_with_all_its_trials(tmp_path: Path) -> None:
    generators = {name: partial(FakeLoadGenerator, name=name) for name in ("locust", "k6")}
    assembly = replace(
        sessions.tiny_assembly(sessions.calm_alone(searching_project(tmp_path))), generators=generators
    )
    prepared = prepare(assembly, "tiny", profile="smoke", host="local", seed=1)
    folder = measure(assembly, prepared, limits=sessions.LIMITS)
    found = folder.calibration()
    assert folder.complete and found is not None
    search = found.searches["calm"]
    # whatever a busy machine does to so short trials: none of these answers takes half a minute
    assert found.capacity_per_s == pytest.approx(search.lower_per_s, abs=1e-3)
    assert len(search.trials) >= 2 and search.goals.generator == "k6"
    assert all(0.2 <= one.duration_s <= 0.3 for one in search.trials)
    assert min(one.rate_per_s for one in search.trials) <= search.lower_per_s
    assert folder.header.notes["calibration"] == found.model_dump(mode="json")
    assert not list((tmp_path / ".cache").rglob("samples.csv*")), "its trials' own files are thrown away"


def test_the_one_answer_to_a_flow_holds_all_it_captures_and_is_right_at_every_step() -> None:
    requests, body = echoed(transfer_flow())
    assert body == '{"id":1,"more":[null,{"owner":1}]}'
    assert flow_fault(requests) is None
    answer = Answer(status=200, headers={}, body=body.encode(), received_monotonic_s=0.0)
    values: dict[str, Scalar] = {}
    for request in requests:
        fault, taken = judge(answer, request.expect, request.capture, values)
        assert fault is None
        values |= taken
    assert values == {"a": 1, "owner": 1, "b": 1, "t": 1}


@pytest.mark.parametrize(("generator", "settings"), [("k6", {}), ("metronome", {"wait": "spin"})])
def test_sleepless_tools_meet_a_sleepless_service(generator: GeneratorName, settings: dict[str, str]) -> None:
    variant = echo_variant(never_sleeps=BY_NAME[generator].never_sleeps)
    echo = load_implementations(find_root(), ECHO_WORKLOAD)[ECHO_IMPLEMENTATION]
    assert variant.settings == settings and set(settings) <= set(echo.settings)


def test_captures_that_no_one_answer_can_hold_are_a_reason() -> None:
    first = step(1, "one", "GET", "/", capture={"a": "/id"})
    flow = (first, step(2, "two", "GET", "/", capture={"b": "/id/n"}))
    with pytest.raises(
        TrialFailure, match="no single answer of echo holds all that the flow captures: /id/n"
    ):
        echoed(flow)


def test_a_plain_mix_expects_what_echo_answers_in_the_words_of_its_first_request() -> None:
    requests, body = echoed((request_to("/a"), request_to("/b")))
    assert body == '{"v":"HELLO"}'
    assert [request.expect.json_value for request in requests] == [{"v": "HELLO"}] * 2
    for expect, wanted in (({"body": "x y"}, "x y"), ({"one_of": [{"a": 1}, 2]}, '{"a":1}'), ({}, None)):
        line = json.dumps(
            {"mix": "m", "name": "n", "method": "GET", "path": "/", "expect": {"status": 201, **expect}}
        )
        (request,), body = echoed((type(requests[0]).model_validate_json(line),))
        assert (body, request.expect.status) == (wanted, 200)


def test_passes_through_a_flow_are_bounded_by_their_requests() -> None:
    assert bounded(ClosedLoad(users=10, loops=10**6)).loops == 5000  # type: ignore[union-attr]  # stays closed
    assert bounded(ClosedLoad(users=10, loops=10**6), 5).loops == 1000  # type: ignore[union-attr]  # stays closed
