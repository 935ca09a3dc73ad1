# SPDX-License-Identifier: Apache-2.0
"""``verify bound``: is what bounded a trial named? With real services, where the truth is made.

A slowed generator: wrk with a script that works before each request, on CPUs that it shares with the service. A slowed
database: PostgreSQL reads a hundred thousand rows without an index for each request. A rate far below capacity. A
saturated service: on one CPU, wrk on others. A trial during which others took a tenth of a CPU or more is made again.
Control: the headroom of the session alone misses the slowed generator.
"""

from __future__ import annotations

import http.client
import re
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.agent.machine_counters import MachineReading, read_machine
from harness.agent.platforms import usable_cpus
from harness.analysis.tables.bound import (
    HEADROOM_ENOUGH,
    Facts,
    HostUse,
    Part,
    PartName,
    Rates,
    what_bounds,
)
from harness.errors import RematchError
from harness.model import BackingSettings, Bound, BoundBy
from harness.places.backing.base import BackingNeed
from harness.places.hosts.base import Command
from harness.places.hosts.local import LocalHost
from harness.project import find_root
from harness.toolchains import Surroundings, find_tool
from harness.verify.real.go_service import build_go_service, cpu_s, running_service, tree_cpu_s
from harness.verify.simulated.result import Cells, VerifyResult

NAMED = 0.95
#: Tries for each trial that is wanted; what others disturb is made again.
TRIES = 3
#: CPUs' worth of time that others took: from here on a trial is set aside.
DISTURBED = 0.10
#: The load is on for this long before and after the readings, and in between.
AROUND_S, WINDOW_S = 0.2, 0.8
RATE_PER_S = 200.0
#: Users of a closed loop. The service of a database has more connections than users, so that no request waits for one.
USERS_PER_CPU, POOL_SIZE = 8, 40
#: A loop before each request of the slowed generator: some tenths of a millisecond.
_SLOW = """
request = function()
  local sum = 0
  for turn = 1, 400000 do sum = sum + turn % 7 end
  wrk.headers["X-Sum"] = tostring(sum)
  return wrk.format()
end
"""
_RATE = re.compile(r"^Requests/sec:\s+(\S+)", re.MULTILINE)
#: CPU time used so far, in seconds; and the machine with the CPU time of each part at one moment.
Used = Callable[[], float]
Reading = tuple[MachineReading, Mapping[PartName, float]]
#: A load that runs: the generator's CPU time so far and, once it is over, the answers per second.
RunningLoad = tuple[Used, Callable[[], float]]


@dataclass(frozen=True)
class Kind:
    """Which CPUs each part has, and what bounds the trial in truth. ``database``: empty: there is none."""

    truth: BoundBy
    service: tuple[int, ...]
    generator: tuple[int, ...]
    slowed_wrk: bool = False
    database: tuple[int, ...] = ()
    rate_per_s: float | None = None

    @property
    def users(self) -> int | None:
        """Of a closed loop."""
        return None if self.rate_per_s else USERS_PER_CPU * len(self.generator)


@dataclass(frozen=True)
class Trial:
    """One trial: what bounded it, what others took meanwhile, and whether the headroom was too small."""

    bound: Bound
    taken_cores: float
    flagged: bool

    @property
    def disturbed(self) -> bool:
        return self.taken_cores >= DISTURBED


def bound(sims: int, seed: int) -> VerifyResult:
    """Make ``sims`` trials of each kind; nothing is drawn, so ``seed`` only stands in the result.

    Raises:
        RematchError: a service cannot be built or does not answer, a tool is missing, or there is one CPU.
    """
    cells = Cells(
        "bound", sims, seed,
        bar="each named in >= .95",
        control="the headroom flag misses the slowed generator",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="rematch-bound-") as folder:
        machinery = Machinery(Path(folder))
        for name, kind in machinery.kinds.items():
            made, trials, n_aside = machinery.trials(name), list[Trial](), 0
            while len(trials) < sims and len(trials) + n_aside < TRIES * sims:
                trial = next(made)
                trials += [] if trial.disturbed else [trial]
                n_aside += trial.disturbed
            n = len(trials)
            named = sum(trial.bound.by == kind.truth for trial in trials) / max(n, 1)
            cells.share(f"{name}, named; {n} trials, {n_aside} more set aside", named, n=n, at_least=NAMED)
            if kind.slowed_wrk:
                flagged = sum(trial.flagged for trial in trials) / max(n, 1)
                cells.share(f"{name}, flagged by headroom", flagged, n=n, at_most=0.05, control=True)
    return cells.result()


