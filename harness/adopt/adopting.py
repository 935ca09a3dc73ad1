# SPDX-License-Identifier: Apache-2.0
"""From a folder to a service that can be measured: guess, start, ask, write. Nothing runs on when it returns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness.adopt.curl import Call, RequestList, named
from harness.adopt.recording import NOT_OF_THE_LOAD, Recording, record
from harness.adopt.requests import SERVED, read_requests, requests_of, usual_file
from harness.adopt.running import DoesNotStart, Running, running_service
from harness.adopt.start import Guess, guess_of, service_name
from harness.adopt.workspace import Workspace
from harness.agent.http_exchange import Answer
from harness.errors import InputError
from harness.measure.session import Assembly
from harness.model import LOAD_TOOLS, RuntimeSettings, Variant
from harness.model.load_tools import ALWAYS_HERE, LoadTool

JVM = "java"
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is asked for; ``None``: it is guessed."""

    folder: Path
    name: str | None = None
    start: str | None = None
    build: str | None = None
    requests: Path | None = None
    ready_s: float = 60.0


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """What came of it. ``guess``: ``None`` where the ``service.toml`` that was there is used; ``source``: where the
    requests are from; ``version``: of its runtime, as it says."""

    workspace: Workspace
    guess: Guess | None
    source: str
    listed: RequestList
    recording: Recording
    argv: tuple[str, ...]
    processes: tuple[str, ...]
    version: str | None

    @property
    def started(self) -> str:
        """The program, its processes and the version of its runtime, in words."""
        names = ", ".join(f"{n} x {name}" if n > 1 else name for name, n in Counter(self.processes).items())
        return f"{' '.join(self.argv)}; processes: {names}; runtime: {self.version or 'says no version'}"

    @property
    def left_out(self) -> tuple[str, ...]:
        """Requests that are no part of the load, each with its reason."""
        noted = (
            f"{item.asked.method} {item.asked.path}: {(item.note or '').replace(NOT_OF_THE_LOAD, '')}"
            for item in self.recording.recorded
            if not item.repeatable
        )
        return (*self.listed.left_out, *self.recording.left_out, *noted)

    @property
    def asked(self) -> str:
        """How many of the requests are the load, and why others are not, in words."""
        n = len(self.recording.repeatable)
        text = f"{n} of {n + len(self.left_out)} requests of {self.source}"
        return f"{text}; {NOT_OF_THE_LOAD}{'; '.join(self.left_out)}" if self.left_out else text


def workspace_of(order: Order) -> Workspace:
    """Return where the files of an adopted service lie or will lie."""
    name = order.name or service_name(order.folder.resolve().name)
    return Workspace(folder=Path(f"{name}-rematch"), name=name, service=name)


def adopt(order: Order, assembly: Assembly, say: Say) -> Adopted:
    """Write the files of a service, with the answers that it gives now.

    Raises:
        InputError: nothing tells how it is started or what it is asked; or it does not start, and the message names
            the line of ``service.toml`` to change.
    """
    place = workspace_of(order)
    file = order.requests or usual_file(order.folder)
    listed = None if file is None else read_requests(file)
    guess = None
    if order.start or order.build or not place.service_toml.is_file():
        guess = _guess(order)
        place.write_service(guess, "/")
        say(f"written: {place.service_toml}")
        if guess.needs:
            place.write_schema(guess.schema)
    else:
        say(f"taken as it is: {place.service_toml} (without it, it is guessed anew)")
    try:
        try:
            adopted = _look(order, guess, assembly, say, listed, str(file))
        except DoesNotStart as problem:
            if problem.part != "address" or guess is None:
                raise
            guess = replace(guess, address="::1").because(address=problem.reason)
            place.write_service(guess, "/")
            adopted = _look(order, guess, assembly, say, listed, str(file))
    except DoesNotStart as problem:
        raise blamed(problem, place.service_toml) from None
    if guess is not None:
        place.write_service(guess, adopted.recording.repeatable[0].asked.path)
    place.write_contract(adopted.recording)
    tool = leanest_tool(assembly, lambda tool: tool.only_loop is None or tool.only_loop[0] == "closed")
    warms = tool is not None and tool.saturates and JVM in adopted.processes
    generator = ALWAYS_HERE if tool is None else tool.name
    if guess is None and place.experiment.is_file():
        say(f"taken as it is: {place.experiment} (without it, it is written anew)")
    else:
        place.write_experiment(_comments(adopted), generator, generator if warms else None)
    return adopted


