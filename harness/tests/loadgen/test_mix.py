# SPDX-License-Identifier: Apache-2.0
"""Rules for mixes: proportions are kept exactly, and right answers are recognised as text."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loadgen.flow import one_round, right_bodies, unsupported_mix, weights
from harness.loadgen.template import lua_string
from harness.model import Expectation
from harness.tests.support.answering_server import request_to


def mix_of(*shares: int) -> tuple:  # type: ignore[type-arg]  # of requests; only handed on
    return tuple(request_to(f"/{i}", weight=share) for i, share in enumerate(shares))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_a_round_holds_each_request_in_proportion_to_its_weight(shares: list[int]) -> None:
    mix = mix_of(*shares)
    counts = Counter(one_round(mix))
    assert [counts[i] for i in range(len(shares))] == list(weights(mix))
    assert all(counts[i] * sum(shares) == shares[i] * sum(counts.values()) for i in range(len(shares)))


def test_a_round_spreads_the_heavy_request_instead_of_bunching_it() -> None:
    assert one_round(mix_of(2, 1, 1)) in {(0, 1, 2, 0), (0, 2, 1, 0), (0, 1, 0, 2), (1, 0, 2, 0)}


def test_two_requests_of_one_name_are_refused() -> None:
    assert "twice" in (unsupported_mix((request_to("/a"), request_to("/a"))) or "")
    assert "weights" in (unsupported_mix(mix_of(100_003, 7)) or "")


def expectation(**parts: object) -> Expectation:
    return Expectation.model_validate_json(json.dumps({"status": 200, **parts}))


def test_an_exact_body_is_the_only_right_one_and_no_expectation_accepts_any() -> None:
    assert right_bodies(expectation(body=" x\n")) == (" x\n",)
    assert right_bodies(expectation()) is None


@pytest.mark.parametrize("answer", ['{"v":"É","n":5}', '{"v":"É","n":5}\n', '{"v": "É", "n": 5}'])
def test_a_json_value_is_right_in_its_usual_renderings(answer: str) -> None:
    assert answer in (right_bodies(expectation(json={"v": "É", "n": 5})) or ())


@pytest.mark.parametrize("answer", ['{"v":"<A & B>"}', '{"v":"\\u003cA \\u0026 B\\u003e"}\n'])
def test_what_html_takes_for_its_own_may_be_escaped_as_go_does(answer: str) -> None:
    assert answer in (right_bodies(expectation(one_of=[{"v": "plain"}, {"v": "<A & B>"}])) or ())


@pytest.mark.parametrize("answer", ['{"v":"É","n":"5"}', '{"n":5,"v":"É"}', '{"v":"É"}', ""])
def test_another_value_or_order_of_keys_is_not_right(answer: str) -> None:
    assert answer not in (right_bodies(expectation(json={"v": "É", "n": 5})) or ())


@given(st.text())
def test_a_lua_string_is_plain_ascii_on_one_line_and_decodes_to_the_same_bytes(text: str) -> None:
    literal = lua_string(text)
    assert literal.isascii()
    assert "\n" not in literal
    decoded, inner = bytearray(), literal[1:-1]
    while inner:
        if inner[0] == "\\":
            decoded.append(int(inner[1:4]))
            inner = inner[4:]
        else:
            assert inner[0] != '"'
            decoded.append(ord(inner[0]))
            inner = inner[1:]
    assert bytes(decoded) == text.encode()
