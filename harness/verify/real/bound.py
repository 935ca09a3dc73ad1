# SPDX-License-Identifier: Apache-2.0
"""``verify bound``: is what bounded a trial named? With real services, where the truth is made.

Six kinds of trial, each of real processes on this machine: wrk with a script that works before each request, on CPUs
that it shares with the service (a slowed generator); an upstream API on a CPU of its own that may hold no memory and
collects all the time (a slowed upstream); PostgreSQL on a CPU of its own that reads a grown table without an index for
each request (a slowed database), or in which somebody else holds a lock nearly all the time and nobody works (a locked
database); a steady rate far below what the service can do; a service on one CPU under wrk on others.

A trial during which other processes or the hypervisor took a tenth of a CPU or more is set aside and made again: what
bounded it is then not what was made. Control: the flag that looks at pinned CPUs and at the headroom of the session
alone, ``generator_bottleneck``, which misses the slowed generator.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.agent.platforms import usable_cpus
from harness.agent.ports import free_port
from harness.analysis.tables.bound import HEADROOM_ENOUGH, Asked, Connections, PartName, what_bounds
from harness.errors import RematchError
from harness.hosts.base import Command, Process
from harness.hosts.local import LocalHost
from harness.model import Bound
from harness.project import find_root
from harness.toolchains import Surroundings, find_go, find_tool
from harness.verify.real.go_service import (
    POOL_SIZE,
    Behind,
    Counters,
    Kind,
    SteadyRate,
    build_go_service,
    cpu_s,
    wait_until_ready,
)
from harness.verify.simulated.result import Cells, VerifyResult

NAMED = 0.95
#: Tries for each trial that is wanted; what others disturb is made again.
TRIES = 3
#: CPUs' worth of time that others took: from here on a trial is set aside.
DISTURBED = 0.10
#: The load is on for this long before and after the readings, and in between.
AROUND_S, WINDOW_S = 0.2, 0.8
RATE_PER_S = 200.0
#: Turns of a loop before each request of the slowed generator: some tenths of a millisecond.
TURNS = 400_000
BUSY_SHARE = 0.9  # of pinned CPUs, as generator_bottleneck has it
_SLOW = """
request = function()
  local sum = 0
  for turn = 1, TURNS do sum = sum + turn % 7 end
  wrk.headers["X-Sum"] = tostring(sum)
  return wrk.format()