def _guess(order: Order) -> Guess:
    guess = guess_of(order.folder, order.start)
    if order.build is not None:
        build = ("sh", "-c", order.build) if order.build else ()
        guess = replace(guess, build=build).because(build="--build")
    start = " ".join(guess.start)
    if "{port}" not in start:
        raise InputError(
            "does not say where the port goes", place="--start", found=start, allowed="{port} in it"
        )
    return guess


def _look(
    order: Order, guess: Guess | None, assembly: Assembly, say: Say, listed: RequestList | None, source: str
) -> Adopted:
    """Ask the service in two processes."""
    place = workspace_of(order)
    implementation = place.implementation(assembly.root)
    variant = Variant(implementation=place.service, runtime=RuntimeSettings(cpus=1))
    ready = next((item.path for item in listed.asked if item.method == "GET"), "/") if listed else "/"
    start = partial(
        running_service, assembly, implementation, variant, ready_path=ready, ready_s=order.ready_s
    )
    with start(say=say) as running:
        if listed is None:
            listed, source = _found_out(order, running)
        asked = listed.asked
        say(f"requests: {len(asked)}, each asked twice, and once more of another process")
        first, again = running.ask(asked), running.ask(asked)
        processes, process = running.processes(), running.instance.record
    with start() as running:
        fresh = running.ask(asked)
    adopted = Adopted(
        workspace=place, guess=guess, source=source, listed=listed, recording=record(asked, first, again, fresh),
        argv=process.argv, processes=processes, version=process.runtime_version,
    )  # fmt: skip
    if not adopted.recording.repeatable:
        raise InputError(
            "no request can be part of a load", file=source, found="; ".join(adopted.left_out)[:300] or "none",
            allowed="requests that are answered with 2xx or 3xx again and again (--requests FILE)",
        )  # fmt: skip
    return adopted


def _found_out(order: Order, running: Running) -> tuple[RequestList, str]:
    """Return what the service's own document says that it answers, else its root."""
    documents = tuple(Call(name=path, method="GET", path=path) for path in SERVED)
    for item, answer in zip(documents, running.ask(documents), strict=True):
        if isinstance(answer, Answer) and answer.status == 200:
            try:
                listed = requests_of(answer.content.decode("utf-8", "replace"), Path(item.path))
            except InputError:
                continue
            if listed.asked:
                return listed, f"the service's own {item.path}"
    candidates = named((Call(name="", method="GET", path="/"),))
    (answer,) = running.ask(candidates)
    if not isinstance(answer, Answer) or not 200 <= answer.status < 400:
        raise InputError(
            "nothing tells what it is asked", file=order.folder,
            found=f"GET / is answered with {answer.status}" if isinstance(answer, Answer) else answer,
            allowed="--requests calls.curl, with a line for each request, such as: "
            f"curl {running.instance.endpoint.url.replace('127.0.0.1', 'localhost')}/items/1",
        )  # fmt: skip
    return RequestList(asked=candidates), "the root alone (--requests FILE lists others)"


def leanest_tool(assembly: Assembly, wanted: Callable[[LoadTool], bool]) -> LoadTool | None:
    """Return the load tool here that does what is wanted and takes least; ``None``: there is none."""
    usable = {tool.name for tool in assembly.tools if tool.usable}
    tools = [
        tool
        for tool in LOAD_TOOLS
        # a CPU of its own, for one that never sleeps, is not everywhere
        if tool.name in usable and tool.runs_as == "program" and not tool.never_sleeps and wanted(tool)
    ]
    return min(tools, key=lambda tool: not tool.saturates, default=None)


def _comments(adopted: Adopted) -> list[str]:
    guess = adopted.guess
    conclusions = [] if guess is None else [f"{part}: {why}" for part, why in guess.why.items()]
    masked = (item for item in adopted.recording.recorded if item.volatile)
    return [
        "Written by `rematch adopt`: what was guessed, and from what. Change what is wrong.",
        *conclusions,
        *(() if guess is None else guess.remarks),
        f"started: {adopted.started}",
        f"requests: {adopted.asked}",
        *(
            f"masked in {item.asked.method} {item.asked.path}: {', '.join(item.volatile)} change"
            for item in masked
        ),
        *(f"not sent: {item}" for item in adopted.listed.remarks),
        "cpus = 1: one CPU for all threads and processes of the service; the others are the load's",
    ]


def blamed(problem: DoesNotStart, file: Path) -> InputError:
    """Return the failure as one line that names the line of ``service.toml`` to change."""
    lines = enumerate(file.read_text("utf-8").splitlines(), start=1)
    line = next((number for number, text in lines if re.match(rf"\s*{problem.part}\s*=", text)), None)
    place = problem.part if line is None else f"line {line}: {problem.part}"
    change = "add the line" if line is None else "change this line"
    return InputError(f"{problem.reason}; {change} and give the same command again", file=file, place=place)
