# SPDX-License-Identifier: Apache-2.0
"""From launch to the first correct answer, and warm-up: every way in which it can go wrong has its outcome."""

from __future__ import annotations

import json
import time

import pytest

from harness.agent.http_exchange import Connection
from harness.errors import TrialFailure
from harness.measure.runner.start_up import wait_first_response
from harness.measure.runner.warm_up import warm_up
from harness.model import Outcome
from harness.model.started import SettingValue
from harness.tests.contracts.launcher import HELLO
from harness.tests.support.accounts_server import accounts_server, open_and_show, transfer_flow
from harness.tests.support.available import patient
from harness.tests.support.instances import CONTRACT, Project
from harness.workloads import load_all_requests

BOTH = tuple(request for request in load_all_requests(CONTRACT) if request.mix == "both")


def test_the_time_to_first_response_is_from_launch_to_the_first_correct_answer(project: Project) -> None:
    instance = project.launch(not_yet=5)
    start_up = wait_first_response(instance, HELLO, patient(20))
    waited_s = time.monotonic() - instance.record.launched.monotonic_s
    assert 0 < start_up.time_to_first_response_s <= waited_s
    assert start_up.polls > 5
    assert start_up.rss_bytes_at_first_response is not None
    assert start_up.cpu_s_at_first_response is not None
    assert 0 < start_up.cpu_s_at_first_response < waited_s * 4


@pytest.mark.parametrize(
    ("settings", "deadline_s", "outcome", "reason"),
    [
        ({"never_ready": "silent"}, 0.6, Outcome.TIMED_OUT, "no answer to POST /uppercase within 0.6 s of launch"),
        ({"never_ready": "deaf"}, 0.6, Outcome.TIMED_OUT, "no answer to POST /uppercase within 0.6 s of launch"),
        ({"not_yet": 1_000_000}, patient(2), Outcome.TIMED_OUT, "only status 503 as an answer to POST"),
        ({"fail_start": "no database at db:5432"}, patient(20), Outcome.FAILED,
         "exited with 3 before its first answer: no database at db:5432"),
        ({"crash_after": 0}, patient(20), Outcome.FAILED,
         "exited with 2 before its first answer: panic: told to crash"),
        ({"wrong_answers": 0}, patient(20), Outcome.NONCONFORMING,
         """first answer to uppercase-hello: expected JSON {"v": "HELLO"}, got '{"v":"wrong"}'"""),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_service_that_does_not_get_ready_has_its_outcome_and_reason(
    project: Project, settings: dict[str, SettingValue], deadline_s: float, outcome: Outcome, reason: str
) -> None:
    instance = project.launch(**settings)
    with pytest.raises(TrialFailure) as caught:
        wait_first_response(instance, HELLO, deadline_s, stderr=instance.stderr_file)
    assert caught.value.outcome == outcome and caught.value.reason.startswith(reason)


def test_warm_up_sends_every_request_of_the_mix_and_checks_the_answers(project: Project) -> None:
    instance = project.launch(wrong_answers=11)
    wait_first_response(instance, HELLO, patient(20))
    warm_up(instance.endpoint, BOTH, 10)
    with pytest.raises(
        TrialFailure, match=r"nonconforming: warm-up request 1 \(uppercase-hello\): expected JSON"
    ):
        warm_up(instance.endpoint, BOTH, 1)


@pytest.mark.parametrize(("fresh", "n_opened"), [(False, 1), (True, 10)])
def test_requests_of_a_warm_up_share_a_connection_or_have_one_each(
    project: Project, monkeypatch: pytest.MonkeyPatch, fresh: bool, n_opened: int
) -> None:
    instance = project.launch()
    wait_first_response(instance, HELLO, patient(20))
    made: list[Connection] = []

    class Noted(Connection):
        def __enter__(self) -> Connection:
            made.append(self)
            return super().__enter__()

    monkeypatch.setattr("harness.measure.runner.warm_up.Connection", Noted)
    warm_up(instance.endpoint, BOTH, 10, fresh=fresh)
    assert [one.n_opened for one in made] == [n_opened]


def test_warm_up_goes_through_a_flow_in_order_with_what_its_answers_gave() -> None:
    with accounts_server() as server:
        warm_up(server.endpoint, transfer_flow(), 10)
        assert dict(server.seen) == {"/account": 6, "/transfer": 2, "/account/": 2}
        assert [json.loads(body)["from"] for body in server.transfers] == [1, 3]


def test_users_at_once_divide_the_requests_of_a_warm_up_and_keep_to_their_own_passes() -> None:
    with accounts_server(at_once=4) as server:
        warm_up(server.endpoint, transfer_flow(), 45, users=4)
        assert sum(server.seen.values()) == 45
        assert (
            server.seen["/transfer"] == 12
        )  # 12, 11, 11 and 11 steps in passes of four: three transfers each
        froms = [json.loads(body)["from"] for body in server.transfers]
        assert len(set(froms)) == len(froms)  # nobody sent another's money
    with accounts_server() as server:  # more users than requests
        warm_up(server.endpoint, transfer_flow(), 3, users=8)
        assert dict(server.seen) == {"/account": 3}


def test_the_first_wrong_answer_ends_the_warm_up_of_all_users_and_says_whose_it_was() -> None:
    with (
        accounts_server((None, "no id")) as server,
        pytest.raises(TrialFailure, match=r"nonconforming: warm-up request \d+ of user [1-4] \(open\)"),
    ):
        warm_up(server.endpoint, open_and_show(), 4000, users=4)
    assert sum(server.seen.values()) < 100


def test_a_crash_in_warm_up_names_the_request(project: Project) -> None:
    instance = project.launch(crash_after=6)
    wait_first_response(instance, HELLO, patient(20))
    with pytest.raises(TrialFailure, match=r"failed: no answer to warm-up request 6 \(uppercase-hello\)"):
        warm_up(instance.endpoint, (HELLO,), 100)
