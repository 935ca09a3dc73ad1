# SPDX-License-Identifier: Apache-2.0
"""What is taken out of an answer arrives in the next request as it was, and nothing else changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loadgen.correlation import (
    CARRIED,
    PLACE,
    CaptureFault,
    Scalar,
    bare_text,
    captured,
    expects,
    fill_text,
    filled,
    filled_expectation,
    needs,
    steps_of,
)
from harness.model import Expectation
from harness.tests.support.accounts_server import step

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
VALUES = st.one_of(
    st.from_regex(CARRIED, fullmatch=True).map(lambda text: text[:40]), st.integers(), st.booleans()
)
TEXTS = st.lists(
    st.one_of(st.text(max_size=8), NAMES.map(lambda name: f"${{{name}}}"), st.sampled_from("${}\\\"'"))
)


def expectation(**parts: object) -> Expectation:
    return Expectation.model_validate_json(json.dumps({"status": 200, **parts}))


@given(TEXTS, st.dictionaries(NAMES, VALUES, max_size=3))
def test_only_the_places_of_known_names_are_filled(parts: list[str], values: dict[str, Scalar]) -> None:
    text = "".join(parts)
    wanted = [
        part if even % 2 == 0 else bare_text(values[part]) if part in values else f"${{{part}}}"
        for even, part in enumerate(PLACE.split(text))
    ]
    assert fill_text(text, values) == "".join(wanted)


@given(st.lists(st.one_of(st.text(max_size=6), st.integers(0, 3)), max_size=4), VALUES)
def test_a_pointer_finds_what_stands_there(way: list[str | int], value: Scalar) -> None:
    keys = [f"k{part}" if isinstance(part, str) else part for part in way]
    document: object = value
    for part in reversed(keys):
        document = [None] * part + [document] if isinstance(part, int) else {part: document}
    pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in keys)
    assert list(steps_of(pointer)) == keys
    assert captured({"a": pointer}, json.dumps(document).encode()) == {"a": value}


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
    with pytest.raises(CaptureFault) as caught:
        captured({"a": "/id"}, body)
    assert why in str(caught.value)


def test_a_request_is_filled_in_path_headers_and_body_and_names_what_it_needs() -> None:
    request = step(2, "n", "POST", "/a/${a}", headers={"X": "${b}"}, body='{"a":${a},"c":"${c}"}')
    assert needs(request) == ("a", "b", "a", "c")
    sent = filled(request, {"a": 5, "b": "x", "c": True})
    assert (sent.path, sent.headers, sent.body) == ("/a/5", {"X": "x"}, '{"a":5,"c":"true"}')
    assert filled(request, {}) is request


def test_an_expectation_is_filled_in_every_form_it_may_have() -> None:
    values: dict[str, Scalar] = {"a": 5, "b": "x"}
    assert filled_expectation(expectation(body="${a}${b}"), values).body == "5x"
    assert filled_expectation(expectation(json={"n": "${a}", "t": "<${a}>"}), values).json_value == {
        "n": 5,
        "t": "<5>",
    }
    assert filled_expectation(expectation(one_of=["${a}", "${b}"]), values).one_of == (5, "x")
    assert filled_expectation(expectation(headers={"L": "/${b}"}), values).headers == {"L": "/x"}
    assert expects(expectation(one_of=[{"k": ["${a}"]}, "${b}"], headers={"L": "${c}"})) == ("c", "a", "b")
