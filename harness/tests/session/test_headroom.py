# SPDX-License-Identifier: Apache-2.0
"""Echo has one answer for all: every mix is met with one that keeps the generator as busy as the real ones."""

from __future__ import annotations

import json

import pytest

from harness.agent.http_exchange import Answer
from harness.conformance import judge
from harness.definitions import load_implementations
from harness.errors import TrialFailure
from harness.loadgen.correlation import Scalar
from harness.loadgen.flow import flow_fault
from harness.measure.runner.trial import bounded
from harness.measure.session.headroom import ECHO_IMPLEMENTATION, ECHO_WORKLOAD, echo_variant, echoed
from harness.model import ClosedLoad, GeneratorName
from harness.model.load_tools import BY_NAME
from harness.project import find_root
from harness.tests.support.accounts_server import step, transfer_flow
from harness.tests.support.answering_server import request_to


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
    flow = (
        step(1, "one", "GET", "/", capture={"a": "/id"}),
        step(2, "two", "GET", "/", capture={"b": "/id/n"}),
    )
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
