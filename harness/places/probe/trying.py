# SPDX-License-Identifier: Apache-2.0
"""A minute of load: is the service fit, how much does it answer, and where does waiting begin?

The loads come from the leanest load tool of this machine, else from threads of this program, which are slow, and say so
by their own CPU time. In their open loop request i is due at i / rate, and its latency counts from then, also where
every connection was busy.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from pydantic import Field

from harness.agent.http_exchange import Connection, ExchangeError
from harness.agent.platforms import usable_cpus
from harness.errors import InputError, RematchError, UnsupportedLoad
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.loadgen.base import Installed, LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.tools import adapter_of
from harness.model import ClosedLoad, Frozen, OpenLoad
from harness.model.digits import plain
from harness.model.load import Expectation, Request
from harness.model.load_tools import LOAD_TOOLS
from harness.places.probe.target import TIMEOUT_S, Fitness, Target, ask
from harness.toolchains import Surroundings, find_tool

#: The name of the threads of this program.
OWN = "threads of rematch"
#: From here on the generator's own CPU time is what limits the load.
BUSY = 0.85
_PERCENTILES = (0.5, 0.99)
#: Threads that send at a rate: more of them would wait for each other in Python.
OPEN_CONNECTIONS = 64
#: After its end no request of an open load is begun that is later than this.
_LATE_S = 1.0


class Point(Frozen):
    """One load. ``offered_per_s``: None in a closed loop; ``users``: None in an open one."""

    users: int | None = None
    offered_per_s: float | None = None
    answered_per_s: float
    error_share: float
    p50_s: float | None
    p99_s: float | None
    tool: str
    generator_cores: float = Field(description="CPUs that the load generator used on average")
    generator_bound: bool = Field(description="it used nearly all that it can: the service may do more")


class Generators:
    """The tools of this machine."""

    def __init__(self, target: Target, root: Path, status: int) -> None:
        self._target = target
        around = Surroundings(project=root)
        programs: dict[str, Path | None] = {}
        # a tool that never sleeps needs a CPU of its own; one that leaves out the beginning of a load has nothing to
        # say of some seconds
        for tool in sorted(LOAD_TOOLS, key=lambda item: not item.saturates):  # the leanest first
            if tool.runs_as == "program" and not tool.never_sleeps and not tool.latencies_after_s:
                result = find_tool(tool.name, around)
                if result.usable:
                    programs[tool.name] = result.path
        self._cpus = len(usable_cpus())
        installed = Installed(programs=programs, n_cpus=self._cpus)
        self._adapters = [adapter_of(name, installed) for name in programs]
        self._request = Request(
            mix="try",
            name="try",
            method=target.method,
            path=target.path,
            headers=dict(target.headers),
            body=target.body,
            expect=Expectation(status=status),
        )

    def offer(self, profile: ClosedLoad | OpenLoad) -> Point:
        """Offer a load by the leanest tool that can, else by threads. Raises RematchError: the tool failed."""
        for adapter in self._adapters:
            if adapter.supports(profile, (self._request,)) is None:
                return self._by_tool(adapter, profile)
        return self._by_threads(profile)

    def _by_threads(self, profile: ClosedLoad | OpenLoad) -> Point:
        """Offer a load by users that ask again as soon as they have their answer, or a rate over at most
        ``OPEN_CONNECTIONS`` connections, of which what cannot begin in time is never sent."""
        seconds = profile.duration_s or 0.0
        n_due = max(1, int(profile.rate_per_s * seconds)) if isinstance(profile, OpenLoad) else 0
        start_s = time.monotonic() + 0.05
        end_s, numbers = start_s + seconds, itertools.count()

        def next_due() -> float | None:
            now_s = time.monotonic()
            if isinstance(profile, ClosedLoad):
                return now_s if now_s < end_s else None
            number = next(numbers)  # atomic: one call into C
            if number >= n_due or now_s > end_s + _LATE_S:
                return None
            due_s = start_s + number / profile.rate_per_s
            time.sleep(max(0.0, due_s - now_s))
            return due_s

        users = OPEN_CONNECTIONS if isinstance(profile, OpenLoad) else profile.users
        began_cpu_s = time.process_time()
        with ThreadPoolExecutor(users) as pool:
            asked = [pool.submit(_send, self._target, next_due) for _ in range(users)]
        parts = [item.result() for item in asked]
        latencies_s = [item for part in parts for item in part[0]]
        n_failed = sum(part[1] for part in parts)
        lasted_s = max(max(part[2] for part in parts) - start_s, 1e-3)
        cores = (time.process_time() - began_cpu_s) / lasted_s
        n_all = max(len(latencies_s) + n_failed, n_due)
        return _point(
            profile, OWN, len(latencies_s) / lasted_s, (n_failed, n_all), _percentiles(np.array(latencies_s)), cores,
            limit_cores=1,  # Python runs one thread at a time
        )  # fmt: skip

    def _by_tool(self, adapter: LoadGenerator, profile: ClosedLoad | OpenLoad) -> Point:
        with tempfile.TemporaryDirectory(prefix="rematch-try-") as name:
            folder = Path(name)
            spec = LoadSpec(
                profile=profile, requests=(self._request,), endpoint=self._target.endpoint, folder=folder
            )
            try:
                command = adapter.command(spec)
            except UnsupportedLoad as problem:  # it said that it could
                raise RematchError(f"{adapter.name}: {problem}") from problem
            cpu_s, took_s = _run(command, folder)
            result = adapter.read(folder)
            percentiles = (
                _of_files(folder / output for output in command.outputs)
                if result.has_requests
                else (result.latency_quantiles_s.get("p50"), result.latency_quantiles_s.get("p99"))
            )
        answered_per_s = (result.n_requests - result.n_errors) / max(result.duration_s or took_s, 1e-3)
        return _point(
            profile, adapter.name, answered_per_s, (result.n_errors, result.n_requests), percentiles,
            cpu_s / max(took_s, 1e-3), limit_cores=max(1, self._cpus // 2),
        )  # fmt: skip


def _send(target: Target, next_due: Callable[[], float | None]) -> tuple[list[float], int, float]:
    """Return latencies in s of good answers, how many requests failed, and when the last one ended."""
    latencies_s: list[float] = []
    n_failed, ended_s, request = 0, 0.0, target.request
    with Connection(target.endpoint, TIMEOUT_S) as connection:
        while (due_s := next_due()) is not None:
            try:
                answer = connection.exchange(request)
                is_good, ended_s = 200 <= answer.status < 300, answer.received_monotonic_s
            except (ExchangeError, OSError):
                is_good, ended_s = False, time.monotonic()
            if is_good:
                latencies_s.append(ended_s - due_s)
            else:
                n_failed += 1
    return latencies_s, n_failed, ended_s


def _point(
    profile: ClosedLoad | OpenLoad, tool: str, answered_per_s: float, errors: tuple[int, int],
    percentiles: tuple[float | None, float | None], cores: float, *, limit_cores: int,
) -> Point:  # fmt: skip
    """Return what one load showed. ``errors``: wrong answers, and requests."""
    return Point(
        users=profile.users if isinstance(profile, ClosedLoad) else None,
        offered_per_s=profile.rate_per_s if isinstance(profile, OpenLoad) else None,
        answered_per_s=answered_per_s,
        error_share=errors[0] / errors[1] if errors[1] else 1.0,
        p50_s=percentiles[0],
        p99_s=percentiles[1],
        tool=tool,
        generator_cores=cores,
        generator_bound=cores >= BUSY * limit_cores,
    )


def _run(command: LoadCommand, folder: Path) -> tuple[float, float]:
    """Run a command and what comes after it; return the CPU time of all of it, and the wall time of the first. Raises
    RematchError: it did not end."""
    for name, text in command.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    before, began, took_s = _children_cpu_s(), time.monotonic(), 0.0
    for argv in (command.argv, *command.after):
        with (folder / command.stdout).open("ab") as out, (folder / command.stderr).open("ab") as err:
            try:
                subprocess.run(
                    argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False,
                    env={**os.environ, **command.environment}, timeout=3 * command.expected_s + 20,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise RematchError(f"{Path(argv[0]).name} did not end") from None
        took_s = took_s or time.monotonic() - began
    return _children_cpu_s() - before, took_s


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_files(paths: Iterable[Path]) -> tuple[float | None, float | None]:
    """Percentiles of the single requests that a tool has written."""
    for path in paths:
        if not path.is_file():
            continue
        try:
            table = read_any(path)
        except InputError:
            continue  # another of its files
        if isinstance(table, RequestTable):
            return _percentiles(table.latency_s[table.ok])
    return None, None


def _percentiles(latency_s: np.ndarray) -> tuple[float | None, float | None]:
    if not len(latency_s):
        return None, None
    p50_s, p99_s = np.quantile(latency_s, _PERCENTILES)
    return float(p50_s), float(p99_s)


#: Users of the closed loads; no more are tried once twice as many answer hardly more.
USERS = (1, 2, 4, 8, 16, 32, 64)
_ENOUGH = 1.05
#: Rates of the open loads, as shares of the most that a closed load was answered.
SHARES = (0.2, 0.4, 0.55, 0.7, 0.8, 0.9, 1.0)
#: A rate is kept where this share of it is answered rightly, and p99 is at most so many times that of the lowest rate.
_KEPT, _CALM = 0.97, 5.0
#: Below this share of what users who wait were answered a service is far from its limit.
_FAR = 0.75
SECONDS = 60
_FIT_S = 3.0

#: Of every such minute, said before it begins.
LIMITS = (
    "one process, started once: another start of the same program may differ by more than what is seen here, so this "
    "compares nothing (`rematch measure` does: docs/your-own-service.md)",
    "whether the answers are right: only their status is looked at",
    "what the service costs in CPU and memory",
)
SAME_MACHINE = "what it would do on CPUs of its own: service and load generator share this machine"
COLD = "how a warm service does: a JVM may need more than this minute"


class MinuteOfLoad(Frozen):
    """What one minute showed."""

    url: str
    cannot_tell: tuple[str, ...]
    fitness: Fitness
    closed: tuple[Point, ...] = ()
    open_loop: tuple[Point, ...] = ()
    most_per_s: float | None = Field(default=None, description="most right answers per second, closed loop")
    kept_up_to_per_s: float | None = Field(default=None, description="highest rate that was kept calmly")
    kept_why: str | None = Field(
        default=None, description="why a higher rate is not judged: the load generator could not offer it"
    )
    answers_after: bool = Field(default=True, description="it still answers when all loads are over")
    warnings: tuple[str, ...] = ()


def cannot_tell(target: Target) -> tuple[str, ...]:
    """Return what no minute of load on this target can say."""
    return (*LIMITS, COLD, *([SAME_MACHINE] if target.is_here else []))


def try_target(
    target: Target, root: Path, *, seconds: int = SECONDS, progress: Callable[[str], None] = lambda _: None
) -> MinuteOfLoad:
    """Ask, then load: closed with more and more users, then open with rates up to what that gave. ``seconds``: how long
    all of it should take; ``progress`` is called with what happens next. Raises InputError: nobody answers;
    RematchError: a load tool failed."""
    progress("asking one request after another")
    fitness = ask(target)
    limits = cannot_tell(target)
    if fitness.faults:
        return MinuteOfLoad(url=target.url, cannot_tell=limits, fitness=fitness, warnings=fitness.warnings)
    generators = Generators(target, root, fitness.status)
    each_s = max(1, int((seconds - _FIT_S) / (len(USERS) + 1.5 * len(SHARES))))
    closed: list[Point] = []
    opened: list[Point] = []
    try:
        _load(generators, each_s, progress, closed, opened)
    except RematchError:
        if _answers(target):
            raise
    most = max((point.answered_per_s for point in closed), default=0.0)
    retained, kept_why = _kept_rate(opened, most)
    progress("asking once more")
    return MinuteOfLoad(
        url=target.url,
        cannot_tell=limits,
        fitness=fitness,
        closed=tuple(closed),
        open_loop=tuple(opened),
        most_per_s=most,
        kept_up_to_per_s=retained,
        kept_why=kept_why,
        answers_after=_answers(target),
        warnings=(*fitness.warnings, *_warnings([*closed, *opened])),
    )


def _load(
    generators: Generators,
    each_s: int,
    reported: Callable[[str], None],
    closed: list[Point],
    opened: list[Point],
) -> None:
    """Offer the loads one after the other; what was measured is there also where a tool fails."""
    for users in USERS:
        reported(f"closed loop, {users} users")
        closed.append(generators.offer(ClosedLoad(users=users, duration_s=float(each_s))))
        if len(closed) > 2 and closed[-1].answered_per_s < _ENOUGH * closed[-3].answered_per_s:
            break
    most = max(point.answered_per_s for point in closed)
    for share in SHARES if most > 0 else ():
        rate, open_s = float(max(1, round(share * most))), float(max(1, round(1.5 * each_s)))
        reported(f"open loop, {plain(rate)} requests/s")
        opened.append(generators.offer(OpenLoad(rate_per_s=rate, duration_s=open_s, arrivals="constant")))


def _answers(target: Target) -> bool:
    try:
        ask(target)
    except InputError:
        return False
    return True


def _kept_rate(points: list[Point], most_per_s: float = 0.0) -> tuple[float | None, str | None]:
    """Return the highest rate below the first one that was not kept, and why that one says nothing of the service.
    ``most_per_s``: answers to users who wait; a service that gave them is not at its limit far below."""
    calm_s = points[0].p99_s if points else None
    retained: float | None = None
    for point in points:
        offered = point.offered_per_s or 0.0
        late = point.p99_s is None or (calm_s is not None and point.p99_s > _CALM * calm_s)
        if point.answered_per_s < _KEPT * offered or late:
            is_far = point.answered_per_s < _KEPT * offered < _FAR * most_per_s
            whose = f"{point.tool} was at its own" if point.generator_bound else None
            whose = whose or (f"{point.tool} or this machine was at its" if is_far else None)
            limit = f"{whose} limit at {plain(offered)}/s, so that higher rates are not judged"
            return retained, None if whose is None else limit
        retained = offered
    return retained, None


def _warnings(points: list[Point]) -> list[str]:
    notes = []
    bound = sum(point.generator_bound for point in points)
    if bound:
        notes.append(
            f"in {bound} of {len(points)} loads the load generator was near its own limit: the service may do more"
        )
    failed = max((point.error_share for point in points), default=0.0)
    if failed > 0:
        notes.append(f"up to {plain(100 * failed)} % of the requests of a load failed")
    if sum(point.answered_per_s for point in points) and len({point.tool for point in points}) > 1:
        names = " and ".join(sorted({point.tool for point in points}))
        notes.append(f"the loads came from {names}: latencies of the two tables are not comparable")
    return notes
