# SPDX-License-Identifier: Apache-2.0
"""Records real files of load tools while a service is stopped and continued at known times.

``python -m harness.verify.real.recorder --seed 9`` records one file a tool and loop, some three minutes, into
``harness/tests/golden/stops``: what the tool wrote, compressed, and beside it a JSON with the truth. What a seed
means is fixed by :class:`harness.verify.real.recorded.Recording`, before anything is recorded.
"""

from __future__ import annotations

import argparse
import gzip
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.agent.platforms import usable_cpus
from harness.agent.ports import free_port
from harness.analysis.attribution.spans import Span
from harness.errors import RematchError
from harness.hosts.base import Command, Process
from harness.hosts.local import LocalHost
from harness.loadgen.base import Installed, LoadGenerator, LoadSpec
from harness.loadgen.tools import adapter_of
from harness.model import LOAD_TOOLS, ClosedLoad, LoadProfile, OpenLoad, Request
from harness.model.endpoint import Endpoint
from harness.model.load import Spacing
from harness.model.request import Expectation
from harness.project import find_root
from harness.provenance import describe_place
from harness.toolchains import Surroundings, find_jdks, find_tool
from harness.verify.machine_load import Others
from harness.verify.real.go_service import echo_service, wait_until_ready
from harness.verify.real.recorded import FOLDER, Recording, has_stops
from harness.verify.real.run_queue import RunQueue

LOAD_S = 24.0
USERS, THINK_S, RATE_PER_S, CONNECTIONS = 20, 0.1, 160.0, 200
#: From the start of a generator, a JVM among them, to the first stop; and from one stop to the next, at least.
FIRST_S, EVERY_S, STOPS = 5.0, 3.0, 6
SHORTEST_S, LONGEST_S = 0.1, 0.8
#: Of waiting for a CPU: a shorter span could not explain a stall that is listed.
SHORTEST_WAIT_S = 0.02
_SPACINGS: tuple[Spacing, ...] = ("poisson", "constant")
_ASKED = Request(mix="stops", name="echo", method="GET", path="/", expect=Expectation(status=200))


