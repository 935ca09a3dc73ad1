# SPDX-License-Identifier: Apache-2.0
"""Schedules that most tools do not know: refused in one line by these, and defined without contradictions."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from harness.errors import UnsupportedLoad
from harness.loadgen.base import LoadGenerator
from harness.loadgen.jmeter import JMeter
from harness.loadgen.k6 import K6
from harness.loadgen.locust import Locust
from harness.loadgen.oha import Oha
from harness.loadgen.several import shares
from harness.loadgen.vegeta import Vegeta
from harness.loadgen.wrk import Wrk
from harness.loadgen.wrk2 import Wrk2
from harness.model import OpenLoad, OpenShare, ScaledLoad
from harness.tests.answering_server import request_to

PARTS = OpenLoad(rate_per_s=20, duration_s=2, arrivals="constant", parts=4, pause_s=1)
WAITING = OpenLoad(rate_per_s=20, duration_s=2, arrivals="constant", busy="wait")
NOT_HERE = Path("not-here")
OTHERS: tuple[LoadGenerator, ...] = (
    JMeter(home=None, java=None),
    Locust(python=None),
    Oha(program=None),
    Vegeta(program=None),
    Wrk(program=None),
    Wrk2(program=None),
)


@pytest.mark.parametrize("generator", OTHERS, ids=lambda one: one.name)
def test_every_tool_but_k6_refuses_parts_in_one_line(generator: LoadGenerator) -> None:
    why = generator.supports(PARTS, (request_to("/right"),))
    assert why is not None
    assert "\n" not in why
    assert K6(program=None).supports(PARTS, (request_to("/right"),)) is None


def test_only_who_counts_from_when_an_arrival_was_due_lets_it_wait() -> None:
    able = {
        one.name
        for one in (*OTHERS, K6(program=None))
        if one.supports(WAITING, (request_to("/right"),)) is None
    }
    assert able == {"k6", "oha", "wrk2"}


def test_a_pause_needs_parts_to_stand_between() -> None:
    for made in (
        lambda: OpenLoad(rate_per_s=1, duration_s=1, pause_s=1),
        lambda: OpenShare(rate_share=1, duration_s=1, pause_s=1),
    ):
        with pytest.raises(ValidationError, match="set parts"):
            made()


def test_the_schedule_of_parts_is_theirs_and_the_pauses_between_them() -> None:
    assert PARTS.begins_s == (0, 3, 6, 9)
    assert (PARTS.whole_s, PARTS.paused_s) == (11, 3)
    assert (WAITING.begins_s, WAITING.whole_s, WAITING.paused_s) == ((0,), 2, 0)


def test_a_share_of_a_capacity_keeps_its_schedule() -> None:
    share = OpenShare(
        rate_share=0.5, duration_s=2, arrivals="constant", connections=7, busy="wait", parts=4, pause_s=1
    )
    assert ScaledLoad(generator="k6", profile=share).at(40).profile == PARTS.model_copy(
        update={"connections": 7, "busy": "wait"}
    )


def test_parts_are_not_divided_among_generators() -> None:
    with pytest.raises(UnsupportedLoad):
        shares(PARTS, 2)
