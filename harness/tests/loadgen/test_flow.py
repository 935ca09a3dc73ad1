# SPDX-License-Identifier: Apache-2.0
"""A flow is sound or it is refused where it stands; what tools are given of it is what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.errors import InputError
from harness.loadgen.correlation import Carried, Pieces, Scalar, fill_json, fill_text, pieces
from harness.loadgen.flow import flow_document, readiness_request, right_answers, right_bodies
from harness.loadgen.tools.jmeter import jmespath, render_plan, with_variables
from harness.model import ClosedLoad, Expectation
from harness.tests.loadgen.test_correlation import JSON, NAMES, TEXTS, VALUES
from harness.tests.support.accounts_server import open_and_show, step
from harness.tests.support.answering_server import order_of, request_to
from harness.workloads import load_requests


def text_of(cut: Pieces, values: dict[str, Scalar]) -> str:
    """What a tool makes of pieces."""
    return "".join(
        piece
        if isinstance(piece, str)
        else json.dumps(values[piece.name])
        if piece.as_json
        else str(fill_text(f"${{{piece.name}}}", values))
        for piece in cut
    )


class Anything(dict[str, Scalar]):
    """A value for every name."""

    def __init__(self, value: Scalar) -> None:
        self.value = value
        super().__init__()

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __missing__(self, name: str) -> Scalar:
        return self.value


@given(TEXTS, VALUES)
def test_pieces_make_the_text_that_filling_makes(parts: list[str], value: Scalar) -> None:
    text, values = "".join(parts), Anything(value)
    assert text_of(pieces(text), values) == fill_text(text, values)


@given(JSON, VALUES)
def test_every_rendering_of_a_right_answer_is_the_filled_value(value: object, captured: Scalar) -> None:
    if value is None:
        return  # an expectation of null is none, for generators
    values = Anything(captured)
    expect = Expectation.model_validate_json(json.dumps({"status": 200, "json": value}))
    rendered = right_answers(expect) or ()
    assert len(rendered) in {2, 4, 8}  # twice as many where HTML takes a character for its own
    for cut in rendered:
        assert json.loads(text_of(cut, values)) == fill_json(expect.json_value, values)


def line(**parts: object) -> str:
    whole = {"mix": "m", "name": "n", "method": "GET", "path": "/", "expect": {"status": 200}, **parts}
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([line(step=1), line()], r"line 2: n: a request without step in a flow; found 'n'"),
        ([line(step=1), line(step=3)], r"line 2: n: a step is missing before this one; found '3'; allowed: 1 to 2"),
        ([line(step=1), line(step=1)], r"line 2: n: two requests of one step; found '1'"),
        ([line(step=1, weight=2)], r"line 1: n: a step is taken once in each pass; found 'weight 2'"),
        ([line(step=0)], r"line 1: step: .*greater than or equal to 1"),
        ([line(capture={"a": "/id"})], r"line 1: n: capture in a mix without steps; found 'a'; allowed: step in"),
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
        ([line(step=1, capture={"a": ""}), line(step=2, capture={"a": ""})], r"line 2: n: captured a second time"),
        ([line(readiness=True), line(readiness=True)], r"line 2: n: a second request for readiness"),
        (
            [line(step=1, capture={"a": ""}), line(step=2, path="/${a}", readiness=True)],
            r"line 2: n: a request for readiness needs a capture; found 'a'",
        ),
    ],
)
def test_a_broken_flow_names_file_line_request_and_name(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    (tmp_path / "requests.jsonl").write_text("\n".join([*lines, line(mix="other")]) + "\n")
    with pytest.raises(InputError, match=r"requests\.jsonl: " + message):
        load_requests(tmp_path, "m")


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
    (request,) = load_requests(tmp_path, "m")
    assert (right_bodies(request.expect) or ())[0] == '{"pay":[3000.00,1]}'
    assert (right_answers(request.expect) or ())[0] == ('{"pay":[3000.00,1]}',)
    assert "3000.00" in render_plan(order_of(tmp_path, ClosedLoad(users=1, loops=1), request))
    assert request.expect.one_of == ({"pay": [3000.0, 1]}, {"pay": 5})


def test_a_script_is_given_the_whole_flow_as_json() -> None:
    document = json.loads(json.dumps(flow_document(open_and_show()[::-1])))
    assert document["steps"] == [
        {
            "name": "open", "method": "POST", "path": ["/account"], "headers": {}, "body": None,
            "status": 200, "capture": {"a": ["id"]}, "right": None, "json": False,
        },
        {
            "name": "show", "method": "GET", "path": ["/account/", {"name": "a", "as_json": False}],
            "headers": {}, "body": None, "status": 200, "capture": {}, "json": True,
            "right": [
                ['{"owner":"o-', {"name": "a", "as_json": False}, '"}'],
                ['{"owner":"o-', {"name": "a", "as_json": False}, '"}\n'],
                ['{"owner": "o-', {"name": "a", "as_json": False}, '"}'],
                ['{"owner": "o-', {"name": "a", "as_json": False}, '"}\n'],
            ],
        },
    ]  # fmt: skip
