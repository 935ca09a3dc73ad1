# SPDX-License-Identifier: Apache-2.0
"""The load tools against the real services: what a contract says once, each tool offers, checks and counts alike.

Flows with data passed on and plain mixes: one real session for each workload, with a factor over the tools. A
made-up server cannot show this: here the bodies are those that a service of ours writes, and the database tells
afterwards whether the passes that a tool calls right left their traces.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.definitions.services import load_requests
from harness.loadgen.base import LoadGenerator
from harness.loadgen.oha import Oha
from harness.loadgen.wrk import Wrk
from harness.model import ClosedLoad, Outcome, TrialRecord
from harness.tests.available import PROJECT, program_or_not_run
from harness.tests.postgres import reachable_folder
from harness.tests.real_projects import POOL, load, measured, project_of
from harness.toolchains import Surroundings, find_tool

USERS, LOOPS = 3, 4
TOOLS = ("jmeter", "locust", "k6")
#: workload -> who answers, its settings, and what each mix changes
SERVICES = {"bank": "go-gorilla", "clients": "go-nethttp"}
SETTINGS = {"bank": POOL, "clients": 'face = "matched"'}
BACKING = {"bank": "", "clients": '[backing]\nmax_connections = 33\nseed = "movies"'}
MIXES = {
    "bank": {
        "rematch": "",
        "original": 'settings = { face = "published", connections = "per-statement" }\n'
        'backing = { seed = "two-clients" }\n',
    },
    "clients": {"hello": "", "db": ""},
}
#: mix -> request that leaves a trace in the database -> how many of a pass do
TRACES = {"rematch": {"create": 2, "transfer": 1}, "original": {"create": 1, "transfer": 1}}
ASKED = [(workload, mix, tool) for workload, mixes in MIXES.items() for mix in mixes for tool in TOOLS]
Measured = dict[tuple[str, str], TrialRecord]


@pytest.fixture(scope="module")
def bank() -> Iterator[Measured]:
    yield from every_tool_on("bank")


@pytest.fixture(scope="module")
def clients() -> Iterator[Measured]:
    yield from every_tool_on("clients")


def every_tool_on(workload: str) -> Iterator[Measured]:
    """Measure each mix with each tool that is here; yield (mix, tool) -> its trial."""
    around = Surroundings(project=PROJECT)
    tools = [tool for tool in TOOLS if tool != "k6" or find_tool(tool, around).usable]
    mixes = "".join(
        f'[factors.mix.{mix}]\nmix = "{mix}"\n{change}' for mix, change in MIXES[workload].items()
    )
    with reachable_folder() as root:
        project_of(
            root,
            workload,
            {SERVICES[workload]: SETTINGS[workload]},
            mix=next(iter(MIXES[workload])),
            backing=BACKING[workload],
            factors=mixes + "".join(f'[factors.tool.{tool}]\nload = "{tool}"\n' for tool in tools),
            loads={tool: load(tool, f"users = {USERS}, loops = {LOOPS}") for tool in tools},
            echo=False,
        )
        folder = measured(root)
        assert folder.complete and folder.verify() == ()
        yield {
            (record.planned.configuration.mix, record.planned.configuration.levels["tool"]): record
            for record in folder.records()
        }


@pytest.mark.parametrize(("workload", "mix", "tool"), ASKED, ids=["-".join(asked) for asked in ASKED])
def test_what_a_contract_asks_for_each_tool_offers_and_checks_and_its_right_answers_are_stored(
    workload: str, mix: str, tool: str, request: pytest.FixtureRequest
) -> None:
    if tool == "k6":
        program_or_not_run(tool)
    every: Measured = request.getfixturevalue(workload)
    record = every[mix, tool]
    n_steps = len(load_requests(PROJECT, workload)[mix])
    n_passes = USERS * LOOPS
    assert record.outcome == Outcome.OK, record.reason
    said = record.load
    assert said is not None and record.generator is not None
    assert (record.generator.name, said.n_errors, said.errors_by_kind) == (tool, 0, {})
    assert said.bodies_checked, "it holds every body against the right one"
    assert said.n_requests == n_passes * n_steps
    assert {name: count.n_right for name, count in said.answers.items()} == dict.fromkeys(
        (step.name for step in load_requests(PROJECT, workload)[mix]), n_passes
    )
    if n_steps > 1:
        assert said.n_flows == said.n_flows_right == n_passes
    assert all(row.holds for row in record.invariants)
    left = {row.request: (row.n_sent, row.n_right, row.n_stored) for row in record.stored}
    assert left == {name: (n * n_passes,) * 3 for name, n in TRACES.get(mix, {}).items()}


@pytest.mark.parametrize("tool", [Wrk(program=None), Oha(program=None)], ids=["wrk", "oha"])
@pytest.mark.parametrize("mix", ["rematch", "original"])
def test_a_tool_that_cannot_pass_data_on_refuses_the_banks_flows_in_one_line(
    tool: LoadGenerator, mix: str
) -> None:
    requests = load_requests(PROJECT, "bank")[mix]
    refusal = tool.supports(ClosedLoad(users=USERS, duration_s=2), requests)
    assert refusal is not None and "\n" not in refusal
    assert f"the mix {mix!r} is a flow of {len(requests)} steps: use jmeter, locust or k6" in refusal
    plain = load_requests(PROJECT, "bank")["balance"]
    assert tool.supports(ClosedLoad(users=USERS, duration_s=2), plain) is None
