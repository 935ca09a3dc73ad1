# SPDX-License-Identifier: Apache-2.0
"""The load tools against the real services: what a contract says once, each tool offers, checks and counts alike.

Flows with data passed on and plain mixes: one real session for each workload, with a factor over the tools. A
made-up server cannot show this: here the bodies are those that a service of ours writes, and the database tells
afterwards whether the passes that a tool calls right left their traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness.definitions.services import load_requests
from harness.model import Outcome, Request, TrialRecord
from harness.tests.support.available import PROJECT, only_when_long, program_or_not_run
from harness.tests.support.postgres import reachable_folder
from harness.tests.support.real_projects import POOL, load, measured, project_of
from harness.toolchains import Surroundings, find_tool

pytestmark = only_when_long()

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


@pytest.fixture
def base() -> Iterator[Path]:
    """The database's own user has to reach what lies in it."""
    with reachable_folder() as folder:
        yield folder


@pytest.mark.parametrize("workload", SERVICES)
def test_what_a_contract_asks_for_each_tool_offers_and_checks_and_its_right_answers_are_stored(
    workload: str, base: Path
) -> None:
    without_k6 = not find_tool("k6", Surroundings(project=PROJECT)).usable
    tools = [tool for tool in TOOLS if not (tool == "k6" and without_k6)]
    folder = measured(every_tool_on(workload, tools, base))
    assert folder.complete and folder.verify() == ()
    met: set[tuple[str, str]] = set()
    for record in folder.records():
        mix = record.planned.configuration.mix
        assert record.outcome == Outcome.OK, (record.planned.configuration.key, record.outcome, record.reason)
        assert record.generator is not None
        holds(record, mix, load_requests(PROJECT, workload)[mix])
        met.add((mix, record.generator.name))
    assert met == {(mix, tool) for mix in MIXES[workload] for tool in tools}
    if without_k6:
        program_or_not_run("k6")  # the others were; this one's absence is said


def every_tool_on(workload: str, tools: Sequence[str], base: Path) -> Path:
    """Lay out one experiment: each mix of the workload with each tool."""
    mixes = "".join(
        f'[factors.mix.{mix}]\nmix = "{mix}"\n{change}' for mix, change in MIXES[workload].items()
    )
    return project_of(
        base,
        workload,
        {SERVICES[workload]: SETTINGS[workload]},
        mix=next(iter(MIXES[workload])),
        backing=BACKING[workload],
        factors=mixes + "".join(f'[factors.tool.{tool}]\nload = "{tool}"\n' for tool in tools),
        loads={tool: load(tool, f"users = {USERS}, loops = {LOOPS}") for tool in tools},
        echo=False,
    )


def holds(record: TrialRecord, mix: str, steps: Sequence[Request]) -> None:
    """All of it was sent and answered rightly, body for body, and is in the database."""
    what, said, n_passes = record.planned.configuration.key, record.load, USERS * LOOPS
    assert said is not None, what
    assert (said.n_errors, said.errors_by_kind, said.bodies_checked) == (0, {}, True), what
    assert said.n_requests == n_passes * len(steps), what
    assert {name: count.n_right for name, count in said.answers.items()} == dict.fromkeys(
        (step.name for step in steps), n_passes
    ), what
    if len(steps) > 1:
        assert said.n_flows == said.n_flows_right == n_passes, what
    assert all(row.holds for row in record.invariants), what
    left = {row.request: (row.n_sent, row.n_right, row.n_stored) for row in record.stored}
    assert left == {name: (n * n_passes,) * 3 for name, n in TRACES.get(mix, {}).items()}, what