class Machinery:
    """Builds the services once, in ``folder``, and makes trials of them."""

    def __init__(self, folder: Path) -> None:
        cpus = usable_cpus()
        if len(cpus) < 2:
            raise RematchError(
                f"verify bound needs 2 CPUs, one for the service and one for the load; here: {len(cpus)}"
            )
        first, rest = cpus[:1], cpus[1:]
        self.kinds = {
            "a slowed generator": Kind("generator", cpus, cpus, slowed_wrk=True),
            "a slowed database": Kind("backing", first, first, database=rest[:1]),
            "a rate below capacity": Kind("offered", first, rest, rate_per_s=RATE_PER_S),
            "a saturated service": Kind("service", first, rest),
        }
        self._around = Surroundings(project=find_root())
        self._wrk = find_tool("wrk", self._around)
        self._folder = folder
        (folder / "slow.lua").write_text(_SLOW, "utf-8")

    def trials(self, name: str) -> Generator[Trial, None, None]:
        """Yield trials of one kind for as long as they are asked for; each meets the same running services."""
        kind = self.kinds[name]
        with ExitStack() as running:
            used: dict[PartName, Used] = {}
            environment: Mapping[str, str] = {}
            source, ready, options = "echo/go-raw", "/", tuple[str, ...]()
            if kind.database:
                environment, used["backing"] = running.enter_context(self._database(kind.database))
                source, ready, options = "bank/go-gorilla", "/health", ("--pool-size", str(POOL_SIZE))
            program = self._folder / source.replace("/", "-")
            if not program.exists():
                build_go_service(source, program, self._around)
            process, port = running.enter_context(
                running_service(
                    program, ready, *options,
                    cpus=kind.service, GOMAXPROCS=str(len(kind.service)), **environment,
                )
            )  # fmt: skip
            used["service"] = lambda: cpu_s(process)
            echo_per_s = None
            if kind.slowed_wrk:  # as a session has it: read once, before, with the generator as it is
                with self._wrk_at(port, kind, slowed=False) as (_, answered):
                    time.sleep(WINDOW_S)
                echo_per_s = answered()
            while True:
                yield self._trial(kind, port, used, echo_per_s)

    def _trial(self, kind: Kind, port: int, used: Mapping[PartName, Used], echo_per_s: float | None) -> Trial:
        rate_per_s = kind.rate_per_s
        load = _rate_at(port, rate_per_s) if rate_per_s else self._wrk_at(port, kind, slowed=kind.slowed_wrk)
        with load as (generator_cpu_s, answered):
            time.sleep(AROUND_S)
            every: dict[PartName, Used] = {**used, "generator": generator_cpu_s}
            readings: list[Reading] = []
            for wait_s in (WINDOW_S, AROUND_S):
                readings.append((read_machine(), {name: used_s() for name, used_s in every.items()}))
                time.sleep(wait_s)
        achieved_per_s = answered()
        ratio = None if echo_per_s is None else echo_per_s / max(achieved_per_s, 1.0)
        asked = Rates(
            offered_per_s=rate_per_s,
            achieved_per_s=achieved_per_s,
            echo_per_s=echo_per_s,
            headroom_ratio=ratio,
            users=kind.users,
        )
        seen = _between(readings[0], readings[1], kind, asked)
        return Trial(
            bound=what_bounds(seen),
            taken_cores=seen.around.taken_cores,
            flagged=ratio is not None and ratio < HEADROOM_ENOUGH,
        )

    @contextmanager
    def _database(self, cpus: tuple[int, ...]) -> Iterator[tuple[Mapping[str, str], Used]]:
        """Start PostgreSQL with a grown table; yield the environment of its service, and its CPU seconds so far."""
        from harness.places.backing.postgres_source import (
            Postgres,  # with its driver, which readers do not have
        )

        source = Postgres(LocalHost(), find_root(), find_tool("postgres", self._around))
        need = BackingNeed(
            workload="bank",
            contract=find_root() / "services" / "bank" / "contract",
            settings=BackingSettings(seed="grown"),
            cpus=cpus,
        )
        if (missing := source.unavailable(need)) is not None:
            raise RematchError(f"verify bound needs PostgreSQL: {missing}")
        with ExitStack() as ending:
            ending.callback(source.close)
            source.prepare(need)
            lent = source.start(need, self._folder)
            ending.callback(lent.stop)
            record, at_launch_s = lent.record, lent.cpu_at_launch_s
            yield (
                dict(lent.environment),
                lambda: tree_cpu_s(record.pid, record.process_start_ticks, at_launch_s, short_lived=True),
            )

    @contextmanager
    def _wrk_at(self, port: int, kind: Kind, *, slowed: bool) -> Iterator[RunningLoad]:
        text = self._folder / "wrk.txt"
        text.unlink(missing_ok=True)
        script = ("-s", str(self._folder / "slow.lua")) if slowed else ()
        path = "/client/1/balance" if kind.database else "/"
        words = ("-t", str(len(kind.generator)), "-c", str(kind.users), "-d", "10s", *script)
        command = Command(
            argv=(str(self._wrk.require()), *words, f"http://127.0.0.1:{port}{path}"),
            folder=self._folder,
            cpus=kind.generator,
            stdout=text,
        )
        process = LocalHost().spawn(command)
        try:
            yield (lambda: cpu_s(process)), (lambda: float(_RATE.findall(text.read_text("utf-8"))[-1]))
        finally:
            process.stop(grace_s=5.0, first="SIGINT")  # it prints what it has done so far


