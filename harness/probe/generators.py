# SPDX-License-Identifier: Apache-2.0
"""Short loads by the leanest load tool of this machine, else by threads of this program.

Threads are slow, and say so by their own CPU time. In their open loop request i is due at i / rate, and its latency
counts from then, also where every connection was busy.
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
from harness.model.load import Expectation, Request
from harness.model.load_tools import LOAD_TOOLS
from harness.probe.target import TIMEOUT_S, Target
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
    """The tools of this machine. ``tools``: names to choose from; None: all that are here."""

    def __init__(self, target: Target, root: Path, status: int, tools: Iterable[str] | None = None) -> None:
        self._target = target
        wanted = None if tools is None else set(tools)
        around = Surroundings(project=root)
        programs: dict[str, Path | None] = {}
        # a tool that never sleeps needs a CPU of its own; one that leaves out the beginning of a load has nothing to
        # say of some seconds
        for tool in LOAD_TOOLS:
            is_fit = tool.runs_as == "program" and not tool.never_sleeps and not tool.latencies_after_s
            if is_fit and (wanted is None or tool.name in wanted):
                result = find_tool(tool.name, around)
                if result.usable:
                    programs[tool.name] = result.path
        self._cpus = len(usable_cpus())
        installed = Installed(programs=programs, n_cpus=self._cpus)
        present = [tool for tool in LOAD_TOOLS if tool.name in programs]
        lean_first = sorted(present, key=lambda item: not item.saturates)
        self._adapters = [adapter_of(tool.name, installed) for tool in lean_first]
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