end
"""
_BALANCE = "/client/1/balance"
#: Nothing asks the database: a connection is made when a request needs one.
_NO_DATABASE = dict.fromkeys(("PGHOST", "PGUSER", "PGPASSWORD", "PGDATABASE"), "none") | {"PGPORT": "1"}


@dataclass(frozen=True)
class Trial:
    """One trial: what bounded it, what others took meanwhile, and whether the headroom flag was set."""

    bound: Bound
    taken_cores: float
    flagged: bool

    @property
    def disturbed(self) -> bool:
        return self.taken_cores >= DISTURBED


def bound(sims: int, seed: int) -> VerifyResult:
    """Make ``sims`` trials of each kind.

    Args:
        seed: stands in the result; the truth is made, and nothing is drawn.

    Raises:
        RematchError: a service cannot be built or does not answer, wrk or Go is missing, or there is one CPU.
    """
    cells = Cells(
        "bound", sims, seed,
        bar="each named in >= .95",
        control="the headroom flag misses the slowed generator",
    )  # fmt: skip
    with Machinery() as machinery:
        for name, kind in machinery.kinds.items():
            trials, n_aside = _undisturbed(machinery.trials(name), sims)
            n = len(trials)
            named = sum(trial.bound.by == kind.truth for trial in trials) / max(n, 1)
            cells.share(f"{name}, named; {n} trials, {n_aside} more set aside", named, n=n, at_least=NAMED)
            if kind.slowed_wrk:
                flagged = sum(trial.flagged for trial in trials) / max(n, 1)
                cells.share(f"{name}, flagged by headroom", flagged, n=n, at_most=0.05, control=True)
    return cells.result()


def _undisturbed(trials: Iterator[Trial], wanted: int) -> tuple[list[Trial], int]:
    """Return up to so many trials that others did not disturb, and how many were set aside."""
    calm: list[Trial] = []
    n_aside = 0
    while len(calm) < wanted and len(calm) + n_aside < TRIES * wanted:
        trial = next(trials)
        if trial.disturbed:
            n_aside += 1
        else:
            calm.append(trial)
    return calm, n_aside


class Machinery:
    """Builds the services once, and makes trials of them; a context manager."""

    def __init__(self) -> None:
        cpus = usable_cpus()
        if len(cpus) < 2:
            raise RematchError(
                f"verify bound needs 2 CPUs, one for the service and one for the load; here: {len(cpus)}"
            )
        first, rest = cpus[:1], cpus[1:]
        waiting = partial(Kind, "backing", first, first, behind=rest[:1])
        self.kinds = {
            "a slowed generator": Kind("generator", cpus, cpus, slowed_wrk=True),
            "a slowed upstream": waiting(path="/hello"),
            "a slowed database": waiting(database="grown", path=_BALANCE),
            "a locked database": waiting(database="locked", path=_BALANCE),
            "a rate below capacity": Kind("offered", first, rest, rate_per_s=RATE_PER_S),
            "a saturated service": Kind("service", first, rest),
        }
        around = Surroundings(project=find_root())
        self._go, self._around = find_go(around), around
        self._wrk = find_tool("wrk", around)
        self._host = LocalHost()
        self._built: dict[str, Path] = {}

    def __enter__(self) -> Machinery:
        self._temporary = tempfile.TemporaryDirectory(prefix="rematch-bound-")
        self._folder = Path(self._temporary.name)
        (self._folder / "slow.lua").write_text(_SLOW.replace("TURNS", str(TURNS)), "utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._temporary.cleanup()

    def trials(self, name: str) -> Generator[Trial, None, None]:
        """Yield trials of one kind for as long as they are asked for; each meets the same running services."""
        kind = self.kinds[name]
        with ExitStack() as running:
            behind = running.enter_context(self._behind(kind))
            port = free_port()
            service = running.enter_context(self._service(kind, port, behind))
            echo_per_s = None
            if kind.slowed_wrk:  # as a session has it: read once, before, with the generator as it is
                with self._wrk_at(port, kind, slowed=False) as (_, answered):
                    time.sleep(WINDOW_S)
                echo_per_s = answered()
            while True:
                yield self._trial(kind, port, service, behind, echo_per_s)

    def _trial(
        self, kind: Kind, port: int, service: Process, behind: Behind | None, echo_per_s: float | None
    ) -> Trial:
        load = (
            self._rate_at(port, kind) if kind.rate_per_s else self._wrk_at(port, kind, slowed=kind.slowed_wrk)
        )
        with load as (generator_cpu_s, answered):
            time.sleep(AROUND_S)
            parts: dict[PartName, Callable[[], float]] = {
                "service": lambda: cpu_s(service),
                "generator": generator_cpu_s,
            }
            if behind is not None:
                parts["backing"] = behind.cpu_s
            before = Counters.read(parts)
            connections = behind.wait(WINDOW_S) if behind is not None else _wait(WINDOW_S)
            after = Counters.read(parts)
            time.sleep(AROUND_S)
        achieved_per_s = answered()
        ratio = None if echo_per_s is None or kind.rate_per_s else echo_per_s / max(achieved_per_s, 1.0)
        asked = Asked(
            offered_per_s=kind.rate_per_s,
            achieved_per_s=achieved_per_s,
            echo_per_s=echo_per_s,
            headroom_ratio=ratio,
            users=None if kind.rate_per_s else kind.users,
        )
        seen = after.since(before, kind, asked, connections)
        used = seen.part("generator")
        pinned = kind.generator if kind.generator != kind.service else ()
        busy = bool(pinned) and used is not None and (used.cores or 0.0) > BUSY_SHARE * len(pinned)
        return Trial(
            bound=what_bounds(seen),
            taken_cores=seen.around.taken_cores,
            flagged=busy or (ratio is not None and ratio < HEADROOM_ENOUGH),
        )

    def _binary(self, source: str) -> Path:
        """Build a service from its folder, once."""
        if source not in self._built:
            target = self._folder / source.replace("/", "-")
            build_go_service(source, target, self._go, self._around)
            self._built[source] = target
        return self._built[source]

    @contextmanager
    def _running(
        self, source: str, port: int, cpus: tuple[int, ...], path: str, *options: str, **environment: str
    ) -> Iterator[Process]:
        argv = (str(self._binary(source)), "--host", "127.0.0.1", "--port", str(port), *options)
        command = Command(
            argv=argv,
            folder=self._folder,
            environment={"GOMAXPROCS": str(len(cpus)), **environment},
            cpus=cpus,
        )
        process = self._host.spawn(command)
        try:
            wait_until_ready(port, path, f"services/{source}")
            yield process
        finally:
            process.stop(grace_s=2.0)

    @contextmanager
    def _behind(self, kind: Kind) -> Iterator[Behind | None]:
        if not kind.behind:
            yield None
        elif kind.database is not None:
            from harness.verify.real.slowed_database import slowed_database  # with PostgreSQL's driver

            with slowed_database(
                kind.database, kind.behind, self._host, self._around, self._folder
            ) as behind:
                yield behind
        else:
            # over its memory limit from the start, so that it never stops collecting
            port, slowed = free_port(), {"GOMEMLIMIT": "1MiB", "GOGC": "1"}
            with self._running("clients/upstream-api", port, kind.behind, "/health", **slowed) as process:
                values = _NO_DATABASE | {"UPSTREAM_URL": f"http://127.0.0.1:{port}"}
                yield Behind(environment=values, cpu_s=lambda: cpu_s(process), wait=_wait)

    @contextmanager
    def _service(self, kind: Kind, port: int, behind: Behind | None) -> Iterator[Process]:
        options: tuple[str, ...] = ()
        if behind is None:
            source, ready = "echo/go-raw", "/"
        elif kind.database is not None:
            source, ready, options = "bank/go-gorilla", "/health", ("--pool-size", str(POOL_SIZE))
        else:
            source, ready, options = "clients/go-nethttp", "/health", ("--pool-min", "0", "--pool-size", "1")
        needs: Mapping[str, str] = {} if behind is None else behind.environment
        with self._running(source, port, kind.service, ready, *options, **needs) as process:
            yield process

    @contextmanager
    def _wrk_at(
        self, port: int, kind: Kind, *, slowed: bool
    ) -> Iterator[tuple[Callable[[], float], Callable[[], float]]]:
        """Start wrk; yield what tells its CPU seconds so far, and, once it is stopped, what tells its rate."""
        text = self._folder / "wrk.txt"
        text.unlink(missing_ok=True)
        script = ("-s", str(self._folder / "slow.lua")) if slowed else ()
        threads = str(len(kind.generator))
        argv = (str(self._wrk.require()), "-t", threads, "-c", str(kind.users), "-d", "10s", *script)
        command = Command(
            argv=(*argv, f"http://127.0.0.1:{port}{kind.path}"),
            folder=self._folder,
            cpus=kind.generator,
            stdout=text,
        )
        process = self._host.spawn(command)
        try:
            yield (lambda: cpu_s(process)), (lambda: _wrk_rate(text))
        finally:
            process.stop(grace_s=5.0, first="SIGINT")  # it prints what it has done so far

    @contextmanager
    def _rate_at(self, port: int, kind: Kind) -> Iterator[tuple[Callable[[], float], Callable[[], float]]]:
        """Ask at a steady rate over one connection, in a thread of this process."""
        client = SteadyRate(port, kind.rate_per_s or RATE_PER_S)
        client.start()
        try:
            yield time.process_time, client.rate_per_s
        finally:
            client.stop()


def _wait(span_s: float) -> Connections | None:
    time.sleep(span_s)
    return None


def _wrk_rate(output: Path) -> float:
    lines = [line for line in output.read_text("utf-8").splitlines() if line.startswith("Requests/sec:")]
    if not lines:
        raise RematchError("wrk ended without a rate")
    return float(lines[-1].split()[1])
