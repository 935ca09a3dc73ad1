# SPDX-License-Identifier: Apache-2.0
"""Rules for mixes: proportions are kept exactly, and right answers are recognised as text."""

from __future__ import annotations

import json
import re
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


def test_two_requests_of_one_name_are_refused() -> None:
    assert "twice" in (unsupported_mix((request_to("/a"), request_to("/a"))) or "")
    assert "weights" in (unsupported_mix(mix_of(100_003, 7)) or "")


def expectation(**parts: object) -> Expectation:
    return Expectation.model_validate_json(json.dumps({"status": 200, **parts}))


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
