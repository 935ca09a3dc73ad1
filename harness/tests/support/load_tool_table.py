# SPDX-License-Identifier: Apache-2.0
"""What each load tool can offer, asked of its adapter: the table of ``docs/generators.md``.

``python -m harness.tests.support.load_tool_table`` writes it into the page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.loadgen.base import Installed, LoadGenerator
from harness.loadgen.tools import adapter_of
from harness.model import LOAD_TOOLS, ClosedLoad, Expectation, LoadProfile, LoadTool, OpenLoad, Request
from harness.model.load import Stage
from harness.project import find_root

PAGE = Path("docs") / "generators.md"
BEGIN = "<!-- written by: python -m harness.tests.support.load_tool_table -->"
END = "<!-- end of what is written -->"

_ONE = (Request(mix="m", name="one", method="GET", path="/one", expect=Expectation(status=200)),)
_TWO = (*_ONE, _ONE[0].model_copy(update={"name": "two", "path": "/two"}))
_FLOW = (
    _ONE[0].model_copy(update={"step": 1, "capture": {"id": "/id"}}),
    _TWO[1].model_copy(update={"step": 2, "path": "/two/${id}"}),
)
_USERS = ClosedLoad(users=4, duration_s=2)
_RATE = OpenLoad(rate_per_s=20, duration_s=2, arrivals="constant")


def _closed(**changes: object) -> ClosedLoad:
    return ClosedLoad.model_validate({**_USERS.model_dump(), **changes})


def _open(**changes: object) -> OpenLoad:
    return OpenLoad.model_validate({**_RATE.model_dump(), **changes})


_STAGES = tuple(Stage(users=users, duration_s=1) for users in (2, 4))
#: Row of the table -> loads from the plainest to the one without limits, each with what a tool that goes no further
#: is said to have.
_LOADS: dict[str, tuple[tuple[str, LoadProfile], ...]] = {
    "closed loop, by duration": (("whole seconds", _USERS), ("yes", _closed(duration_s=2.5))),
    "closed loop, by loops of each user": (("yes", _closed(duration_s=None, loops=3)),),
    "closed loop, by stages of users": (("yes", _closed(duration_s=None, stages=_STAGES)),),
    "ramp-up": (("whole seconds", _closed(ramp_up_s=1.0)), ("yes", _closed(ramp_up_s=1.5))),
    "think time": (("yes", _closed(think_time_s=0.5)),),
    "open loop, evenly spaced": (
        ("whole rates and seconds", _RATE),
        ("whole rates", _open(duration_s=2.5)),
        ("yes", _open(rate_per_s=20.5, duration_s=2.5)),
    ),
    "open loop, random arrivals": (("yes", _open(arrivals="poisson")),),
    'open loop, late arrivals wait and count (`busy = "wait"`)': (("yes", _open(busy="wait")),),
    "connections renewed by their age (`renew_s`)": (
        ("yes", _closed(renew_s=1.0)),
        ("yes", _open(renew_s=1.0)),
    ),
    "several loads in one process, with pauses (`parts`)": (("yes", _open(parts=2, pause_s=1, busy="wait")),),
}
#: The same for requests; a tool is asked with any load that it can offer.
_REQUESTS: dict[str, tuple[tuple[str, tuple[Request, ...]], ...]] = {
    "a mix of requests": (("one request", _ONE), ("yes", _TWO)),
    "a flow: data of one answer goes into the next request": (("yes", _FLOW),),
}
_FACTS: dict[str, Callable[[LoadTool], str]] = {
    "compares bodies with the right ones": lambda tool: _yes(tool.checks_bodies),
    "one row per request": lambda tool: _yes(tool.has_rows),
    "resolution of latencies": lambda tool: _duration(tool.resolution_s),
}


def table() -> str:
    """Return the table in Markdown: a column for each tool, in the order of the registry."""
    adapters = [adapter_of(tool.name, Installed()) for tool in LOAD_TOOLS]
    rows = [["", *(tool.title for tool in LOAD_TOOLS)], ["---"] * (1 + len(LOAD_TOOLS))]
    rows += [[name, *(_furthest(adapter, loads) for adapter in adapters)] for name, loads in _LOADS.items()]
    rows += [
        [name, *(_requests(adapter, asked) for adapter in adapters)] for name, asked in _REQUESTS.items()
    ]
    rows += [[name, *map(says, LOAD_TOOLS)] for name, says in _FACTS.items()]
    return "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows)


def written(page: str) -> str:
    """Return the page with the table as it is now."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE}: found no lines {BEGIN} and {END}")
    return f"{head}{begin}\n{table()}\n{end}{tail}"


def _furthest(generator: LoadGenerator, loads: tuple[tuple[str, LoadProfile], ...]) -> str:
    able = [word for word, load in loads if generator.supports(load, _ONE) is None]
    return able[-1] if able else "-"


def _requests(generator: LoadGenerator, asked: tuple[tuple[str, tuple[Request, ...]], ...]) -> str:
    offered = next(load for load in (_USERS, _RATE) if generator.supports(load, _ONE) is None)
    able = [word for word, requests in asked if generator.supports(offered, requests) is None]
    return able[-1] if able else "-"


def _yes(holds: bool) -> str:
    return "yes" if holds else "-"


def _duration(seconds: float) -> str:
    unit, per_s = next(pair for pair in (("ms", 1e3), ("us", 1e6), ("ns", 1e9)) if seconds * pair[1] > 0.09)
    return f"{seconds * per_s:.3g} {unit}"


if __name__ == "__main__":
    (find_root() / PAGE).write_text(written((find_root() / PAGE).read_text("utf-8")), "utf-8")
