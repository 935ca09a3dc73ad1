# SPDX-License-Identifier: Apache-2.0
"""Data of one answer arrives in later requests as it was; a flow is sound or refused; a mix keeps its proportions."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.loadgen import correlation as links
from harness.loadgen.flow import (
    one_round,
    readiness_request,
    right_answers,
    right_bodies,
    unsupported_mix,
    weights,
)
from harness.loadgen.template import lua_string
from harness.loadgen.tools.jmeter import render_plan
from harness.model import ClosedLoad, Expectation
from harness.tests.support.accounts_server import step
from harness.tests.support.answering_server import order_of, request_to
from harness.workloads import load_all_requests


def expectation(**parts: object) -> Expectation:
    return Expectation.model_validate_json(json.dumps({"status": 200, **parts}))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\xff", "nothing to capture a from: not JSON"),
        (b"[1]", "nothing to capture as a: the answer has no /id"),
        (b'{"id":1.5}', "cannot carry a on: /id is 1.5"),
        (b'{"id":{"n":1}}', 'cannot carry a on: /id is {"n": 1}'),
        (b'{"id":""}', 'cannot carry a on: /id is ""'),
        (b'{"id":"a/../b"}', "cannot carry a on"),
    ],
)
def test_what_cannot_be_carried_on_is_a_fault_in_words(body: bytes, why: str) -> None:
    with pytest.raises(links.CaptureFault) as caught:
        links.captured({"a": "/id"}, body)
    assert why in str(caught.value)


def test_a_request_is_filled_in_path_headers_and_body_and_names_what_it_needs() -> None:
    request = step(2, "n", "POST", "/a/${a}", headers={"X": "${b}"}, body='{"a":${a},"c":"${c}"}')
    assert links.needs(request) == ("a", "b", "a", "c")
    sent = links.filled(request, {"a": 5, "b": "x", "c": True})
    assert (sent.path, sent.headers, sent.body) == ("/a/5", {"X": "x"}, '{"a":5,"c":"true"}')
    assert links.filled(request, {}) is request


def test_an_expectation_is_filled_in_every_form_it_may_have() -> None:
    values: dict[str, links.Scalar] = {"a": 5, "b": "x"}
    assert links.filled_expectation(expectation(body="${a}${b}"), values).body == "5x"
    filled = links.filled_expectation(expectation(json={"n": "${a}", "t": "<${a}>"}), values)
    assert filled.json_value == {"n": 5, "t": "<5>"}
    assert links.filled_expectation(expectation(one_of=["${a}", "${b}"]), values).one_of == (5, "x")
    assert links.filled_expectation(expectation(headers={"L": "/${b}"}), values).headers == {"L": "/x"}
    expected = expectation(one_of=[{"k": ["${a}"]}, "${b}"], headers={"L": "${c}"})
    assert links.expects(expected) == ("c", "a", "b")


def line(**parts: object) -> str:
    whole = {"mix": "m", "name": "n", "method": "GET", "path": "/", "expect": {"status": 200}, **parts}
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([line(step=1), line()], r"line 2: n: a request without step in a flow; found 'n'"),
        (
            [line(step=1), line(step=3)],
            r"line 2: n: a step is missing before this one; found '3'; allowed: 1 to 2",
        ),
        ([line(step=1), line(step=1)], r"line 2: n: two requests of one step; found '1'"),
        ([line(step=1, weight=2)], r"line 1: n: a step is taken once in each pass; found 'weight 2'"),
        ([line(step=0)], r"line 1: step: .*greater than or equal to 1"),
        (
            [line(capture={"a": "/id"})],
            r"line 1: n: capture in a mix without steps; found 'a'; allowed: step in",
        ),
        ([line(step=1, capture={"A": "/id"})], r"line 1: capture.A"),
        ([line(step=1, path="/${a}", capture={"a": ""})], r"line 1: n: used before it is captured"),
        (
            [line(step=2, body="${b}"), line(step=1, name="one", capture={"a": ""})],
            r"line 1: n: used before it is captured; found '\$\{b\}'; allowed: \$\{a\}",
        ),
        (
            [line(step=1, capture={"a": ""}, expect={"status": 200, "json": ["${b}"]})],
            r"line 1: n: expected but never captured; found '\$\{b\}'; allowed: \$\{a\}",
        ),
        (
            [line(step=1, capture={"a": ""}), line(step=2, capture={"a": ""})],
            r"line 2: n: captured a second time",
        ),
        ([line(readiness=True), line(readiness=True)], r"line 2: n: a second request for readiness"),
        (
            [line(step=1, capture={"a": ""}), line(step=2, path="/${a}", readiness=True)],
            r"line 2: n: a request for readiness needs a capture; found 'a'",
        ),
    ],
)
def test_a_broken_flow_names_file_line_and_request(tmp_path: Path, lines: list[str], message: str) -> None:
    (tmp_path / "requests.jsonl").write_text("\n".join([*lines, line(mix="other")]) + "\n")
    with pytest.raises(InputError, match=r"requests\.jsonl: " + message):
        load_all_requests(tmp_path)


def test_readiness_asks_the_marked_request_else_a_get_else_the_first() -> None:
    post, get = request_to("/post"), request_to("/get").model_copy(update={"method": "GET"})
    marked = request_to("/marked").model_copy(update={"readiness": True})
    assert readiness_request((post, get, marked)) is marked
    assert readiness_request((post, get)) is get
    assert readiness_request((post,)) is post


def test_readiness_of_a_flow_is_its_first_step_because_later_ones_may_count_on_it() -> None:
    flow = (step(1, "open", "POST", "/account"), step(2, "look", "GET", "/account/1"))
    assert readiness_request(flow[::-1]) is flow[0]
    assert readiness_request((flow[0], flow[1].model_copy(update={"readiness": True}))).name == "look"


@pytest.mark.parametrize("more", [{}, {"step": 1}])
def test_decimals_are_right_as_the_contract_writes_them(tmp_path: Path, more: dict[str, object]) -> None:
    text = line(expect={"status": 200, "one_of": [{"pay": [3000.25, 1]}, {"pay": 5}]}, **more)
    (tmp_path / "requests.jsonl").write_text(text.replace("3000.25", "3000.00"))
    (request,) = load_all_requests(tmp_path)
    assert (right_bodies(request.expect) or ())[0] == '{"pay":[3000.00,1]}'
    assert (right_answers(request.expect) or ())[0] == ('{"pay":[3000.00,1]}',)
    assert "3000.00" in render_plan(order_of(tmp_path, ClosedLoad(users=1, loops=1), request))
    assert request.expect.one_of == ({"pay": [3000.0, 1]}, {"pay": 5})


def mix_of(*shares: int) -> tuple:  # type: ignore[type-arg]  # of requests; only handed on
    return tuple(request_to(f"/{i}", weight=share) for i, share in enumerate(shares))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_a_round_holds_each_request_in_proportion_to_its_weight(shares: list[int]) -> None:
    mix = mix_of(*shares)
    counts = Counter(one_round(mix))
    assert [counts[i] for i in range(len(shares))] == list(weights(mix))
    assert all(counts[i] * sum(shares) == shares[i] * sum(counts.values()) for i in range(len(shares)))


def test_two_requests_of_one_name_are_refused() -> None:
    assert "twice" in (unsupported_mix((request_to("/a"), request_to("/a"))) or "")
    assert "weights" in (unsupported_mix(mix_of(100_003, 7)) or "")


def test_an_exact_body_is_the_only_right_one_and_no_expectation_accepts_any() -> None:
    assert right_bodies(expectation(body=" x\n")) == (" x\n",)
    assert right_bodies(expectation()) is None


def test_a_json_value_is_right_in_its_usual_renderings_and_no_other_is() -> None:
    bodies = right_bodies(expectation(json={"v": "É", "n": 5})) or ()
    assert {'{"v":"É","n":5}', '{"v":"É","n":5}\n', '{"v": "É", "n": 5}'} <= set(bodies)
    assert not {'{"v":"É","n":"5"}', '{"n":5,"v":"É"}', '{"v":"É"}', ""} & set(bodies)
    escaped = right_bodies(expectation(one_of=[{"v": "plain"}, {"v": "<A & B>"}])) or ()
    assert {'{"v":"<A & B>"}', '{"v":"\\u003cA \\u0026 B\\u003e"}\n'} <= set(escaped), "as Go does"


@given(st.text())
def test_a_lua_string_is_plain_ascii_on_one_line_and_decodes_to_the_same_bytes(text: str) -> None:
    literal = lua_string(text)
    assert re.fullmatch(r'"([ !#-\[\]-~]|\\[0-9]{3})*"', literal)
    decoded = re.sub(r"\\(\d{3})", lambda escape: chr(int(escape[1])), literal[1:-1])
    assert decoded.encode("latin-1") == text.encode()
