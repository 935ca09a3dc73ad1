# SPDX-License-Identifier: Apache-2.0
"""What tools cannot offer is refused in one line, and schedules are defined without contradictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import MissingTool, UnsupportedLoad
from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.jmeter import JMeter
from harness.loadgen.tools.k6 import K6
from harness.loadgen.tools.locust import Locust
from harness.loadgen.tools.metronome import Metronome
from harness.loadgen.tools.oha import Oha
from harness.loadgen.tools.vegeta import Vegeta
from harness.loadgen.tools.wrk import Wrk
from harness.loadgen.tools.wrk2 import Wrk2
from harness.measure.runner.trial import bounded
from harness.model import ClosedLoad, LoadProfile, OpenLoad
from harness.model.load import Stage
from harness.tests.support.answering_server import order_of, request_to

PARTS = OpenLoad(rate_per_s=20, duration_s=2, arrivals="constant", parts=4, pause_s=1)
WAITING = OpenLoad(rate_per_s=20, duration_s=2, arrivals="constant", busy="wait")
STAGES = ClosedLoad(users=4, stages=tuple(Stage(users=users, duration_s=0.5) for users in (1, 2, 4, 0)))
TOOLS: dict[str, LoadGenerator] = {
    tool.name: tool
    for tool in (
        JMeter(home=None, java=None), Locust(python=None), Metronome(program=None), Oha(program=None),
        Vegeta(program=None), Wrk(program=None), Wrk2(program=None), K6(program=None),
    )
}  # fmt: skip
POISSON = OpenLoad(rate_per_s=10, duration_s=1, arrivals="poisson")
EVENLY = OpenLoad(rate_per_s=10, duration_s=1, arrivals="constant")
USERS = ClosedLoad(users=1, duration_s=1)
LOOPS = ClosedLoad(users=2, loops=5)


@pytest.mark.parametrize(
    ("tool", "profile", "why"),
    [
        ("jmeter", ClosedLoad(users=1, loops=1, ramp_up_s=0.5), "whole seconds"),
        ("k6", POISSON, "evenly spaced"),
        ("k6", PARTS, "one queue"),
        ("k6", ClosedLoad(users=1, duration_s=0.5), "at least 1 s"),
        ("k6", ClosedLoad(users=1, duration_s=2, ramp_up_s=3), "longer than duration_s"),
        ("locust", POISSON, "jmeter"),
        ("metronome", LOOPS, "requests of each user"),
        ("oha", POISSON, "evenly spaced"),
        ("oha", LOOPS, "requests of each user"),
        ("vegeta", USERS, "closed loop"),
        ("wrk", EVENLY, "no rate"),
        ("wrk", ClosedLoad(users=1, duration_s=1.5), "whole seconds"),
        ("wrk2", USERS, "closed loop"),
        ("wrk2", EVENLY.model_copy(update={"rate_per_s": 2.5}), "whole numbers"),
    ],
)
def test_what_a_tool_cannot_express_is_refused_with_reason(tool: str, profile: LoadProfile, why: str) -> None:
    assert why in (TOOLS[tool].supports(profile, (request_to("/right"),)) or "")
    with pytest.raises(UnsupportedLoad):
        TOOLS[tool].command(order_of(Path("/nowhere"), profile))


def test_a_tool_that_is_not_here_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    ways = {
        "oha": "make generators", "vegeta": "make generators", "wrk2": "make generators", "wrk": "apt-get install",
    }  # fmt: skip
    absent = (Oha(program=tmp_path / "absent"), JMeter(home=None, java=Path("/bin/true")))
    for tool in (*TOOLS.values(), *absent):
        closed = tool.supports(USERS, (request_to("/right"),)) is None
        with pytest.raises(MissingTool, match=ways.get(tool.name, "make setup")):
            tool.command(order_of(tmp_path, USERS if closed else EVENLY))


def test_the_schedule_of_parts_is_theirs_and_the_pauses_between_them() -> None:
    assert PARTS.begins_s == (0, 3, 6, 9)
    assert (PARTS.whole_s, PARTS.paused_s) == (11, 3)
    assert (WAITING.begins_s, WAITING.whole_s, WAITING.paused_s) == ((0,), 2, 0)


def test_a_load_is_as_long_as_its_stages_and_is_tried_before_with_all_its_users() -> None:
    assert STAGES.whole_s == 2
    assert bounded(STAGES) == ClosedLoad(users=4, duration_s=2)
    assert ClosedLoad(users=4, loops=2).whole_s is None
