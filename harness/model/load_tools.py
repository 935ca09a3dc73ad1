# SPDX-License-Identifier: Apache-2.0
"""The load tools: one row each, and the only list of them. Whatever names all tools, or some, follows from it.

A new tool has its row here, its adapter in ``loadgen/tools/<name>.py``, and a reader in ``formats/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

GeneratorName = Literal["jmeter", "locust", "wrk", "wrk2", "k6", "oha", "vegeta", "metronome"]
#: Tools whose files are read, and which no session runs.
FileOnlyName = Literal["gatling", "hey", "autocannon", "csv"]
#: Who wrote a file.
FileSource = GeneratorName | FileOnlyName
#: What a tool runs as: a program of its own, a module of a Python, or a jar of a JVM.
RunsAs = Literal["program", "python", "java"]


@dataclass(frozen=True, kw_only=True)
class LoadTool:
    """One tool."""

    name: GeneratorName
    title: str  # its name as it writes it
    runs_as: RunsAs = "program"
    has_rows: bool = True  # one row per request, not totals alone
    checks_bodies: bool = False  # it compares answers' bodies under load
    # lean enough to saturate a service from as many CPUs as the service has, in a closed loop
    saturates: bool = False
    whole_rates: bool = False  # it offers whole numbers of requests per second only
    resolution_s: float  # the smallest step of its latencies
    latencies_after_s: float = 0.0  # how much of a longer load its latencies leave out, from the start on
    # of a tool that counts latencies from when a request was due: how late at most its own waiting sends it
    sends_late_s: float = 0.0
    # it looks for answers without a pause: it uses a CPU of its own whatever it offers, and knows what it sent late
    never_sleeps: bool = False
    # the loop of a tool that has one only, and how it shows; None: it has both
    only_loop: tuple[Literal["closed", "open"], str] | None = None
    threads_option: str | None = None  # the word of its command before its number of threads


LOAD_TOOLS: tuple[LoadTool, ...] = (
    LoadTool(name="jmeter", title="JMeter", runs_as="java", checks_bodies=True, resolution_s=1e-3),
    LoadTool(
        name="locust",
        title="Locust",
        runs_as="python",
        checks_bodies=True,
        resolution_s=1e-7,
        only_loop=("closed", "Locust's users wait for their answers"),
    ),
    LoadTool(
        name="wrk",
        title="wrk",
        has_rows=False,
        saturates=True,
        resolution_s=1e-6,
        only_loop=("closed", "wrk sends on a connection only after its answer"),
        threads_option="-t",
    ),
    LoadTool(
        name="wrk2",
        title="wrk2",
        has_rows=False,
        whole_rates=True,
        resolution_s=1e-6,
        latencies_after_s=10.0,
        sends_late_s=2e-3,  # it waits in whole milliseconds, rounded up, and for a timer that counts whole ones
        only_loop=("open", "wrk2 counts every latency from when the request was due"),
        threads_option="-t",
    ),
    LoadTool(name="k6", title="k6", checks_bodies=True, resolution_s=1e-9),
    LoadTool(name="oha", title="oha", saturates=True, resolution_s=1e-9),
    LoadTool(name="vegeta", title="vegeta", resolution_s=1e-9),
    LoadTool(
        name="metronome",
        title="metronome",
        checks_bodies=True,
        saturates=True,
        never_sleeps=True,
        resolution_s=1e-9,
    ),
)


@dataclass(frozen=True, kw_only=True)
class FileTool:
    """A tool that only its files are known of. Fields as those of ``LoadTool``."""

    name: FileOnlyName
    title: str
    only_loop: tuple[Literal["closed", "open"], str] | None = None


FILE_TOOLS: tuple[FileTool, ...] = (
    FileTool(name="gatling", title="Gatling"),
    FileTool(name="hey", title="hey", only_loop=("closed", "hey's workers wait for their answers")),
    FileTool(
        name="autocannon",
        title="autocannon",
        only_loop=("closed", "autocannon's connections wait for their answers"),
    ),
    FileTool(name="csv", title="another program's csv with a row a request"),
)

#: Everybody whose files are read.
WRITERS: tuple[LoadTool | FileTool, ...] = (*LOAD_TOOLS, *FILE_TOOLS)

BY_NAME: Mapping[str, LoadTool] = MappingProxyType({tool.name: tool for tool in LOAD_TOOLS})
#: Tools that write totals and no row per request.
TOTALS_ONLY = frozenset(tool.name for tool in LOAD_TOOLS if not tool.has_rows)


#: The tool that every installation has: a module of this project's Python.
ALWAYS_HERE: GeneratorName = next(tool.name for tool in LOAD_TOOLS if tool.runs_as == "python")


def run_as(*kinds: RunsAs) -> tuple[GeneratorName, ...]:
    """Return the names of the tools that run as one of ``kinds``, kind by kind."""
    return tuple(tool.name for kind in kinds for tool in LOAD_TOOLS if tool.runs_as == kind)


def written_by() -> str:
    """Return the titles of all tools whose files are read, as a list in a sentence."""
    *first, end = (tool.title for tool in WRITERS)
    return f"{', '.join(first)} or {end}"


def tool_of(source: str) -> LoadTool | FileTool | None:
    """Return the tool that wrote a file; ``None``: no such tool."""
    return next((tool for tool in WRITERS if tool.name == source), None)


def title_of(source: str) -> str:
    """Return a tool's name as it writes it."""
    tool = tool_of(source)
    return source if tool is None else tool.title