def _between(before: Reading, after: Reading, kind: Kind, asked: Rates) -> Facts:
    """Return what was measured between two readings."""
    span_s = after[0].monotonic_s - before[0].monotonic_s
    cpus = {"service": kind.service, "generator": kind.generator, "backing": kind.database}
    parts = tuple(
        Part(
            name=name,
            cores=(used_s - before[1][name]) / span_s,
            cpus=frozenset(("here", cpu) for cpu in cpus[name]),
            most=1.0 if kind.rate_per_s and name == "generator" else None,
        )
        for name, used_s in after[1].items()
    )

    def rate(name: str) -> float | None:
        first, last = getattr(before[0], name), getattr(after[0], name)
        return None if first is None or last is None else max(0.0, last - first) / span_s

    busy, own = rate("total_cpu_s"), sum(part.cores or 0.0 for part in parts)
    around = HostUse(
        n_cpus=len(usable_cpus()),
        stolen_cores=rate("steal_s"),
        other_cores=None if busy is None else max(0.0, busy - own),
        idle_cores=rate("idle_s"),
    )
    return Facts(parts=parts, asked=asked, around=around)


@contextmanager
def _rate_at(port: int, rate_per_s: float) -> Iterator[RunningLoad]:
    """Ask at a steady rate over one connection, in a thread of this process; what is late is asked at once."""
    over, n, lasted_s = threading.Event(), 0, 0.0

    def ask() -> None:
        nonlocal n, lasted_s
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5.0)
        began = time.monotonic()
        while not over.wait(max(0.0, began + n / rate_per_s - time.monotonic())):
            connection.request("GET", "/")
            connection.getresponse().read()
            n += 1
        lasted_s = time.monotonic() - began
        connection.close()

    client = threading.Thread(target=ask, name="steady-rate", daemon=True)
    client.start()
    try:
        yield time.process_time, lambda: n / lasted_s if lasted_s else 0.0
    finally:
        over.set()
        client.join()