def record(seed: int, folder: Path) -> Iterator[Path]:
    """Yield each file as it is recorded: every tool that writes a row a request and compares bodies, by each loop.

    Raises:
        RematchError: Go or a tool is missing, the service does not answer, or a tool fails.
    """
    around = Surroundings(project=find_root())
    programs = {tool.name: find_tool(tool.name, around) for tool in LOAD_TOOLS if tool.runs_as != "python"}
    jdks = find_jdks(around)
    installed = Installed(
        programs={name: tool.path for name, tool in programs.items() if tool.usable},
        java=jdks[0].java if jdks else None,
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name in [tool.name for tool in LOAD_TOOLS if tool.checks_bodies]:
        generator = adapter_of(name, installed)
        for profile in _loads(generator):
            yield _recorded(generator, profile, seed, folder)


def _loads(generator: LoadGenerator) -> Iterator[LoadProfile]:
    """The loads that a tool can offer: users who think, and arrivals, random where it has these."""
    closed = ClosedLoad(users=USERS, duration_s=LOAD_S, think_time_s=THINK_S)
    arrivals = [
        OpenLoad(rate_per_s=RATE_PER_S, duration_s=LOAD_S, arrivals=spacing, connections=CONNECTIONS)
        for spacing in _SPACINGS
    ]
    loads: tuple[LoadProfile, ...] = (closed, *arrivals)
    able = [load for load in loads if generator.supports(load, (_ASKED,)) is None]
    yield from able[:2]


def _recorded(generator: LoadGenerator, profile: LoadProfile, seed: int, target: Path) -> Path:
    name = f"{generator.name}-{profile.model}-{seed}"
    rng = np.random.default_rng([seed, *name.encode()])
    with tempfile.TemporaryDirectory(prefix="rematch-stops-") as made:
        folder = Path(made) / "load"
        folder.mkdir()
        port = free_port()
        command = generator.command(
            LoadSpec(
                profile=profile,
                requests=(_ASKED,),
                endpoint=Endpoint(host="127.0.0.1", port=port),
                folder=folder,
                seed=seed,
            )
        )
        for file, text in command.files.items():
            (folder / file).write_text(text, "utf-8")
        host = LocalHost()
        words, argv = echo_service(Path(made), port)
        service = host.spawn(Command(argv=argv, folder=Path(made)))
        try:
            wait_until_ready(port, "/", words)
            load = host.spawn(
                Command(
                    argv=command.argv,
                    folder=folder,
                    environment=command.environment,
                    stdout=folder / command.stdout,
                    stderr=folder / command.stderr,
                )
            )
            try:
                seen = _watched(service, load, rng, stop=has_stops(seed), within_s=3 * command.expected_s)
            finally:
                load.stop(grace_s=5.0)
        finally:
            os.kill(service.pid, signal.SIGCONT)  # a stopped process does not see SIGTERM
            service.stop(grace_s=2.0)
        generator.read(folder)  # it says what is wrong where the tool left nothing
        samples = next(folder / output for output in command.outputs if output.startswith("samples"))
        packed = target / f"{name}{samples.suffix}.gz"
        packed.write_bytes(gzip.compress(samples.read_bytes(), 9, mtime=0))
    Recording(
        file=packed.name,
        seed=seed,
        stops=tuple(seen.stops),
        waits=tuple(seen.waits),
        others_share=seen.others_share,
        place=describe_place(find_root()),
    ).write(target)
    return packed


class _Seen(NamedTuple):
    """What is known of one load. Spans in epoch seconds."""

    stops: list[Span]
    waits: list[Span]
    others_share: float | None


def _watched(
    service: Process, load: Process, rng: np.random.Generator, *, stop: bool, within_s: float
) -> _Seen:
    """Stop and continue the service until the load is over; return what was done and seen.

    Raises:
        RematchError: the load generator failed, or did not end in time.
    """
    stops: list[Span] = []
    began, over, others = time.monotonic(), threading.Event(), Others()
    starts = began + FIRST_S + EVERY_S * np.arange(STOPS) + rng.uniform(0.0, EVERY_S / 2, STOPS)
    lengths = np.exp(rng.uniform(np.log(SHORTEST_S), np.log(LONGEST_S), STOPS))
    wanted = list(zip(starts.tolist(), lengths.tolist(), strict=True)) if stop else []
    epoch_s = time.time() - time.monotonic()
    stopper = threading.Thread(target=_stop_and_go, args=(service.pid, wanted, stops, over))
    code, share = None, None
    with RunQueue((service.pid, load.pid), every_s=0.01) as queue:
        stopper.start()
        try:
            while code is None and time.monotonic() < began + within_s:
                share = _others_share(others, began, (service, load))  # while both run: the last one counts
                code = load.wait(0.5)
        finally:
            over.set()
            stopper.join()
    if code != 0:
        raise RematchError(f"the load generator ended with {code}")
    waits = [span for pid in (service.pid, load.pid) for span in queue.waits(pid, SHORTEST_WAIT_S)]
    return _Seen(
        stops=[(round(epoch_s + low, 4), round(epoch_s + high, 4)) for low, high in stops],
        waits=[(round(epoch_s + low, 4), round(epoch_s + high, 4)) for low, high in sorted(waits)],
        others_share=share,
    )


def _others_share(others: Others, began: float, ours: tuple[Process, ...]) -> float | None:
    """Share of all cores' time that neither this program nor these processes, which still run, used."""
    share, lasted_s = others.share(), max(time.monotonic() - began, 1e-9)
    used_s = sum(process.cpu_s() or 0.0 for process in ours)
    return None if share is None else round(max(0.0, share - used_s / lasted_s / len(usable_cpus())), 3)


def _stop_and_go(
    pid: int, wanted: list[tuple[float, float]], stops: list[Span], over: threading.Event
) -> None:
    """Stop the process at each time for so long; ``stops`` gets both moments as they were, monotonic."""
    for start, length in wanted:
        if over.wait(max(0.0, start - time.monotonic())):
            return
        os.kill(pid, signal.SIGSTOP)
        stopped = time.monotonic()
        over.wait(length)
        continued = time.monotonic()
        os.kill(pid, signal.SIGCONT)
        stops.append((stopped, continued))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m harness.verify.real.recorder")
    parser.add_argument(
        "--seed", type=int, required=True, help="decides what the files are for: see recorded.py"
    )
    parser.add_argument("--into", type=Path, default=find_root() / FOLDER, help="a folder")
    given = parser.parse_args()
    for path in record(given.seed, given.into):
        print(path, flush=True)
